import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listBegunRuns, listRuns } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import { baselineAt, certainly } from "../helpers/baseline-folder.js";
import { buildEntry, historyFolder } from "../helpers/history.js";
import { type Finished, runCli, small } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

/** Two commands at once on one baseline and one history, with disks on which an fsync takes long (slow_fsync.cpp). */

let shared = "";
let library = "";

beforeAll(() => {
  shared = mkdtempSync(join(tmpdir(), "pinbench-pairs-"));
  library = join(shared, "slow_fsync.so");
  const source = fileURLToPath(new URL("slow_fsync.cpp", import.meta.url));
  const built = spawnSync("g++", ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], {
    encoding: "utf8",
  });
  expect(built.stderr).toBe("");
}, 60_000);
afterAll(() => rmSync(shared, { recursive: true, force: true }));

/** What a command does with the files of both. */
interface Command {
  args: readonly string[];
  /** Number of runs that it adds to the baseline, replaces it with or creates it from. */
  adds?: number;
  replacesBy?: number;
  creates?: number;
  /** It appends a check to the history. */
  appends?: true;
}

const earlierRuns = 5;
const earlierChecks = 4;

const commands = {
  append: (runs: number): Command => ({
    args: ["baseline", "base", "--append", "--runs", String(runs)],
    adds: runs,
  }),
  create: (runs: number): Command => ({
    args: ["baseline", "new", "--runs", String(runs), ...small("--memory", "pinned").slice(1)],
    creates: runs,
  }),
  update: (runs: number): Command => ({
    args: ["check", "--baseline", "base", "--runs", String(runs), "--update"],
    replacesBy: runs,
  }),
  check: (runs: number): Command => ({
    args: ["check", "--baseline", "base", "--runs", String(runs), "--history", "hist"],
    appends: true,
  }),
};
type Name = keyof typeof commands;

interface Pair {
  names: readonly [Name, Name];
  runs: readonly [number, number];
  fsyncMs: number;
}

/**
 * Pairs of which one once took a lock from the other while that lived. In the full form the lock is held for more than
 * 10 s; test/results/file-lock.test.ts lets such a time pass in a moment.
 */
const knownPairs: readonly Pair[] = [
  { names: ["append", "append"], runs: [2, 2], fsyncMs: trials(500, 2500) },
  { names: ["append", "update"], runs: [2, 2], fsyncMs: trials(500, 2500) },
  { names: ["check", "check"], runs: [1, 1], fsyncMs: 6000 },
];

function randomPair(random: () => number): Pair {
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!;
  const names = Object.keys(commands) as Name[];
  return {
    names: [pick(names), pick(names)],
    runs: [pick([1, 2]), pick([1, 2])],
    fsyncMs: pick([0, 100, 300, 900]),
  };
}

let attempts = 0;

async function attempt({ names, runs, fsyncMs }: Pair) {
  const folder = join(shared, `pair-${++attempts}`);
  cpSync(await baselineAt(certainly.faster), join(folder, "base"), { recursive: true });
  const earlier = Array.from({ length: earlierChecks }, (_, day) => buildEntry(day));
  cpSync(historyFolder(earlier), join(folder, "hist"), { recursive: true });
  const before = await listRuns(join(folder, "base"));
  const pair = names.map((name, i) => commands[name](runs[i]!));
  const env = { LD_PRELOAD: library, SLOW_FSYNC_MS: String(fsyncMs), XDG_CACHE_HOME: shared };
  const finished = await Promise.all(pair.map(({ args }) => runCli(args, { cwd: folder, env })));
  return { folder, before, pair, finished };
}

/** Whether the command succeeded (a verdict is no failure). Otherwise it must say why. */
function hasDone({ exitCode, stderr }: Finished): boolean {
  if (exitCode !== null && [0, 1, 6].includes(exitCode)) return true;
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(/^pinbench: .+\./m) });
  return false;
}

/** How many runs of a folder's list come from one command; the folder holds these, its first runs and no other file. */
async function runsByCommand(folder: string): Promise<Map<string, number>> {
  const paths = await listRuns(folder);
  for (const path of paths) parseResult(readFileSync(path, "utf8"), path);
  expect(
    readdirSync(folder)
      .map((name) => join(folder, name))
      .sort(),
  ).toEqual([join(folder, "baseline.json"), ...paths, ...((await listBegunRuns(folder)) ?? [])].sort());
  const counts = new Map<string, number>();
  for (const path of paths) {
    const stamp = /run-(\w+)-\d+\.json$/.exec(path)![1]!;
    counts.set(stamp, (counts.get(stamp) ?? 0) + 1);
  }
  return counts;
}

async function expectNothingLost({ folder, before, pair, finished }: Awaited<ReturnType<typeof attempt>>) {
  const done = pair.filter((_, i) => hasDone(finished[i]!));
  const inOrder = (numbers: readonly (number | undefined)[]) =>
    numbers.filter((number) => number !== undefined).sort();

  const counts = await runsByCommand(join(folder, "base"));
  const stampBefore = /run-(\w+)-\d+\.json$/.exec(before[0]!)![1]!;
  const kept = counts.get(stampBefore);
  counts.delete(stampBefore);
  const found = inOrder([...counts.values()]);
  const added = done.map(({ adds }) => adds);
  const replaced = done.flatMap(({ replacesBy }) => replacesBy ?? []);
  if (replaced.length === 0) {
    expect({ kept, found }).toEqual({ kept: earlierRuns, found: inOrder(added) });
  } else {
    // The last replacement of the list stands, with the runs added after it.
    const possible = replaced.flatMap((runs) => [[runs], inOrder([runs, ...added])]);
    expect(kept).toBeUndefined();
    expect(possible).toContainEqual(found);
  }

  const created = done.flatMap(({ creates }) => creates ?? []);
  const isAsked = pair.some(({ creates }) => creates !== undefined);
  if (isAsked) expect([...(await runsByCommand(join(folder, "new"))).values()]).toEqual(created);
  expect(existsSync(join(folder, "new"))).toBe(isAsked);

  const lines = readFileSync(join(folder, "hist/history.jsonl"), "utf8").trimEnd().split("\n");
  const ids = lines.map((line) => (JSON.parse(line) as { id: string }).id);
  const fresh = ids.filter((id) => !id.startsWith("check-"));
  expect(new Set(fresh).size).toBe(done.filter(({ appends }) => appends).length);
  expect(ids).toHaveLength(earlierChecks + fresh.length);
  expect(readdirSync(join(folder, "hist"))).toEqual(["history.jsonl"]);
}

it(
  "two commands at once on one baseline and history lose no run, or one of them reports why",
  async () => {
    const count = countTrials("pairs of commands on one baseline and one history");
    const { uniform } = seeded(trialSeed);
    const pairs = [
      ...knownPairs.slice(0, trials(2, knownPairs.length)),
      ...Array.from({ length: trials(1, 200 - knownPairs.length) }, () => randomPair(uniform)),
    ];
    // They mostly wait.
    const inTurns = [0, 1, 2].map((turn) => pairs.filter((_, i) => i % 3 === turn));
    await Promise.all(
      inTurns.map(async (turn) => {
        for (const pair of turn) {
          count.tries();
          const tried = await attempt(pair);
          await expectNothingLost(tried).catch((error: Error) => {
            const said = tried.finished.map(({ exitCode, stderr }) => `${exitCode}: ${stderr}`).join("");
            error.message = `${JSON.stringify(pair)}: ${error.message}\n${said}`;
            throw error;
          });
          count.survives();
          rmSync(tried.folder, { recursive: true });
        }
      }),
    );
  },
  trials(120_000, 3_600_000),
);
