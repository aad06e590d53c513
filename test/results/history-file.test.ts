import { execFileSync, spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { described } from "../../scripts/lib/published-schema.mjs";
import {
  appendToHistory,
  checkHistoryWritable,
  historyPath,
  parseHistory,
  readHistory,
} from "../../src/results/files/history-file.js";
import { historyEntrySchema } from "../../src/results/history-entry.js";
import { documentJsonSchema } from "../../src/settings/schema-parts.js";
import { buildEntry, historyFolder } from "../helpers/history.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { shippedHistoryEntrySchema } from "../helpers/schema-errors.js";

const newFolder = () => join(temporaryFolder(), "a", "history");
const textOf = (folder: string) => readFileSync(historyPath(folder), "utf8");
const idsOf = async (folder: string) => (await readHistory(folder)).entries.map(({ id }) => id);
const line = (day: number) => JSON.stringify(buildEntry(day));

describe("a history file", () => {
  it("has a line for each check, in a folder that is created", async () => {
    const folder = newFolder();
    for (const day of [0, 1, 2]) await appendToHistory(folder, buildEntry(day));
    expect(textOf(folder)).toBe(`${line(0)}\n${line(1)}\n${line(2)}\n`);
    expect(readdirSync(folder)).toEqual(["history.jsonl"]);
    expect(await readHistory(folder)).toEqual({
      entries: [0, 1, 2].map((day) => buildEntry(day)),
      notes: [],
    });
  });

  it("is read in the order of the checks' starts", async () => {
    expect(await idsOf(historyFolder([buildEntry(2), buildEntry(0), buildEntry(1)]))).toEqual([
      "check-0",
      "check-1",
      "check-2",
    ]);
  });

  it("may be empty", async () => {
    expect(await readHistory(historyFolder([]))).toEqual({ entries: [], notes: [] });
  });

  it("that does not exist is an error that names its folder", async () => {
    const folder = temporaryFolder();
    await expect(readHistory(folder)).rejects.toMatchObject({
      kind: "usage",
      message: `there is no history in ${folder}: it has no history.jsonl.`,
    });
  });
});

describe("an odd line of a history", () => {
  it("is left out with a note, and the next append begins on a line of its own", async () => {
    const folder = historyFolder([buildEntry(0)]);
    writeFileSync(historyPath(folder), `${line(0)}\n${line(1).slice(0, 100)}`);
    const cut = await readHistory(folder);
    expect(cut.entries.map(({ id }) => id)).toEqual(["check-0"]);
    expect(cut.notes).toEqual([
      `line 2 of ${historyPath(folder)}, the last one, was cut off, as by a kill or a full disk, and is left out`,
    ]);
    await appendToHistory(folder, buildEntry(2));
    const { entries, notes } = await readHistory(folder);
    expect(entries.map(({ id }) => id)).toEqual(["check-0", "check-2"]);
    expect(notes).toEqual([`line 2 of ${historyPath(folder)} is left out: it is not JSON`]);
  });

  it.each([
    ["not JSON", "{ hand made", "it is not JSON"],
    ["another kind of JSON", "[]", "it has no schemaVersion"],
    [
      "one of a later pinbench",
      JSON.stringify({ ...buildEntry(1), schemaVersion: 2 }),
      "it has schemaVersion 2, and this pinbench reads version 1",
    ],
    [
      "one with a text for a figure",
      JSON.stringify({ ...buildEntry(1), series: [{ ...buildEntry(1).series[0], figure: "fast" }] }),
      "at series.0.figure: ",
    ],
    [
      "one with an impossible rate",
      JSON.stringify({ ...buildEntry(1), series: [{ ...buildEntry(1).series[0], figure: 5e7 }] }),
      `it has 50000000 GB/s in the cell ${buildEntry(1).series[0]!.id}, and no link carries more than 2 TB/s`,
    ],
  ])("is left out with a reason: %s", (_, text, reason) => {
    const { entries, notes } = parseHistory(`${line(0)}\n${text}\n${line(2)}\n`, "history.jsonl");
    expect(entries.map(({ id }) => id)).toEqual(["check-0", "check-2"]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain(`line 2 of history.jsonl is left out: ${reason}`);
  });

  it("is kept if its only oddity is control characters in a name", () => {
    const machine = { hostName: ["node\u001b[2J"], gpuUuids: [], pciAddresses: [] };
    const { entries, notes } = parseHistory(`${JSON.stringify({ ...buildEntry(1), machine })}\n`, "h");
    expect(entries.map((entry) => entry.machine)).toEqual([machine]);
    expect(notes).toEqual([]);
  });

  it("is numbered from the first line read, if only the end of the file was read", () => {
    const { entries, notes } = parseHistory(`${line(0)}\nno check\n`, "h", false);
    expect(entries).toHaveLength(1);
    expect(notes).toEqual([
      "h is large: only its newest lines are read",
      "line 2 of those read of h is left out: it is not JSON",
    ]);
  });

  it("is left out if it is a copy of an earlier line", () => {
    const { entries, notes } = parseHistory(`${line(0)}\n${line(0)}\n`, "h");
    expect(entries).toHaveLength(1);
    expect(notes).toEqual(["line 2 of h is a copy of an earlier one, and is left out"]);
  });

  it("gives no note if it is empty", () => {
    expect(parseHistory(`\n${line(0)}\n\n`, "h")).toMatchObject({ entries: [{ id: "check-0" }], notes: [] });
  });
});

describe("a history file that is larger than pinbench reads", () => {
  const blankMiB = `${" ".repeat(2 ** 20 - 1)}\n`;

  /** This number of blank lines of 1 MiB each, and two checks after them. */
  function largeHistory(mebibytes: number): string {
    const folder = historyFolder([]);
    for (let i = 0; i < mebibytes; ++i) appendFileSync(historyPath(folder), blankMiB);
    appendFileSync(historyPath(folder), `${line(0)}\n${line(1)}\n`);
    return folder;
  }

  it("has its newest lines read, and a note that others are not", async () => {
    const folder = largeHistory(130);
    await appendToHistory(folder, buildEntry(2));
    const { entries, notes } = await readHistory(folder);
    expect(entries.map(({ id }) => id)).toEqual(["check-0", "check-1", "check-2"]);
    expect(notes).toEqual([`${historyPath(folder)} is large: only its newest lines are read`]);
  });
});

describe("a history's folder that cannot be written", () => {
  it("is reported before anything is measured", async () => {
    const above = temporaryFolder();
    await checkHistoryWritable(join(above, "a", "b"));
    expect(readdirSync(join(above, "a", "b"))).toEqual([]);
    writeFileSync(join(above, "file"), "");
    for (const path of [join(above, "file"), join(above, "file", "x"), "/proc/history", ""]) {
      await expect(checkHistoryWritable(path)).rejects.toMatchObject({ kind: "output" });
    }
    mkdirSync(join(above, "history.jsonl"));
    await expect(checkHistoryWritable(above)).rejects.toMatchObject({
      message: `cannot write ${join(above, "history.jsonl")}: it is a folder.`,
    });
  });

  it("keeps no part of a line that does not fit", { skip: noPrlimit() }, async () => {
    const folder = historyFolder([buildEntry(0)]);
    const before = textOf(folder);
    const limit = (bytes: string) => execFileSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]);
    limit(String(before.length + 50));
    try {
      await expect(appendToHistory(folder, buildEntry(1))).rejects.toMatchObject({
        kind: "output",
        message: expect.stringContaining("it would be larger than a file may be"),
      });
    } finally {
      limit("unlimited");
    }
    expect(textOf(folder)).toBe(before);
    expect(readdirSync(folder)).toEqual(["history.jsonl"]);
  });
});

