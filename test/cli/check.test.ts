import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { settingsOfResult } from "../../src/compare/result-set.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { historyPath } from "../../src/results/files/history-file.js";
import { listRuns } from "../../src/results/files/run-folder.js";
import type { HistoryEntry } from "../../src/results/history-entry.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import {
  asOfSecondDevice,
  baselineAt,
  certainly,
  checkJson,
  expectSentence,
  filesIn,
} from "../helpers/baseline-folder.js";
import { configFile, folderOf } from "../helpers/config.js";
import { callCli, playRuns, signalCall } from "../helpers/in-process.js";
import { copyFaults, emulatedFaults, runCli, temporaryFolder } from "../helpers/run-cli.js";
import { documentAtSpeed } from "../helpers/runs.js";

const documentsIn = async (folder: string) =>
  (await listRuns(folder)).map((path) => parseResult(readFileSync(path, "utf8"), path));
const ids = ["h2d", "d2h"].map((direction) => `d0/${direction}/pinned/65536/w1/throughput/cold`);

/** Adds a cell that no check can measure: the emulated device does not access pageable memory by itself. */
const withSkipped = (document: ResultDocument): ResultDocument => {
  const [cell] = document.cells as [CellResult];
  const id = "d0/h2d/system/65536/w1/throughput/cold";
  return { ...document, cells: [...document.cells, { ...cell, id, memory: "system" }] };
};

/** Makes checks replay the baseline's first run at this many times its speed, without `system` cells. */
async function playAtSpeed(baseline: string, speed: number): Promise<void> {
  const [document] = (await documentsIn(baseline)) as [ResultDocument];
  let id = 0;
  playRuns(async function* ({ cells }, runs) {
    for (let run = 0; run < runs; ++run) {
      const measured = documentAtSpeed(document, speed * (1 + 1e-4 * run));
      yield {
        ...{ kind: "result", run },
        document: {
          ...measured,
          run: { ...measured.run, id: `played-${++id}` },
          cells: measured.cells.filter((cell) => cell.memory !== "system" && cells!.includes(cell.id)),
        },
      };
    }
  });
}

describe("a check against a baseline", () => {
  it("exits with 1 if measuring again confirms a slower machine, and --update keeps the baseline", async () => {
    const baseline = await baselineAt(certainly.slower);
    const before = filesIn(baseline);
    const junit = join(temporaryFolder(), "x.xml");
    const { exitCode, stderr, comparison } = await checkJson(baseline, ["--output", junit, "--update"]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `pinbench: ${baseline} was not updated: there is a regression. To accept it, make a new baseline with pinbench baseline.\n`,
    });
    expect(comparison).toMatchObject({
      command: "check",
      backend: "emulated",
      outcome: "regression",
      baseline: { path: baseline, runs: 5 },
      candidate: { path: null, runs: 3 },
      confirmation: { suspects: ids },
    });
    // As many runs as at first, and more if a busy machine made one of them slower than the others.
    const { runs } = comparison.confirmation!;
    expect(runs).toBeGreaterThanOrEqual(3);
    for (const cell of comparison.cells) {
      // The fresh runs alone decide.
      expect(cell).toMatchObject({ verdict: "slower", candidate: { runs } });
      expect(cell.change).toBeLessThan(-0.9);
    }
    expect(readFileSync(junit, "utf8")).toMatch(/<testsuites name="pinbench check" tests="3" failures="3"/);
    expect(filesIn(baseline)).toEqual(before);
  });

  it.each([
    ["cells are missing", [], 0],
    ["it is undecided", ["--strict"], 6],
  ])("is not accepted as the new baseline by --update if %s", async (obstacle, flags, code) => {
    const baseline = await baselineAt(1, withSkipped);
    await playAtSpeed(baseline, 1);
    const before = filesIn(baseline);
    const refused = await checkJson(baseline, ["--update", "--runs", "2", ...flags]);
    expect(refused).toMatchObject({
      exitCode: code,
      stderr: `pinbench: ${baseline} was not updated: ${obstacle}.\n`,
    });
    expect(filesIn(baseline)).toEqual(before);
  });

  it("waits for --confirm-after before it measures a slower machine again, and a signal ends the wait", async () => {
    const baseline = await baselineAt(certainly.slower);
    const before = filesIn(baseline);
    const document = (await documentsIn(baseline))[0]!;
    playRuns(async function* () {
      for (let run = 0; run < 3; ++run)
        yield { kind: "result", run, document: documentAtSpeed(document, 0.01) };
      setTimeout(() => signalCall("SIGINT"), 100);
    });
    const args = ["check", "--baseline", baseline, "--runs", "3", "--json", "--confirm-after", "1h"];
    const { exitCode, stdout } = await callCli(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(filesIn(baseline)).toEqual(before);
  });
});

