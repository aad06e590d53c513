import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { historySchema } from "../../src/compare/history/history-document.js";
import { historyPath, parseHistory } from "../../src/results/files/history-file.js";
import { listBegunRuns, listRuns } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import { tuningSchema } from "../../src/results/tuning.js";
import { baselineAt, certainly, filesIn } from "./baseline-folder.js";
import { buildEntry } from "./history.js";
import { testPython } from "./test-python.js";

/** The commands that write files, their files, and how to read these. */

/** Throws if the text is incomplete. */
type Reader = (text: string) => void;

export interface Scenario {
  name: string;
  /** Arguments of pinbench. */
  args: readonly string[];
  /** Exit codes without a kill. */
  codes: readonly number[];
  /** Number of kills in the short form and in the full form. */
  times: readonly [number, number];
  needsTorch?: true;
  env?: Record<string, string>;
  /** Writes the command's input to its working folder. */
  prepare?: (folder: string) => void;
  /** Its output files by name. */
  outputs?: Readonly<Record<string, Reader>>;
  /** Folders that it changes, by name, each with a check of its state after any end. */
  folders?: Readonly<Record<string, (folder: string, before: FolderBefore) => Promise<void> | void>>;
}

/** A folder's previous content; null if it did not exist. `isKilled`: the command was ended by a signal, and may have left files. */
export interface FolderBefore {
  files: Record<string, string> | null;
  isKilled: boolean;
}