function noPrlimit(): boolean {
  return spawnSync("prlimit", ["--version"]).status !== 0;
}

/** A process that appends check after check, and prints the id of each as soon as it is kept. */
function appender(folder: string, name: string, count: number) {
  const module = fileURLToPath(new URL("../../dist/results/files/history-file.js", import.meta.url));
  const program = `
    const { appendToHistory } = await import(${JSON.stringify(module)});
    const entry = ${JSON.stringify(buildEntry(0))};
    for (let i = 0; i < ${count}; ++i) {
      const id = "${name}-" + i;
      await appendToHistory(${JSON.stringify(folder)}, { ...entry, id });
      process.stdout.write(id + "\\n");
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  const finished = new Promise<string[]>((resolve, reject) => {
    child.on("close", (code) => {
      if (code) reject(new Error(`the process ended with ${code}`));
      else resolve(printed.split("\n").filter((id) => id !== ""));
    });
  });
  return { child, finished };
}

describe("several checks that end at once", () => {
  it("lose no line", async () => {
    const folder = newFolder();
    const names = ["a", "b", "c", "d"];
    const kept = await Promise.all(names.map((name) => appender(folder, name, 25).finished));
    const { entries, notes } = await readHistory(folder);
    expect(notes).toEqual([]);
    expect(entries.map(({ id }) => id).sort()).toEqual(kept.flat().sort());
    expect(entries).toHaveLength(100);
    expect(readdirSync(folder)).toEqual(["history.jsonl"]);
  });

  it("create their folder at the same time, while others test whether they can", async () => {
    for (let i = 0; i < 20; ++i) {
      const folder = newFolder();
      const days = [0, 1, 2, 3];
      await Promise.all(
        days.flatMap((day) => [checkHistoryWritable(folder), appendToHistory(folder, buildEntry(day))]),
      );
      expect(await idsOf(folder)).toEqual(days.map((day) => `check-${day}`));
    }
  });

  it("lose no line that was kept if one of them is killed, nor wait for it", async () => {
    const folder = newFolder();
    const others = ["a", "b"].map((name) => appender(folder, name, 40));
    const kept: string[] = [];
    for (const name of ["u", "v", "w", "x", "y", "z"]) {
      const victim = appender(folder, name, 100_000);
      await new Promise((resolve) => victim.child.stdout.once("data", resolve));
      victim.child.kill("SIGKILL");
      kept.push(...(await victim.finished));
    }
    for (const { finished } of others) kept.push(...(await finished));
    const lines = textOf(folder).trimEnd().split("\n");
    const found = lines.map((text) => (JSON.parse(text) as { id: string }).id);
    expect(found).toEqual(expect.arrayContaining(kept));
    expect(new Set(found).size).toBe(found.length);
  });
});

describe("schema/history-entry-v1.json", () => {
  it("matches the zod schema; npm run schema updates it", () => {
    expect(shippedHistoryEntrySchema).toEqual(
      described(JSON.parse(JSON.stringify(documentJsonSchema(historyEntrySchema)))),
    );
  });
});