describe("a check of a machine that is not slower", () => {
  it("passes, and its runs become the new baseline with --update", async () => {
    const baseline = await baselineAt(1);
    await playAtSpeed(baseline, 2);
    const { exitCode, stderr, comparison } = await checkJson(baseline, [
      "--update",
      "--strict",
      // Not waited for: nothing has to be confirmed.
      "--confirm-after",
      "23h",
    ]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringMatching(
        /^pinbench: \S+ now holds the 3 runs of this check, in place of 5 runs\.\n$/,
      ),
    });
    expect(comparison).toMatchObject({
      ...{ outcome: "pass", confirmation: null },
      groups: [{ verdict: "faster" }, { verdict: "faster" }],
    });
    const documents = await documentsIn(baseline);
    expect(documents).toHaveLength(3);
    expect(new Set(documents.map(({ run }) => run.id)).size).toBe(3);
  });

  it("uses the baseline's settings, and --budget and --max-pinned override them", async () => {
    const limited = ({ plan, ...document }: ResultDocument) => {
      const settings = { ...plan!.settings!, maxPinnedBytes: 3 * 1024 ** 2 };
      return { ...document, plan: { ...plan!, settings } };
    };
    const settingsWith = async (...flags: string[]) => {
      const baseline = await baselineAt(certainly.faster, limited);
      const [original] = await documentsIn(baseline);
      await checkJson(baseline, ["--update", "--runs", "1", ...flags]);
      const measured = settingsOfResult((await documentsIn(baseline))[0]!);
      // A check lists its cells where the baseline had axes.
      const cells = original!.cells.map(({ id }) => id);
      return { measured, settings: { ...settingsOfResult(original!)!, cells } };
    };
    const plain = await settingsWith();
    expect(plain.measured).toEqual(plain.settings);
    // A budget replaces the baseline's number of samples.
    const { measured } = await settingsWith("--budget", "100ms");
    expect(measured).toMatchObject({ samplesPerCell: null, budgetNs: 100e6 });
    const args = ["check", "--baseline", await baselineAt(certainly.faster), "--max-pinned", "4KiB"];
    expectSentence(await callCli(args), 2, /it would pin 2 MiB .* above the limit of 4 KiB \(--max-pinned\)/);
  });

  it("takes its strictness and its baseline from the configuration", async () => {
    const cwd = folderOf({ [configFile]: { baseline: "main", runs: 1, strict: true } });
    const baseline = await baselineAt(certainly.faster, withSkipped);
    const { exitCode, stderr } = await runCli(["check", "--baseline", baseline, "--quiet"], { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 6, stderr: "" });
    const missing = await callCli(["check"], { cwd });
    expectSentence(
      missing,
      5,
      /there is no baseline \S+\/main\. Make one with `pinbench baseline \S+main`\./,
    );
  });
});

describe("a check with --update whose measurement fails", () => {
  it.each([
    [
      4,
      "failed",
      "a device that cannot be opened",
      emulatedFaults("cuDevicePrimaryCtxRetain:2:nth=1"),
      "its run failed: ",
    ],
    [4, "failed", "a cell that fails", emulatedFaults("cuMemcpyDtoHAsync_v2:999:nth=1"), "it failed: "],
    [7, "mismatch", "data that comes back wrong", copyFaults("drop", "h2d"), "the data came back wrong"],
  ])("exits with %i (%s) and keeps the old baseline after %s", async (code, outcome, _, env, reason) => {
    const baseline = await baselineAt(certainly.faster);
    const before = filesIn(baseline);
    const { exitCode, stderr, comparison } = await checkJson(baseline, ["--update", "--runs", "2"], env);
    expect(exitCode).toBe(code);
    const obstacle = code === 7 ? "data came back wrong" : "a measurement failed";
    expect(stderr).toBe(`pinbench: ${baseline} was not updated: ${obstacle}.\n`);
    expect(comparison.outcome).toBe(outcome);
    expect(comparison.notes.join("\n")).toContain(reason);
    expect(filesIn(baseline)).toEqual(before);
  });
});

const onOtherGpu = (document: ResultDocument): ResultDocument => ({
  ...document,
  fingerprint: { ...document.fingerprint, gpu: "NVIDIA L4", kernel: "2.4.0" },
});

/** Keeps only the first cell of a document, changed by `part`. */
const withCells =
  (part: Partial<CellResult>) =>
  (document: ResultDocument): ResultDocument => ({
    ...document,
    cells: document.cells.slice(0, 1).map((cell) => ({ ...cell, ...part })),
  });

