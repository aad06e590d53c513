import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { pinbench, start, temporaryFolder } from "./helpers/run-cli.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const documents = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];
const textOf = (document: string) => readFileSync(join(root, document), "utf8");

/** The command lines of a document's ```sh blocks. */
function commandsOf(document: string): string[] {
  const blocks = [...textOf(document).matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(([, block]) => (block ?? "").split("\n").filter((line) => line !== ""));
}

const commands = [...new Set(documents.flatMap(commandsOf))];
const ofPinbench = commands.filter((line) => /^(\w+=\S+ )*(npx )?pinbench /.test(line));

/** Last flags win: whatever sizes the document shows, no page is touched that need not be. */
const quickly = "--backend emulated --llc 1MiB --budget 200ms --sizes 64KiB --quiet";

describe("every command that the documents show works", () => {
  it.each(ofPinbench)("%s", async (line) => {
    const command = line.replace(/(npx )?pinbench/, '"$NODE" "$PINBENCH"');
    const flags = / run\b/.test(line) ? quickly : "--backend emulated";
    const { exitCode, stdout, stderr } = await start("bash", ["-c", `${command} ${flags}`], {
      cwd: temporaryFolder(),
      env: { NODE: process.execPath, PINBENCH: pinbench },
    }).finished;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).not.toBe("");
  });

  it("runs scripts that there are", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    const named = documents
      .flatMap((document) => [...textOf(document).matchAll(/\bnpm (?:run ([\w:-]+)|(test))/g)])
      .map(([, script, test]) => script ?? test);
    expect(named.length).toBeGreaterThan(0);
    for (const script of named) expect(Object.keys(scripts)).toContain(script);
  });

  it("shows no other command", () => {
    const others = commands.filter((line) => !ofPinbench.includes(line) && !line.startsWith("npm "));
    expect(others).toEqual([]);
  });
});

describe("the documents", () => {
  it.each(documents)("%s leads to files that there are", (document) => {
    const links = [...textOf(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path!);
    for (const path of links) {
      expect(existsSync(resolve(root, dirname(document), path)), path).toBe(true);
    }
  });

  it("name every flag of the help in README.md", async () => {
    const help = await start(process.execPath, [pinbench, "run", "--help"]).finished;
    const flags = [...help.stdout.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag]) => flag!);
    expect(flags.length).toBeGreaterThan(20);
    for (const flag of flags) expect(textOf("README.md")).toContain(`\`${flag}\``);
  });

  it("name every exit code of the help in README.md", async () => {
    const { stdout } = await start(process.execPath, [pinbench, "--help"]).finished;
    const codes = [...stdout.slice(stdout.indexOf("Exit codes:")).matchAll(/\b(\d+)\b/g)].map(
      ([, code]) => code,
    );
    const table = textOf("README.md").split("## Exit codes")[1]?.split("##")[0] ?? "";
    for (const code of codes) expect(table).toMatch(new RegExp(`^\\| .*\\b${code}\\b`, "m"));
  });
});
