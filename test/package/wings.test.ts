import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";

/*
 * A wing is a folder of src that one could delete, with its commands' files, its function in the library, and what names
 * it in these lists.
 */
const wings = ["tune", "fleet", "explain", "doctor", "pin", "load", "trace"];
const lists = {
  library: "src/index.ts",
  kinds: "src/kinds/document-kinds.ts",
  formats: "src/settings/document-formats.ts",
  commands: "src/cli/commands.ts",
  settings: "src/settings/command-settings.ts",
};

const root = fileURLToPath(new URL("../..", import.meta.url));
let copy = "";
afterEach(() => rmSync(copy, { recursive: true, force: true }));

/** An entry of an object at a file's top level: its name, and its lines. */
const entry = /^ {2}"?([\w -]+)"?: (?:[^\n]*,|\{\n[\s\S]*?\n {2}\},)\n/gm;

/** Takes from a list in the copy each entry for which `isOfWing` holds; returns their names. */
function takeEntries(list: string, isOfWing: (name: string, text: string) => boolean): string[] {
  const path = join(copy, list);
  const taken: string[] = [];
  const rest = readFileSync(path, "utf8").replace(entry, (text: string, name: string) => {
    if (!isOfWing(name, text)) return text;
    taken.push(name);
    return "";
  });
  writeFileSync(path, rest);
  return taken;
}

function deleteWing(wing: string): void {
  const commandFiles = readdirSync(join(root, "src/cli/commands"), { recursive: true, encoding: "utf8" })
    .filter((file) => basename(file).startsWith(`${wing}-`))
    .map((file) => `cli/commands/${file}`);
  for (const file of [wing, `library/${wing}-function.ts`, ...commandFiles])
    rmSync(join(copy, "src", file), { recursive: true, force: true });
  const library = join(copy, lists.library);
  const others = readFileSync(library, "utf8")
    .split("\n")
    .filter((line) => !line.includes(`"./${wing}/`) && !line.includes(`"./library/${wing}-`));
  writeFileSync(library, others.join("\n"));
  const kinds = takeEntries(lists.kinds, (_, text) => text.includes(`"../${wing}/`));
  takeEntries(lists.formats, (name) => kinds.includes(name));
  const commands = takeEntries(lists.commands, (_, text) =>
    new RegExp(`"\\./commands/(?:${wing}/)?${wing}-`).test(text),
  );
  takeEntries(lists.settings, (name) => commands.includes(name));
  expect([kinds.length, commands.length], "a kind of document, and commands").toEqual([
    1,
    expect.any(Number),
  ]);
  expect(commands).toContain(wing);
}

describe("a wing", () => {
  it.each(wings)("can be deleted: the rest compiles without %s", (wing) => {
    copy = mkdtempSync(join(tmpdir(), "pinbench-wings-"));
    for (const file of ["src", "tsconfig.json", "package.json"])
      cpSync(join(root, file), join(copy, file), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    deleteWing(wing);
    const tsc = join(root, "node_modules/.bin/tsc");
    const { stdout } = spawnSync(tsc, ["--noEmit", "-p", copy, "--noUnusedLocals", "false"], {
      encoding: "utf8",
    });
    expect(stdout.split("\n").filter((line) => line !== "")).toEqual([]);
  });
});