describe("a check of a GPU that CUDA numbers differently than in the baseline", () => {
  it("measures the GPU under its present number, and reports the baseline's number", async () => {
    const baseline = await baselineAt(certainly.slower, asOfSecondDevice);
    const history = temporaryFolder();
    const two = { PINBENCH_EMULATED_DEVICES: "2" };
    const { exitCode, comparison } = await checkJson(baseline, ["--history", history], two);
    expect(exitCode).toBe(1);
    expect(comparison.confirmation?.suspects).toEqual(ids);
    expect(comparison.cells.map(({ id }) => id)).toEqual(ids);
    expect(comparison.confirmation?.runs).toBeGreaterThanOrEqual(3);
    const entry = JSON.parse(readFileSync(historyPath(history), "utf8")) as HistoryEntry;
    expect(entry.series.map(({ id }) => id)).toEqual(ids.map((id) => id.replace("d0", "d1")));
  });
});

describe("a check on another machine than the baseline's", () => {
  it("ends after one run with exit code 5, and keeps the baseline", async () => {
    const baseline = await baselineAt(certainly.slower, onOtherGpu);
    const before = filesIn(baseline);
    const { exitCode, stderr, comparison } = await checkJson(baseline, ["--update"]);
    expect(exitCode).toBe(5);
    expect(stderr).toBe(
      `pinbench: ${baseline} was not updated: this is another machine, and --allow-mismatch was not given.\n`,
    );
    expect(comparison).toMatchObject({
      outcome: "not comparable",
      candidate: { runs: 1 },
      groups: [],
      differences: [
        { fact: "GPU", baseline: "NVIDIA L4", blocks: true },
        { fact: "kernel", baseline: "2.4.0", blocks: false },
      ],
    });
    expect(filesIn(baseline)).toEqual(before);
  });

  it("compares all runs with --allow-mismatch, even if a line of the history is damaged", async () => {
    const baseline = await baselineAt(certainly.slower, onOtherGpu);
    const [config, history] = [join(temporaryFolder(), "config.json"), temporaryFolder()];
    writeFileSync(config, JSON.stringify({ runs: 1 }));
    writeFileSync(historyPath(history), "nonsense\n");
    const more = ["--config", config, "--history", history];
    const { exitCode, stderr, comparison } = await checkJson(baseline, ["--allow-mismatch", ...more]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`line 1 of ${historyPath(history)} is left out: it is not JSON`);
    expect(comparison).toMatchObject({
      outcome: "regression",
      differences: [{ fact: "GPU", blocks: false, isOverruled: true }, { fact: "kernel" }],
      candidate: { runs: 3 },
      groups: [{ verdict: "slower" }, { verdict: "slower" }],
    });
  });
});

it.each<[string, number, RegExp, (document: ResultDocument) => ResultDocument]>([
  [
    "no figure",
    5,
    /: main has no cell with a figure to check against\. Make a baseline with `pinbench baseline`\./,
    withCells({ outcome: "skipped", skipReason: "no room", samples: [], stats: [] }),
  ],
  [
    "a cell of an unknown kind",
    2,
    /: main has the cell "d0\/up\/pinned", which/,
    withCells({ id: "d0/up/pinned" }),
  ],
  [
    "cells of a GPU on a machine without one",
    3,
    /\/none\.so.* main was measured on a GPU: check it on a machine that has one\./,
    (document) => ({ ...document, backend: "cuda" }),
  ],
])("a check names and refuses a baseline with %s", async (_, code, sentence, change) => {
  const cwd = temporaryFolder();
  cpSync(await baselineAt(certainly.faster, change), join(cwd, "main"), { recursive: true });
  const env = { PINBENCH_CUDA_LIBRARY: "/none.so" };
  expectSentence(await callCli(["check", "--baseline", "main"], { cwd, env }), code, sentence);
});

describe("an interrupted check", () => {
  it.each([
    ["SIGINT", 130, 0],
    ["SIGTERM", 143, 1],
    ["SIGHUP", 129, 2],
  ] as const)(
    "by %s exits with %i after %i finished runs, keeps the baseline and writes no file",
    async (signal, code, whole) => {
      const baseline = await baselineAt(certainly.slower);
      const before = filesIn(baseline);
      const [document] = await documentsIn(baseline);
      playRuns(async function* () {
        for (let run = 0; run < whole; ++run) {
          yield {
            kind: "result",
            run,
            document: { ...document!, run: { ...document!.run, id: `new-${run}` } },
          };
        }
        signalCall(signal);
      });
      const cwd = temporaryFolder();
      const files = ["--history", "history", "--output", "a.json"];
      const finished = await callCli(["check", "--baseline", baseline, "--update", ...files], {
        cwd,
      });
      expect(finished).toMatchObject({
        ...{ exitCode: code, stdout: "" },
        stderr: "pinbench: interrupted: nothing was compared, and the baseline is unchanged.\n",
      });
      expect(filesIn(baseline)).toEqual(before);
      expect(readdirSync(cwd)).toEqual(["history"]);
    },
  );
});
