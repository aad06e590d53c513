import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { readHistory } from "../../src/results/files/history-file.js";
import { listBegunRuns, listRuns } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import { tuningSchema } from "../../src/results/tuning.js";
import { baselineAt } from "../helpers/baseline-folder.js";
import { buildEntry } from "../helpers/history.js";
import { type Finished, small, startCli } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

/**
 * Each call of a command on the user's files fails once, or from then on. A first run without a fault shows which calls
 * there are; failing_files.cpp, preloaded before the C library, makes one of them fail.
 */

/** The errors of each call; null writes only a half. */
const errors: Readonly<Record<string, readonly (keyof typeof constants.errno | null)[]>> = {
  open: ["EIO", "ENOSPC", "EMFILE", "EACCES", "EROFS", "EDQUOT"],
  read: ["EIO", "EINTR"],
  write: ["EIO", "ENOSPC", "EDQUOT", "EINTR", null],
  fsync: ["EIO", "ENOSPC", "EDQUOT"],
  close: ["EIO", "ENOSPC", "EDQUOT"],
  rename: ["EIO", "ENOSPC", "EACCES", "EROFS"],
  unlink: ["EIO", "EACCES", "EROFS"],
  mkdir: ["EIO", "ENOSPC", "EACCES", "EROFS", "EDQUOT"],
  rmdir: ["EIO", "EACCES"],
  stat: ["EIO", "EACCES"],
  readdir: ["EIO", "EACCES", "EMFILE"],
  access: ["EACCES", "EROFS"],
  fchmod: ["EPERM", "EROFS"],
};

interface Scenario {
  args: readonly string[];
  /** Trials in the short form and in the full one. */
  counts: readonly [few: number, full: number];
}

const quick = small("--memory", "pinned").slice(1);
const tuneOnce = "--sample 4KiB --batch-size 4 --backend emulated --budget 1s --max-workers 0".split(" ");

const scenarios: Readonly<Record<string, Scenario>> = {
  run: { args: ["run", ...quick, "--json", "--output", "out.json", "--output", "out.csv"], counts: [5, 50] },
  "run --runs": { args: ["run", ...quick, "--runs", "2", "--output", "out.json"], counts: [0, 20] },
  baseline: { args: ["baseline", "new/runs", "--runs", "2", ...quick], counts: [0, 30] },
  "baseline --append": { args: ["baseline", "base", "--runs", "1", "--append"], counts: [0, 30] },
  check: {
    args: [
      "check",
      "--baseline",
      "base",
      "--runs",
      "2",
      "--history",
      "hist",
      "--output",
      "cmp.json",
      "--update",
    ],
    counts: [0, 40],
  },
  compare: { args: ["compare", "out.json", "base", "--output", "cmp.json"], counts: [3, 40] },
  history: { args: ["history", "hist", "--output", "trend.json"], counts: [0, 30] },
  import: { args: ["import", "nvbandwidth", "nvbandwidth.json", "--output", "out.json"], counts: [3, 30] },
  tune: { args: ["tune", ...tuneOnce, "--output", "tuning.json"], counts: [0, 30] },
};

/** Longer than any of them takes on a busy machine. */
const hangMs = 90_000;

let shared = "";
let library = "";
let template = "";

beforeAll(async () => {
  shared = mkdtempSync(join(tmpdir(), "pinbench-file-calls-"));
  library = join(shared, "failing_files.so");
  template = join(shared, "template");
  const source = fileURLToPath(new URL("failing_files.cpp", import.meta.url));
  const built = spawnSync("g++", ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], {
    encoding: "utf8",
  });
  expect(built.stderr).toBe("");
}, hangMs);

afterAll(() => rmSync(shared, { recursive: true, force: true }));

/** The files with which every trial begins, which must stay or be replaced whole. */
async function makeTemplate(): Promise<void> {
  if (existsSync(template)) return;
  const baseline = await baselineAt(1);
  mkdirSync(join(template, "hist"), { recursive: true });
  cpSync(baseline, join(template, "base"), { recursive: true });
  writeFileSync(join(template, "hist", "history.jsonl"), `${JSON.stringify(buildEntry(0))}\n`);
  const old = readFileSync((await listRuns(baseline))[0]!, "utf8");
  for (const name of ["out.json", "cmp.json", "tuning.json", "trend.json"])
    writeFileSync(join(template, name), old);
  writeFileSync(join(template, "out.csv"), "old\n");
  cpSync(
    fileURLToPath(new URL("../fixtures/nvbandwidth-0.8.json", import.meta.url)),
    join(template, "nvbandwidth.json"),
  );
}

/** A call that is to fail. */
interface Fault {
  call: string;
  /** From 1, of a process. */
  at: number;
  error: string | null;
  goesOn: boolean;
}

