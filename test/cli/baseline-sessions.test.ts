import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { jsonReport } from "../../src/draw/json.js";
import { createRuns, listRuns } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { expectSentence, filesIn } from "../helpers/baseline-folder.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCliAlone } from "../helpers/in-process.js";
import { markName, measuring, nextMark } from "../helpers/processes.js";
import { copyFaults, endless, restingLink, startCli, temporaryFolder } from "../helpers/run-cli.js";

const sweep = ["--backend", "emulated", "--llc", "1MiB", "--sizes", "64KiB", "--samples", "6"];
const small = ["--memory", "pinned", "--workers", "1", ...sweep];
const baseline = (cwd: string, args: readonly string[], env = {}) =>
  callCliAlone(["baseline", ...args], { cwd, env });
const documentsIn = async (folder: string) =>
  (await listRuns(folder)).map((path) => parseResult(readFileSync(path, "utf8"), path));

let measured: Promise<ResultDocument[]> | undefined;

async function measureTwoRuns(): Promise<ResultDocument[]> {
  const cwd = mkdtempSync(join(tmpdir(), "pinbench-sessions-"));
  try {
    await baseline(cwd, ["main", ...small, "--runs", "2", "--quiet"]);
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
  it("adds runs of now to those that are there, of their cells and measured as they were", async () => {
    const cwd = await withBaseline(measuredOn("2026-01-01"));
    const before = await documentsIn(join(cwd, "main"));
    const { exitCode, stdout, stderr } = await baseline(cwd, ["main", "--append", "--runs", "3"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(
      /^! emulated device: .*\nmain holds 5 runs of 2 cells, measured on 2 occasions\.\n/,
    );
    const documents = await documentsIn(join(cwd, "main"));
    expect(documents.slice(0, 2)).toEqual(before);
    for (const { plan, cells, host } of documents) {
      expect(plan).toMatchObject({ samplesPerCell: 6, cells: 2 });
      expect(cells.map(({ id }) => id)).toEqual(before[0]!.cells.map(({ id }) => id));
      expect(host?.lastLevelCacheBytes).toBe(1024 ** 2);
    }
  });

  it("measures as a check does: its own measuring flags win, and no plan of a configuration", async () => {
    const cwd = await withBaseline();
    writeFileSync(join(cwd, configFile), JSON.stringify({ plan: { sizes: "4KiB", samples: 50 }, runs: 7 }));
    const { exitCode, stdout } = await baseline(cwd, ["main", "--append", "--runs", "1", "--samples", "8"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("A check of 7 runs");
    const [first, , added] = await documentsIn(join(cwd, "main"));
    expect(added!.plan).toMatchObject({ samplesPerCell: 8, cells: 2 });
    expect(added!.cells.map(({ id }) => id)).toEqual(first!.cells.map(({ id }) => id));
  });

  it.each([
    [["--sizes", "4KiB"], /--append and --sizes exclude each other/],
    [["--preset", "quick"], /--append and --preset exclude each other/],
    [["--backend", "emulated"], /--append and --backend exclude each other/],
  ])("leaves what to measure to the baseline: not with %j", async (args, sentence) => {
    expectSentence(await baseline(temporaryFolder(), ["main", "--append", ...args]), 2, sentence);
  });

  it.each([
    ["there is none", {}, "main", 5, /there is no baseline main\. Make one with `pinbench baseline main`/],
    [
      "the folder holds no run",
      { "main/notes.txt": "" },
      "main",
      5,
      /no baseline in main\. Make one with `pinbench baseline FOLDER`, in a new folder\./,
    ],
  ] as const)("adds nothing if %s", async (_, files, folder, code, sentence) => {
    const cwd = folderOf(files);
    expectSentence(await baseline(cwd, [folder, "--append"]), code, sentence);
    expect(existsSync(join(cwd, folder, "baseline.json"))).toBe(false);
  });

  it("adds nothing to a single result, which is no folder", async () => {
    const cwd = await withBaseline();
    const [path] = await listRuns(join(cwd, "main"));
    expectSentence(
      await baseline(cwd, [path!, "--append"]),
      2,
      /is one result, and a baseline that takes new/,
    );
  });

  it("adds no runs of another machine", async () => {
    const cwd = await withBaseline(({ fingerprint }) => {
      fingerprint.gpu = "NVIDIA H100 80GB HBM3";
    });
    const before = filesIn(join(cwd, "main"));
    const refusal =
      /main was measured on another machine \(GPU NVIDIA H100 80GB HBM3, here .*\), and nothing was added to it\. Make a baseline for this one/;
    expectSentence(await baseline(cwd, ["main", "--append"]), 5, refusal);
    expect(filesIn(join(cwd, "main"))).toEqual(before);
  });

  it("says what is not as it was, and adds the runs all the same", async () => {
    const cwd = await withBaseline(({ fingerprint }) => {
      fingerprint.kernel = "5.15.0";
    });
    const { exitCode, stderr } = await baseline(cwd, ["main", "--append", "--runs", "2"]);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^pinbench: not as in the runs before: kernel \(5\.15\.0 before, .* now\)\.\n$/);
    expect(await listRuns(join(cwd, "main"))).toHaveLength(4);
  });

  it("leaves the baseline as it was if a measurement fails", async () => {
    const cwd = await withBaseline();
    const before = filesIn(join(cwd, "main"));
    const finished = await baseline(cwd, ["main", "--append"], copyFaults("drop", "h2d"));
    expectSentence(finished, 4, /nothing was added to main: a measurement failed \(d0\/h2d\/pinned/);
    expect(filesIn(join(cwd, "main"))).toEqual(before);
  });
});

it("a baseline is as it was if an addition to it is interrupted", async () => {
  const cwd = await withBaseline();
  const before = filesIn(join(cwd, "main"));
  const mark = nextMark();
  const args = ["baseline", "main", "--append", ...endless];
  const { child, finished } = startCli(args, { cwd, env: { [markName]: mark } });
  await vi.waitFor(() => expect(measuring(mark)).toHaveLength(1), { timeout: 50_000 });
  child.kill("SIGINT");
  const { exitCode, stderr } = await finished;
  expect({ exitCode, stderr }).toEqual({
    exitCode: 130,
    stderr: "pinbench: interrupted after 0 of 10 runs: main is unchanged.\n",
  });
  expect(filesIn(join(cwd, "main"))).toEqual(before);
});

describe("an interrupted baseline keeps the runs that came to their end, and says how to go on", () => {
  /** Each run takes so long, whatever it finds. */
  const lasting = ["--budget", "200ms", "--precision", "0.0001%", "--runs", "1000"];

  /** Interrupts it while a run after the first is measured; tells after how many. */
  async function interruptAfterFirst(cwd: string, args: readonly string[], signal: NodeJS.Signals) {
    const mark = nextMark();
    const env = { ...restingLink, [markName]: mark };
    const { child, finished } = startCli(["baseline", "main", ...args], { cwd, env });
    const seen = new Set<string>();
    await vi.waitFor(
      () => {
        for (const pid of measuring(mark)) seen.add(pid);
        expect(seen.size).toBeGreaterThan(1);
      },
      { timeout: 50_000, interval: 20 },
    );
    child.kill(signal);
    const { exitCode, stdout, stderr } = await finished;
    await vi.waitFor(() => expect(measuring(mark)).toEqual([]), { timeout: 50_000 });
    expect(stdout).toBe("");
    return { exitCode, stderr, whole: Number(/interrupted after (\d+) of 1000 runs/.exec(stderr)?.[1]) };
  }

  /** Its files: a list, and a run that is complete for each of its entries. */
  async function expectWholeRuns(folder: string, count: number) {
    const documents = await documentsIn(folder);
    expect(documents.map(({ run }) => run.status)).toEqual(Array(count).fill("complete"));
    expect(Object.keys(filesIn(folder))).toHaveLength(count + 1);
  }

  const these = (whole: number) => (whole === 1 ? "this one" : "these");

  it("at SIGINT, SIGTERM or SIGHUP: --append adds the others", async () => {
    const cases = [
      ["SIGINT", 130],
      ["SIGTERM", 143],
      ["SIGHUP", 129],
    ] as const;
    const folders = await Promise.all(cases.map(([signal, code]) => interruptedBy(signal, code)));
    for (const { cwd, whole } of folders) {
      expect((await baseline(cwd, ["main", "--append", "--runs", "1"])).exitCode).toBe(0);
      await expectWholeRuns(join(cwd, "main"), whole + 1);
      const [first, ...others] = await documentsIn(join(cwd, "main"));
      for (const { plan, cells } of others) {
        expect(plan?.settings).toEqual(first!.plan?.settings);
        expect(cells.map(({ id }) => id)).toEqual(first!.cells.map(({ id }) => id));
      }
    }
  });

  async function interruptedBy(signal: NodeJS.Signals, code: number) {
    const cwd = temporaryFolder();
    const sweep = small.filter((_, i, all) => all[i] !== "--samples" && all[i - 1] !== "--samples");
    const { exitCode, stderr, whole } = await interruptAfterFirst(cwd, [...sweep, ...lasting], signal);
    expect(exitCode).toBe(code);
    expect(stderr).toBe(
      `pinbench: interrupted after ${whole} of 1000 runs: the baseline has only ${these(whole)}. ` +
        `Go on with \`pinbench baseline main --append --runs ${1000 - whole}\`.\n`,
    );
    await expectWholeRuns(join(cwd, "main"), whole);
    return { cwd, whole };
  }

  it("beside those of before, in one of several sessions", async () => {
    const cwd = await withBaseline();
    const before = filesIn(join(cwd, "main"));
    const args = ["--append", "--sessions", "3", "--quiet", ...lasting];
    const { stderr, whole } = await interruptAfterFirst(cwd, args, "SIGINT");
    expect(stderr).toBe(
      `pinbench: interrupted after ${whole} of 1000 runs of session 1 of 3: main has ${these(whole)} as well. ` +
        `Go on with \`pinbench baseline main --append --runs ${1000 - whole}\`, ` +
        "then `pinbench baseline main --append --runs 1000 --sessions 2`.\n",
    );
    await expectWholeRuns(join(cwd, "main"), 2 + whole);
    const { "baseline.json": _, ...runs } = before;
    expect(filesIn(join(cwd, "main"))).toMatchObject(runs);
  });
});

describe("pinbench baseline --sessions", () => {
  it("keeps each session before it waits for the next, and reports on all of them", async () => {
    const cwd = temporaryFolder();
    // From start to start: a session takes longer than that, and the next one is due at its end.
    const times = ["--sessions", "3", "--every", "10ms", "--runs", "2"];
    const { exitCode, stdout, stderr } = await baseline(cwd, ["main", ...small, ...times]);
    expect(exitCode).toBe(0);
    const lines = stderr.trimEnd().split("\n");
    const soon = ", less than 5 min after the end of this one: both count as one occasion.";
    expect(lines).toEqual([
      expect.stringMatching(/^pinbench: main holds 2 runs; session 2 of 3 begins now, /),
      expect.stringMatching(/^pinbench: main holds 4 runs; session 3 of 3 begins now, /),
    ]);
    for (const line of lines) expect(line.endsWith(soon), line).toBe(true);
    expect(stdout).toContain("main holds 6 runs of 2 cells.");
    const starts = (await documentsIn(join(cwd, "main"))).map(({ run }) => run.startedAt);
    expect(starts).toHaveLength(6);
    expect(starts).toEqual(starts.toSorted());
  });

  it("may add them to a baseline", async () => {
    const cwd = await withBaseline(measuredOn("2026-01-01"));
    const times = ["--sessions", "2", "--every", "10ms", "--runs", "1", "--quiet"];
    const { exitCode, stdout } = await baseline(cwd, ["main", "--append", ...times]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("main holds 4 runs of 2 cells, measured on 2 occasions.");
  });

  it("interrupted by SIGINT, SIGTERM or SIGHUP while it waits keeps the sessions before", async () => {
    await Promise.all([expectKept("SIGINT", 130), expectKept("SIGTERM", 143), expectKept("SIGHUP", 129)]);
  });

  async function expectKept(signal: NodeJS.Signals, code: number): Promise<void> {
    const cwd = temporaryFolder();
    const args = ["baseline", "main", ...small, "--runs", "1", "--sessions", "4", "--every", "1h"];
    const { child, finished } = startCli(args, { cwd });
    let said = "";
    child.stderr!.on("data", (text: string) => {
      said += text;
    });
    await vi.waitFor(() => expect(said).toContain("session 2 of 4 begins at"), { timeout: 50_000 });
    expect(await listRuns(join(cwd, "main"))).toHaveLength(1);
    child.kill(signal);
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: "" });
    expect(stderr).toMatch(
      /main holds 1 run; session 2 of 4 begins at \d\d:\d\d:\d\d UTC\.\npinbench: interrupted before session 2 of 4: main has the sessions before it\. Go on with `pinbench baseline main --append --runs 1 --sessions 3`\.\n$/,
    );
    expect(await listRuns(join(cwd, "main"))).toHaveLength(1);
  }

  it.each([
    [["--every", "1h"], /--every needs several sessions, and there is only one\. .* --sessions/],
    [["--sessions", "1", "--every", "1h"], /there is only one/],
    [["--sessions", "0"], /"0" is not a number of sessions: it must be a whole number from 1 to 1000/],
    [["--sessions", "2", "--every", "0s"], /"0s" is not a time above 0/],
    [["--sessions", "2", "--every", "25h"], /"25h" is too long to wait: the longest wait is a day/],
  ])("are refused before anything is measured: %j", async (args, sentence) => {
    const cwd = temporaryFolder();
    expectSentence(await baseline(cwd, ["main", ...small, ...args]), 2, sentence);
    expect(existsSync(join(cwd, "main"))).toBe(false);
  });
});

describe("what a baseline says of its occasions", () => {
  const short = /All runs come from one \d+ s window\./;

  it("is what one cannot tell, and what would", async () => {
    const { stdout } = await baseline(temporaryFolder(), ["main", ...small, "--runs", "2"]);
    const text = stdout.replaceAll(/\s+/g, " ");
    expect(text).toMatch(short);
    expect(text).toContain("`pinbench baseline main --append` adds another occasion later; --sessions");
  });

  it("is what two cannot tell, and nothing from three on", async () => {
    const cwd = await withBaseline(measuredOn("2026-01-01"));
    const [first] = await listRuns(join(cwd, "main"));
    const { stdout } = await baseline(cwd, ["main", "--append", "--runs", "1"]);
    expect(stdout).toContain("Two occasions do not show how much the machine differs between");
    const document = parseResult(readFileSync(first!, "utf8"), first!);
    measuredOn("2026-02-01")(document);
    writeFileSync(first!, JSON.stringify(document));
    const { stdout: later } = await baseline(cwd, ["main", "--append", "--runs", "1"]);
    expect(later).toContain("main holds 4 runs of 2 cells, measured on 3 occasions.\n\n");
    expect(later).not.toMatch(short);
    expect(later).not.toContain("occasions do not show");
  });
});