const json = (parse: (document: unknown) => unknown) => (text: string) => void parse(JSON.parse(text));
const result: Reader = (text) => void parseResult(text);
const comparison = json((document) => comparisonSchema.parse(document));
const tuning = json((document) => tuningSchema.parse(document));
const markdown: Reader = (text) => expect(text).toMatch(/^## pinbench[^\n]*: [\s\S]*\n$/);
const junit: Reader = (text) => expect(text).toMatch(/^<\?xml [\s\S]*<\/testsuites>\n$/);
const csv: Reader = (text) => {
  expect(text).toMatch(/^id,[\s\S]*\n$/);
  const columns = text
    .trimEnd()
    .split("\n")
    .map((line) => line.replaceAll(/"[^"]*"/g, "").split(",").length);
  expect(new Set(columns).size).toBe(1);
};

const cells = "--backend emulated --sizes 64KiB --direction h2d --workers 1 --memory pinned".split(" ");
/** Flags for runs of a fixed length; beyond a second they keep FILE.partial. */
const lasting = (budget: string) => ["--budget", budget, "--precision", "0.0001%"];
const resultFiles = { "result.json": result, "result.md": markdown, "result.csv": csv };
const outputsOf = (files: object) => Object.keys(files).flatMap((name) => ["--output", name]);

function runScenario(name: string, times: readonly [number, number], ...flags: string[]): Scenario {
  const args = ["run", ...cells, ...lasting("1500ms"), ...outputsOf(resultFiles), ...flags];
  return { name, args, codes: [0], times, outputs: resultFiles };
}

/** A baseline of five runs that were slower than this machine; measured once, written for each command. */
let baseline: string | undefined;
let baselineFiles: Record<string, string> = {};
export async function measureBaseline(): Promise<void> {
  if (baseline !== undefined) return;
  baseline = await baselineAt(certainly.faster);
  baselineFiles = filesIn(baseline);
}

function writeBaseline(folder: string): void {
  mkdirSync(folder);
  for (const [name, text] of Object.entries(baselineFiles)) writeFileSync(join(folder, name), text);
}

/** Requires the folder's list to name all earlier runs, or those of `isNew`, and each run to be complete. */
async function expectRuns(
  folder: string,
  { files, isKilled }: FolderBefore,
  isNew: (names: readonly string[], old: readonly string[]) => boolean,
): Promise<void> {
  if (!existsSync(folder)) {
    expect(files).toBeNull();
    return;
  }
  const present = readdirSync(folder);
  const runs = present.filter((name) => /^run-.*\.json$/.test(name));
  // Killed before there was a list.
  if (isKilled && files === null && !present.includes("baseline.json")) {
    for (const name of runs) result(readFileSync(join(folder, name), "utf8"));
    return;
  }
  const listed = (await listRuns(folder)).map((path) => path.slice(folder.length + 1));
  for (const name of listed) result(readFileSync(join(folder, name), "utf8"));
  const old = files === null ? [] : (JSON.parse(files["baseline.json"]!) as { runs: string[] }).runs;
  const isOld = listed.length === old.length && listed.every((name) => files?.[name] !== undefined);
  expect(isOld || isNew(listed, old), `${listed} after ${old}`).toBe(true);
  const begun = ((await listBegunRuns(folder)) ?? []).map((path) => path.slice(folder.length + 1));
  for (const name of begun) result(readFileSync(join(folder, name), "utf8"));
  const known = ["baseline.json", ...listed, ...begun];
  const stray = present.filter((name) => !known.includes(name));
  if (!isKilled) expect(stray).toEqual([]);
  else
    expect(stray.filter((name) => !/^run-.*\.json$|^\.baseline\.lock|\.tmp$|\.partial$/.test(name))).toEqual(
      [],
    );
}

/** Requires the earlier checks and at most one more, without a truncated line. */
function expectHistory(folder: string, { files, isKilled }: FolderBefore): void {
  if (!existsSync(folder)) {
    expect(files).toBeNull();
    return;
  }
  const present = readdirSync(folder);
  if (!isKilled) expect(present).toEqual(["history.jsonl"]);
  const before = parseHistory(files?.["history.jsonl"] ?? "", "before").entries;
  if (!present.includes("history.jsonl")) {
    expect({ before, isKilled }).toEqual({ before: [], isKilled: true });
    return;
  }
  const { entries, notes } = parseHistory(readFileSync(historyPath(folder), "utf8"), "now");
  expect(notes).toEqual([]);
  expect(entries.slice(0, before.length)).toEqual(before);
  expect(entries.length - before.length).toBeLessThanOrEqual(1);
}

function writeHistory(folder: string): void {
  mkdirSync(folder);
  const lines = [1, 2, 3].map((day) => `${JSON.stringify(buildEntry(day))}\n`);
  writeFileSync(historyPath(folder), lines.join(""));
}

const isReplaced =
  (count: number) =>
  (names: readonly string[], old: readonly string[]): boolean =>
    names.length === count && names.every((name) => !old.includes(name));

const checkFiles = { "check.json": comparison, "check.md": markdown, "junit.xml": junit };
const check = ["check", "--baseline", "baseline", "--runs", "2", ...outputsOf(checkFiles)];
const comparisonFiles = { "comparison.json": comparison, "comparison.md": markdown, "junit.xml": junit };
const historyFiles = {
  "history.json": json((document) => historySchema.parse(document)),
  "history.md": markdown,
};
const tuningFile = { "tuning.json": tuning };
const live = ["tune", "--budget", "1500ms", "--max-workers", "1", "--output", "tuning.json"];
const tune = [...live, "--backend", "emulated"];

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const fakeJob = [process.execPath, fixture("tune/live/fake_job.mjs"), "{}"];
const training = [testPython, fixture("tune/live/training.py"), "--length", "4000", "--epochs", "1"];

export const scenarios: readonly Scenario[] = [
  runScenario("run", [3, 40]),
  runScenario("run --runs 2", [0, 16], "--runs", "2", ...lasting("700ms")),
  runScenario("run --worker-kind process", [0, 24], "--worker-kind", "process", "--workers", "1,2"),
  runScenario("run --deadline", [0, 16], "--deadline", "1m"),
  {
    ...runScenario("run at its --deadline", [0, 8], "--deadline", "10s", ...lasting("30s")),
    codes: [4],
  },
  {
    ...runScenario("run --together", [0, 16], "--together", "--device", "0,1"),
    env: { PINBENCH_EMULATED_DEVICES: "2" },
  },
  runScenario("run --beside", [0, 16], "--beside", "compute"),
  {
    name: "baseline",
    args: ["baseline", "new", ...cells, ...lasting("150ms"), "--runs", "3"],
    codes: [0],
    times: [0, 20],
    folders: { new: (folder, before) => expectRuns(folder, before, (names) => names.length <= 3) },
  },
  {
    name: "baseline --append",
    args: ["baseline", "baseline", "--append", "--runs", "3"],
    codes: [0],
    times: [0, 20],
    prepare: (folder) => writeBaseline(join(folder, "baseline")),
    folders: {
      baseline: (folder, before) =>
        expectRuns(folder, before, (names, old) => old.every((name, i) => names[i] === name)),
    },
  },
  {
    name: "check --update --history",
    args: [...check, "--update", "--history", "history"],
    // On a busy machine the check may find a regression.
    codes: [0, 1, 6],
    times: [2, 30],
    prepare: (folder) => {
      writeBaseline(join(folder, "baseline"));
      writeHistory(join(folder, "history"));
    },
    outputs: checkFiles,
    folders: {
      baseline: (folder, before) => expectRuns(folder, before, isReplaced(2)),
      history: expectHistory,
    },
  },
  {
    name: "check --deadline --history",
    args: [...check, "--deadline", "1m", "--history", "new-history"],
    codes: [0],
    times: [0, 12],
    prepare: (folder) => writeBaseline(join(folder, "baseline")),
    outputs: checkFiles,
    folders: {
      baseline: (folder, before) => expectRuns(folder, before, () => false),
      "new-history": expectHistory,
    },
  },
  {
    name: "compare",
    args: ["compare", "baseline", "candidate", ...outputsOf(comparisonFiles)],
    codes: [0],
    times: [4, 24],
    prepare: (folder) => {
      writeBaseline(join(folder, "baseline"));
      writeBaseline(join(folder, "candidate"));
    },
    outputs: comparisonFiles,
    folders: {
      baseline: (folder, before) => expectRuns(folder, before, () => false),
      candidate: (folder, before) => expectRuns(folder, before, () => false),
    },
  },
  {
    name: "history",
    args: ["history", "history", ...outputsOf(historyFiles)],
    codes: [0],
    times: [0, 12],
    prepare: (folder) => writeHistory(join(folder, "history")),
    outputs: historyFiles,
    folders: { history: expectHistory },
  },
  {
    name: "import nvbandwidth",
    args: ["import", "nvbandwidth", fixture("nvbandwidth-0.8.json"), "--output", "imported.json"],
    codes: [0],
    times: [0, 12],
    outputs: { "imported.json": result },
  },
  {
    name: "tune of a model",
    args: [...tune, "--sample", "4KiB", "--batch-size", "4"],
    codes: [0],
    times: [3, 20],
    outputs: tuningFile,
  },
  {
    name: "tune --torch",
    args: [
      ...tune,
      "--torch",
      fixture("tune/data_sets.py:make"),
      "--batch-size",
      "4",
      "--python",
      testPython,
    ],
    codes: [0, 4],
    times: [0, 12],
    needsTorch: true,
    outputs: tuningFile,
  },
  {
    name: "tune -- COMMAND",
    args: [...live, "--", ...fakeJob],
    codes: [0, 4],
    times: [0, 16],
    outputs: tuningFile,
  },
  {
    name: "tune -- python train.py",
    args: [...live, "--", ...training],
    codes: [0, 4],
    times: [0, 8],
    needsTorch: true,
    env: { OMP_NUM_THREADS: "1" },
    outputs: tuningFile,
  },
  {
    name: "tune --go -- python train.py",
    args: [...live, "--go", "--", ...training],
    // A loader's workers may turn a Ctrl-C into an exit code of 1.
    codes: [0, 1, 6],
    times: [0, 8],
    needsTorch: true,
    env: { OMP_NUM_THREADS: "1" },
    outputs: tuningFile,
  },
];