interface Attempt extends Finished {
  folder: string;
  pid: number;
  /** It did not end by itself, and was ended. */
  hung: boolean;
  /** Of all processes, in order. */
  calls: { pid: number; call: string; path: string; struck: boolean }[];
}

let attempts = 0;

async function attempt({ args }: Scenario, fault: Fault | null): Promise<Attempt> {
  await makeTemplate();
  const folder = join(shared, `trial-${++attempts}`, "files");
  const log = join(folder, "..", "log");
  cpSync(template, folder, { recursive: true });
  const env: Record<string, string> = {
    LD_PRELOAD: library,
    FAIL_FILES_BELOW: folder,
    FAIL_FILES_LOG: log,
    XDG_CACHE_HOME: join(folder, "cache"),
  };
  if (fault !== null) {
    env.FAIL_FILES_CALL = fault.call;
    env.FAIL_FILES_AT = String(fault.at);
    env.FAIL_FILES_ERRNO = String(
      fault.error === null ? 0 : constants.errno[fault.error as keyof typeof constants.errno],
    );
    if (fault.goesOn) env.FAIL_FILES_ON = "1";
  }
  const { child, finished } = startCli(args, { cwd: folder, env });
  let hung = false;
  const guard = setTimeout(() => {
    hung = true;
    child.kill("SIGKILL");
  }, hangMs);
  const result = await finished;
  clearTimeout(guard);
  const calls = readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, struck, pid, call, path] = /^(!?)(\d+) (\w+) (.*)$/.exec(line)!;
      return { pid: Number(pid), call: call!, path: path!.slice(folder.length + 1), struck: struck === "!" };
    });
  return { ...result, folder, pid: child.pid!, hung, calls };
}

/** Every file below a folder, by its path in it. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  "out.json": (text) => parseResult(text),
  "cmp.json": (text) => comparisonSchema.parse(JSON.parse(text)),
  "tuning.json": (text) => tuningSchema.parse(JSON.parse(text)),
  "trend.json": (text) => expect(JSON.parse(text)).toMatchObject({ schemaVersion: 1 }),
  "out.csv": (text) => expect(text).toMatch(/\n.*,.*\n$/),
};

/** Requires that each file is the old one or a whole new one; returns the new ones. */
async function expectWholeFiles({ folder }: Attempt): Promise<string[]> {
  const changed: string[] = [];
  for (const [name, read] of Object.entries(readers)) {
    const [now, before] = [folder, template].map((place) => readFileSync(join(place, name), "utf8"));
    if (now === before) continue;
    read(now!);
    changed.push(name);
  }
  const history = await readHistory(join(folder, "hist"));
  expect(history.notes).toEqual([]);
  if (history.entries.length > 1) changed.push("hist/history.jsonl");
  const old = (await listRuns(join(template, "base"))).map((path) => path.slice(template.length + 1));
  const runs = (await listRuns(join(folder, "base"))).map((path) => path.slice(folder.length + 1));
  for (const run of runs) parseResult(readFileSync(join(folder, run), "utf8"));
  const stayed = old.filter((run) => runs.includes(run));
  expect([0, old.length]).toContain(stayed.length);
  if (runs.length !== old.length) changed.push("base");
  const made = join(folder, "new", "runs");
  if (existsSync(join(made, "baseline.json"))) {
    for (const run of await listRuns(made)) parseResult(readFileSync(run, "utf8"));
    changed.push("new");
  }
  return changed;
}

/** Requires that no other file is left, except FILE.partial and those whose removal was made to fail. */
async function expectNothingLeft({ folder, calls }: Attempt, fault: Fault): Promise<void> {
  const stays = (path: string) => {
    const cannotBeRemoved =
      (fault.goesOn && ["unlink", "stat"].includes(fault.call)) ||
      calls.some((one) => one.struck && one.path === path && ["unlink", "stat"].includes(one.call));
    return cannotBeRemoved;
  };
  const listed = new Set<string>();
  for (const place of ["base", "new/runs"]) {
    if (!existsSync(join(folder, place, "baseline.json"))) continue;
    const begun = (await listBegunRuns(join(folder, place))) ?? [];
    for (const run of [...(await listRuns(join(folder, place))), ...begun]) {
      listed.add(run.slice(folder.length + 1));
    }
    listed.add(`${place}/baseline.json`);
  }
  const known = new Set([
    ...filesBelow(template).filter((path) => !path.startsWith("base/")),
    ...listed,
    "cache/pinbench/loaded.json",
  ]);
  const unknown = filesBelow(folder).filter((path) => !known.has(path) && !stays(path));
  // A result that cannot be written stays in FILE.partial as far as it went.
  expect(unknown.filter((path) => !/^out\.(json|csv)\.partial$/.test(path))).toEqual([]);
  for (const path of unknown.filter((path) => path.startsWith("out.json")))
    parseResult(readFileSync(join(folder, path), "utf8"));
}

