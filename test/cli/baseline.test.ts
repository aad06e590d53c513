import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { jsonReport } from "../../src/draw/json.js";
import { createRuns, listRuns, listRunsIfAny } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { asOfSecondDevice, expectSentence, filesIn } from "../helpers/baseline-folder.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCli, callCliAlone, playRuns, signalCall } from "../helpers/in-process.js";
import { copyFaults, emulatedFaults, runCli, temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";

const sweep = ["--backend", "emulated", "--sizes", "64KiB", "--samples", "6"];
const small = ["--memory", "pinned", "--workers", "1", ...sweep];
const baseline = (cwd: string, args: readonly string[], env = {}) =>
  callCliAlone(["baseline", "main", ...args], { cwd, env });
const documentsIn = async (folder: string) =>
  (await listRuns(folder)).map((path) => parseResult(readFileSync(path, "utf8"), path));

describe("pinbench baseline", () => {
  it("makes a folder of runs, each from a fresh process, and shows which loss a check would find", async () => {
    const cwd = temporaryFolder();
    const { exitCode, stdout, stderr } = await runCli(["baseline", "new/main", ...small, "--runs", "3"], {
      cwd,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^! emulated device: .*\nnew\/main holds 3 runs of 2 cells\.\n/);
    expect(stdout).toMatch(/memory +cells +between runs +sessions +would show\n.*\n +pinned +2 /);
    expect(stdout).toContain("A check of 5 runs");
    const documents = await documentsIn(join(cwd, "new/main"));
    expect(documents.map(({ run }) => run.status)).toEqual(["complete", "complete", "complete"]);
    expect(new Set(documents.map(({ run }) => run.id)).size).toBe(3);
    expect(documents[0]!.plan).toMatchObject({ samplesPerCell: 6, cells: 2 });
    expect(readdirSync(cwd)).toEqual(["new"]);
  });

  it("measures the plan and the number of runs that the configuration sets", async () => {
    const plan = {
      backend: "emulated",
      sizes: "4KiB",
      workers: 1,
      memory: "pinned",
      samples: 6,
    };
    const cwd = folderOf({ [configFile]: { plan, runs: 7 } });
    const { stdout, stderr } = await baseline(cwd, ["--runs", "2", "--direction", "h2d"]);
    expect(stderr).toBe(`pinbench: Using the configuration ${configFile}.\n`);
    expect(stdout).toContain("A check of 7 runs");
    const documents = await documentsIn(join(cwd, "main"));
    expect(documents.map(({ cells }) => cells.map(({ id }) => id))).toEqual(
      Array(2).fill(["d0/h2d/pinned/4096/w1/throughput/cold"]),
    );
  });

  it("records the limit of --max-pinned for its checks", async () => {
    const cwd = temporaryFolder();
    const { exitCode, stdout } = await baseline(cwd, [...small, "--runs", "1", "--max-pinned", "3MiB"]);
    expect(exitCode).toBe(0);
    const [document] = await documentsIn(join(cwd, "main"));
    expect(document?.plan?.settings?.maxPinnedBytes).toBe(3 * 1024 ** 2);
    expect(stdout).toContain("main holds 1 run of 2 cells.");
  });

  it.each([
    [
      4,
      "a device cannot be opened",
      emulatedFaults("cuDevicePrimaryCtxRetain:2:nth=1"),
      "a measurement failed",
    ],
    [4, "a cell fails", emulatedFaults("cuMemcpyDtoHAsync_v2:999:nth=1"), "a measurement failed"],
    [7, "data come back wrong", copyFaults("drop", "h2d"), "data came back wrong"],
  ])("exits with %i and writes no baseline if %s", async (code, _, env, reason) => {
    const cwd = temporaryFolder();
    const refusal = new RegExp(`no baseline was written: ${reason}`);
    expectSentence(await baseline(cwd, [...small, "--runs", "2"], env), code, refusal);
    expect(readdirSync(cwd, { recursive: true })).toEqual(["main"]);
  });
});

/** `pinbench baseline` with these documents in place of measured runs. */
async function played(documents: readonly ResultDocument[], requested = 6) {
  playRuns(async function* (_, runs) {
    for (let run = 0; run < runs; ++run) {
      yield { kind: "start", run };
      yield { kind: "result", run, document: documents[run]! };
    }
  });
  const cwd = temporaryFolder();
  const finished = await callCli(["baseline", "main", ...small, "--runs", `${requested}`], { cwd });
  return { ...finished, runs: (await listRuns(join(cwd, "main"))).length };
}

it("pinbench baseline reports once which other programs used which device during its runs", async () => {
  const other = (pid: number, name: string, wasThereBefore: boolean) =>
    ({ kind: "program", pid, name, since: null, deviceMemoryBytes: null, wasThereBefore }) as const;
  const quiet = { activityBefore: null, unseen: [] };
  const python = { device: 2, others: [other(7, "python3", true)], ...quiet };
  const used = [
    [{ device: 0, others: [], ...quiet }, python],
    [{ device: 0, others: [other(9, "blender", false)], ...quiet }, python],
  ];
  const documents = buildRuns({ cells: [{ GBps: 50 }], speed: 1, count: 6 }).map((document, i) => ({
    ...document,
    run: { ...document.run, sharing: used[i] ?? [] },
  }));
  expect((await played(documents)).stderr.split("\n")).toEqual([
    "pinbench: in these runs device 0 was not measured alone: blender (pid 9) started during the run.",
    "pinbench: in these runs device 2 was not measured alone: python3 (pid 7) used it as well.",
    "",
  ]);
});

let measured: Promise<ResultDocument[]> | undefined;

async function measureTwoRuns(): Promise<ResultDocument[]> {
  const cwd = mkdtempSync(join(tmpdir(), "pinbench-sessions-"));
  try {
    await baseline(cwd, [...small, "--runs", "2", "--quiet"]);
    return await documentsIn(join(cwd, "main"));
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** A folder with a baseline "main" of two runs, each of them as `change` makes it. */
async function withBaseline(change: (document: ResultDocument) => void = () => undefined): Promise<string> {
  measured ??= measureTwoRuns();
  const documents = structuredClone(await measured);
  for (const document of documents) change(document);
  const cwd = temporaryFolder();
  await createRuns(join(cwd, "main"), documents.map(jsonReport));
  return cwd;
}

function measuredOn(date: string) {
  return ({ run }: ResultDocument) => {
    run.startedAt = `${date}T12:00:00.000Z`;
  };
}

describe("pinbench baseline --append", () => {
  it("adds new runs with the cells and settings of the existing ones", async () => {
    const cwd = await withBaseline(measuredOn("2026-01-01"));
    const before = await documentsIn(join(cwd, "main"));
    const { exitCode, stdout, stderr } = await baseline(cwd, ["--append", "--runs", "3"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^! emulated device: .*\nmain holds 5 runs of 2 cells in 2 sessions\.\n/);
    const documents = await documentsIn(join(cwd, "main"));
    expect(documents.slice(0, 2)).toEqual(before);
    for (const { plan, cells } of documents) {
      expect(plan).toMatchObject({ samplesPerCell: 6, cells: 2 });
      expect(cells.map(({ id }) => id)).toEqual(before[0]!.cells.map(({ id }) => id));
    }
  });

  it("measures the baseline's GPUs, even if CUDA numbers them differently now", async () => {
    const cwd = await withBaseline((document) => Object.assign(document, asOfSecondDevice(document)));
    const env = { PINBENCH_EMULATED_DEVICES: "2" };
    expect((await baseline(cwd, ["--append", "--runs", "1"], env)).exitCode).toBe(0);
    const [first, , added] = await documentsIn(join(cwd, "main"));
    expect(added!.cells.map(({ id }) => id)).toEqual(first!.cells.map(({ id }) => id.replace("d0", "d1")));
  });

  it("overrides the baseline's settings by flags, and ignores the plan of a configuration", async () => {
    const cwd = await withBaseline();
    writeFileSync(join(cwd, configFile), JSON.stringify({ plan: { sizes: "4KiB", samples: 50 }, runs: 7 }));
    const { exitCode, stdout } = await baseline(cwd, ["--append", "--runs", "1", "--samples", "8"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("A check of 7 runs");
    const [first, , added] = await documentsIn(join(cwd, "main"));
    expect(added!.plan).toMatchObject({ samplesPerCell: 8, cells: 2 });
    expect(added!.cells.map(({ id }) => id)).toEqual(first!.cells.map(({ id }) => id));
  });

  it("adds runs of another kernel with a note, but none of another machine or of a failed measurement", async () => {
    const cwd = await withBaseline(({ fingerprint }) => {
      fingerprint.kernel = "5.15.0";
    });
    const { exitCode, stderr } = await baseline(cwd, ["--append", "--runs", "2"]);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^pinbench: not as in the runs before: kernel \(5\.15\.0 before, .* now\)\.\n$/);
    expect(await listRuns(join(cwd, "main"))).toHaveLength(4);
    const before = filesIn(join(cwd, "main"));
    const failed = await baseline(cwd, ["--append"], copyFaults("drop", "h2d"));
    expectSentence(failed, 7, /nothing was added to main: data came back wrong \(d0\/h2d\/pinned/);
    expect(filesIn(join(cwd, "main"))).toEqual(before);
    const elsewhere = await withBaseline(({ fingerprint }) => {
      fingerprint.gpu = "NVIDIA H100 80GB HBM3";
    });
    const refusal =
      /main was measured on another machine \(GPU NVIDIA H100 80GB HBM3, here .*\), and nothing was/;
    expectSentence(await baseline(elsewhere, ["--append"]), 5, refusal);
    expect(await listRuns(join(elsewhere, "main"))).toHaveLength(2);
  });
});

describe("pinbench baseline --sessions", () => {
  it("keeps each session before it waits for the next, and reports on all of them", async () => {
    const cwd = temporaryFolder();
    // --every counts from start to start: a session takes longer, so the next one is due at its end.
    const times = ["--sessions", "3", "--every", "1ms", "--runs", "2"];
    const { exitCode, stdout, stderr } = await baseline(cwd, [...small, ...times]);
    expect(exitCode).toBe(0);
    const lines = stderr.trimEnd().split("\n");
    const soon = ", less than 5 min after the end of this one: both count as one session.";
    expect(lines).toEqual([
      expect.stringMatching(/^pinbench: main holds 2 runs; session 2 of 3 begins now, /),
      expect.stringMatching(/^pinbench: main holds 4 runs; session 3 of 3 begins now, /),
    ]);
    for (const line of lines) expect(line.endsWith(soon), line).toBe(true);
    expect(stdout).toContain("main holds 6 runs of 2 cells.");
    const starts = (await documentsIn(join(cwd, "main"))).map(({ run }) => run.startedAt);
    expect(starts).toEqual(starts.toSorted());
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("interrupted by %s while it waits keeps the finished sessions", async (signal, code) => {
    const cwd = temporaryFolder();
    const args = [...small, "--runs", "1", "--sessions", "4", "--every", "1h"];
    const finished = baseline(cwd, args);
    const isKept = async () =>
      existsSync(join(cwd, "main")) && (await listRunsIfAny(join(cwd, "main"))).length === 1;
    await vi.waitUntil(isKept, { timeout: 50_000 });
    signalCall(signal);
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: "" });
    expect(stderr).toMatch(
      /main holds 1 run; session 2 of 4 begins at \d\d:\d\d:\d\d UTC\.\npinbench: interrupted before session 2 of 4: main has the sessions before it\. Go on with `pinbench baseline main --append`\.\n$/,
    );
    expect(await listRuns(join(cwd, "main"))).toHaveLength(1);
  });
});

describe("pinbench baseline interrupted", () => {
  /** Sends a signal during the run that follows this many whole ones. */
  async function interrupted(cwd: string, args: readonly string[], whole: number, signal: NodeJS.Signals) {
    measured ??= measureTwoRuns();
    const [document] = await measured;
    playRuns(async function* () {
      for (let run = 0; run < whole; ++run) {
        const id = `${signal}-${run}`;
        yield { kind: "result", run, document: { ...document!, run: { ...document!.run, id } } };
      }
      signalCall(signal);
    });
    const { exitCode, stdout, stderr } = await callCli(["baseline", "main", ...args, "--runs", "9"], { cwd });
    return { exitCode, stdout, stderr };
  }

  it.each([
    ["SIGINT", 130, 1, "main has 1 run. Go on with `pinbench baseline main --append`"],
    ["SIGTERM", 143, 2, "main has 2 runs. Go on with `pinbench baseline main --append`"],
    ["SIGHUP", 129, 0, "no baseline was written"],
  ] as const)("by %s exits with %i and keeps %i finished runs", async (signal, exitCode, whole, what) => {
    const cwd = temporaryFolder();
    const stderr = `pinbench: interrupted after ${whole} of 9 runs: ${what}.\n`;
    expect(await interrupted(cwd, small, whole, signal)).toEqual({ exitCode, stdout: "", stderr });
    if (whole === 0) expect(readdirSync(cwd, { recursive: true })).toEqual(["main"]);
    else expect((await documentsIn(join(cwd, "main"))).length).toBe(whole);
  });

  it("during --append keeps its finished runs and those of earlier sessions, and says how to go on", async () => {
    const cwd = await withBaseline();
    const { "baseline.json": _, ...runs } = filesIn(join(cwd, "main"));
    expect((await interrupted(cwd, ["--append"], 0, "SIGINT")).stderr).toBe(
      "pinbench: interrupted after 0 of 9 runs: main is unchanged.\n",
    );
    const { stderr } = await interrupted(cwd, ["--append", "--sessions", "3", "--quiet"], 2, "SIGINT");
    expect(stderr).toBe(
      "pinbench: interrupted after 2 of 9 runs of session 1 of 3: main has 4 runs. " +
        "Go on with `pinbench baseline main --append`.\n",
    );
    expect(await documentsIn(join(cwd, "main"))).toHaveLength(4);
    expect(filesIn(join(cwd, "main"))).toMatchObject(runs);
  });
});