/** A file's name without the suffixes of temporary files. */
const plainName = (path: string) => path.replace(/(\.partial)?(\.[0-9a-f]{8}\.(tmp|stale))?$/, "");

async function expectSurvived(
  scenario: Scenario,
  fault: Fault,
  usual: Attempt,
  usualChanges: readonly string[],
  found: Attempt,
) {
  const { exitCode, signal, stdout, stderr, hung, calls } = found;
  expect({ hung, signal }).toEqual({ hung: false, signal: null });
  expect(stderr).not.toMatch(/fault in pinbench|^\s+at |node:/m);
  for (const line of stderr.split("\n").filter((text) => text !== ""))
    expect(line).toMatch(/^pinbench: .*[.?]$|^ {2}/);
  const changed = await expectWholeFiles(found);
  await expectNothingLeft(found, fault);
  const struck = calls.filter((one) => one.struck && one.pid === found.pid);
  if (exitCode === usual.exitCode) {
    const missing = usualChanges.filter((name) => !changed.includes(name));
    // A file that was not replaced is named, or its folder.
    for (const name of missing) {
      const names = [name, dirname(name)].filter((one) => one !== ".");
      expect(
        names.some((one) => stderr.includes(one)),
        `${name} in ${stderr}`,
      ).toBe(true);
    }
    if (scenario.args[0] !== "baseline") expect(stdout === "").toBe(usual.stdout === "");
    return;
  }
  expect(exitCode).toBe(fault.error === "EMFILE" ? 3 : 2);
  expect(stderr).toMatch(/^pinbench: .*cannot (read|write) \S+: .{10,}\. [A-Z].*\.$/m);
  const names = struck.map(({ path }) => plainName(path).split("/")[0]!);
  expect(names.some((name) => stderr.includes(name))).toBe(true);
  // What was measured is printed if it cannot be written to its file.
  const atTheEnd = struck.some(
    ({ path }) =>
      /^(out|cmp|tuning|trend)\.(json|csv)(\.[0-9a-f]{8}\.tmp)?$/.test(path) && path.endsWith(".tmp"),
  );
  if (atTheEnd && usual.stdout !== "") expect(stdout).not.toBe("");
}

describe("a file operation that fails", () => {
  const entries = Object.entries(scenarios).filter(([, { counts }]) => trials(...counts) > 0);

  it.each(entries)(
    "leaves pinbench %s with whole files and a clear message",
    async (name, scenario) => {
      const counted = countTrials("file calls that fail");
      const usual = await attempt(scenario, null);
      expect(usual.stderr).not.toMatch(/cannot/);
      const usualChanges = await expectWholeFiles(usual);
      const random = seeded(trialSeed * 1000 + Object.keys(scenarios).indexOf(name)).uniform;
      const points: Omit<Fault, "error" | "goesOn">[] = [];
      const seen = new Map<string, number>();
      for (const { pid, call } of usual.calls) {
        if (pid !== usual.pid || errors[call] === undefined) continue;
        const at = (seen.get(call) ?? 0) + 1;
        seen.set(call, at);
        points.push({ call, at });
      }
      const count = trials(...scenario.counts);
      const order = points.map((point) => ({ point, key: random() })).sort((a, b) => a.key - b.key);
      const faults = Array.from({ length: count }, (_, i): Fault => {
        const { point } = order[i % order.length]!;
        const ways = errors[point.call]!;
        const error = ways[Math.floor(random() * ways.length)]!;
        // libuv repeats interrupted calls without end, and no disk interrupts for ever.
        return { ...point, error, goesOn: random() < 0.3 && error !== "EINTR" };
      });
      const failures: string[] = [];
      const tryRest = async () => {
        for (let fault = faults.pop(); fault !== undefined; fault = faults.pop()) {
          const found = await attempt(scenario, fault);
          if (found.calls.some(({ struck }) => struck)) {
            counted.tries();
            await expectSurvived(scenario, fault, usual, usualChanges, found).then(
              () => counted.survives(),
              (error: Error) => failures.push(describeFailure(fault, found, error)),
            );
          }
          rmSync(join(found.folder, ".."), { recursive: true, force: true });
        }
      };
      await Promise.all([tryRest(), tryRest()]);
      expect(failures).toEqual([]);
    },
    3_600_000,
  );
});

function describeFailure({ call, at, error, goesOn }: Fault, found: Attempt, { message }: Error): string {
  const first = found.calls.find((one) => one.struck);
  return [
    `${call} ${at}, of ${first?.path}${goesOn ? ", and all later ones" : ""}: ${error ?? "a half"}`,
    `exit code ${found.exitCode}, ${found.stderr}`,
    message,
  ].join("\n");
}
