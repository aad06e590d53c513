import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { diagnoseMachine } from "../../src/doctor/diagnose-machine.js";
import { diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { explanationSchema } from "../../src/explain/explanation.js";
import {
  compare,
  devices,
  doctor,
  explain,
  fleet,
  history,
  PinbenchError,
  type TuneOptions,
  tune,
} from "../../src/index.js";
import { tuningSchema } from "../../src/results/tuning.js";
import { buildEntry, buildFigure, buildTrend, historyFolder, pinnedId } from "../helpers/history.js";
import { callCli } from "../helpers/in-process.js";
import { writeNodes } from "../helpers/recorded-nodes.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns, type RunsPart } from "../helpers/runs.js";

vi.mock("../../src/doctor/diagnose-machine.js", { spy: true });
afterEach(() => {
  vi.resetAllMocks();
});

const emulated = { backend: "emulated" } as const;
const aborted = { signal: AbortSignal.abort() };
const before = buildRuns({ seed: 1 });
const laterRuns = (part: RunsPart) =>
  buildRuns({ seed: 2, ...part }).map((document) => ({
    ...{ ...document, run: { ...document.run, id: `later-${document.run.id}` } },
  }));
const after = laterRuns({ speed: 0.8 });
const sides = { baseline: before, candidate: after };
const small: TuneOptions = {
  ...{
    backend: "emulated",
    sample: "4KiB,100us",
    batchSize: 4,
    maxWorkers: 1,
    budget: "3s",
  },
};
const trendFolder = () =>
  historyFolder(
    buildTrend({ checks: 40, steps: { 20: -0.05 } }).map((factor, day) =>
      buildEntry(day, { series: [buildFigure({ figure: 50 * factor })] }),
    ),
  );
/** Ten nodes, of which n03 copies 40 % slower from pinned memory to the device. */
function tenNodes(): string {
  const folder = join(temporaryFolder(), "results");
  writeNodes(folder, 10, (host, { direction, memory }) =>
    host === "n03" && direction === "h2d" && memory === "pinned" ? 0.6 : 1,
  );
  return folder;
}

// Calls without types, as from JavaScript.
const untyped = <Result>(call: (options: never) => Result, options?: unknown) => call(options as never);

describe("a function of the library refuses a wrong call, and says what is wrong:", () => {
  const hint = (own: string) => ({ hint: `The options are backend, device, ${own}.` });
  const questions = { questions: ["several-gpus"] };
  const notNames = { ...emulated, questions: ["several-gpus", 7] };

  it.each<[string, () => Promise<unknown>, object | RegExp]>([
    ["compare(): no options", () => untyped(compare), /^The option baseline is missing\. Give compare/],
    ["compare(): null as options", () => untyped(compare, null), {}],
    [
      "compare(): a misspelt option, of which it names the right one",
      () => untyped(compare, { ...sides, treshold: { default: "9%" } }),
      {
        hint: "Did you mean thresholds?",
        message: "There is no option treshold. Did you mean thresholds?",
        stack: expect.stringContaining("Did you mean thresholds?"),
      },
    ],
    ["compare(): empty baseline", () => compare({ ...sides, baseline: [] }), /^The baseline has no runs\.$/],
    ["compare(): no candidate", () => compare({ ...sides, candidate: [] }), /^The candidate has no runs\.$/],
    [
      "compare(): an object that is no result",
      () => compare({ ...sides, candidate: [{} as never] }),
      /^a document of the /i,
    ],
    [
      "compare(): the same run twice",
      () => compare({ ...sides, baseline: [structuredClone(before[0]!), ...before] }),
      /^The baseline has the same run/,
    ],
    [
      "compare(): an invalid threshold",
      () => compare({ ...sides, thresholds: { default: "fast" } }),
      /^Among the options, thresholds.default is wrong: "fast" is not a threshold/,
    ],
    ["devices(): an unknown option", () => untyped(devices, { backnd: "emulated" }), {}],
    ["doctor(): an unknown option", () => untyped(doctor, { fast: true }), hint("preset, reference")],
    ["doctor(): a missing device", () => doctor({ ...emulated, device: [7] }), { kind: "unavailable" }],
    ["doctor(): missing reference", () => doctor({ ...emulated, reference: "/none.json" }), /\/none\.json/],
    ["explain(): an unknown option", () => untyped(explain, { ...questions, fast: true }), hint("python")],
    ["explain(): an unknown question", () => untyped(explain, { ...emulated, questions: ["why"] }), {}],
    ["explain(): a number as question", () => untyped(explain, notNames), /must be "all" or a list of names/],
    ["explain(): no questions", () => untyped(explain, {}), /must be "all" or a list of names/],
    ["fleet(): an empty list of results", () => fleet({ results: [] }), {}],
    [
      "fleet(): a number as path",
      () => untyped(fleet, { results: ["x", 7] }),
      /must be a path, or a list of them/,
    ],
    ["fleet(): an empty folder", () => fleet({ results: temporaryFolder() }), /no result of a node/],
    ["fleet(): an invalid threshold", () => fleet({ results: "x", threshold: "much" }), {}],
    ["history(): bad option", () => untyped(history, { folder: "x", cell: "x" }), /^There is no option cell/],
    ["history(): a number", () => untyped(history, { folder: 7 }), /^The option folder must be text\.$/],
    ["history(): a missing folder", () => history({ folder: "none" }), {}],
    ["history(): pattern without a match", () => history({ folder: trendFolder(), cells: "*/staged/*" }), {}],
    ["tune(): no data to tune for", () => tune({}), /^There is no data to tune for/],
    ["tune(): a batch size of 0", () => tune({ ...small, batchSize: 0 }), /^"0" is not a batch size/],
    ["tune(): a word as budget", () => tune({ ...small, budget: "soon" }), /^"soon" is not a duration/],
    ["tune(): unknown option", () => untyped(tune, { ...small, workers: 4 }), /^There is no option workers/],
    [
      "tune(): a command with a batch size",
      () => tune({ command: ["true"], batchSize: 4 }),
      /^--batch-size has no effect /,
    ],
    ["tune(): missing command", () => tune({ command: ["no-such-command"] }), /^There is no command no-such/],
    ["tune(): an empty command", () => tune({ command: [] }), /^The option command must be a list/],
    [
      "tune(): a number in the command",
      () => untyped(tune, { command: [7] }),
      /^The option command must be a list/,
    ],
    [
      "tune(): a command with the unknown option go",
      () => untyped(tune, { command: ["true"], go: true }),
      /^There is no option go/,
    ],
    ["tune(): torch and a sample", () => tune({ ...small, torch: "a.py:b" }), /^--sample has no effect /],
  ])("%s", async (_, call, expected) => {
    const error = await call().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PinbenchError);
    const message = expected instanceof RegExp ? { message: expect.stringMatching(expected) } : expected;
    expect(error).toMatchObject({ name: "PinbenchError", kind: "usage", ...message });
    expect(diagnoseMachine).not.toHaveBeenCalled();
  });
});

describe("compare() of the library", () => {
  it("compares documents and files alike, and returns a valid comparison", async () => {
    const comparison = await compare(sides);
    expect(comparisonSchema.parse(comparison)).toEqual(comparison);
    expect(comparison.outcome).toBe("regression");
    expect(comparison.rule).toEqual({ strict: false, allowMismatch: false });
    const folder = join(temporaryFolder(), "before");
    mkdirSync(folder);
    for (const [i, document] of before.entries())
      writeFileSync(join(folder, `${i}.json`), JSON.stringify(document));
    expect((await compare({ ...sides, baseline: folder })).cells).toEqual(comparison.cells);
    expect((await compare({ ...sides, baseline: before[0]! })).baseline.runs).toBe(1);
  });

  it("applies the requested thresholds and rule, and marks a cell without a baseline as new", async () => {
    const rule = { strict: true, allowMismatch: true } as const;
    const candidate = laterRuns({ speed: 0.8, cells: [{ GBps: 50 }, { GBps: 50, memory: "pageable" }] });
    const thresholds = { memory: { pinned: "50%" }, ...({ default: undefined } as object) };
    const comparison = await compare({
      baseline: before,
      candidate,
      thresholds,
      ...rule,
    });
    expect(comparison.rule).toEqual(rule);
    expect(comparison.cells.map(({ verdict }) => verdict)).toEqual(["not slower", "new"]);
  });
});

describe("devices() of the library", () => {
  it("returns the document that `pinbench devices --json` prints", async () => {
    const { stdout } = await callCli(["devices", "--backend", "emulated", "--json"]);
    const document = await devices({ backend: "emulated" });
    const { backend, driver, devices: listed } = JSON.parse(stdout);
    expect(document).toMatchObject({ backend, driver, notice: expect.any(String) });
    expect(document.devices.map(({ name, uuid }) => [name, uuid])).toEqual(
      (listed as typeof document.devices).map(({ name, uuid }) => [name, uuid]),
    );
  });

  it("uses the emulated device only on request, and so does tune()", async () => {
    const { backend: _, ...unsaid } = small;
    const found = [
      await devices().then(
        ({ backend }) => backend,
        ({ kind }) => kind,
      ),
      await tune(unsaid).then(
        ({ probe }) => (probe.device?.includes("emulated") ? "emulated" : "cuda"),
        ({ kind }) => kind,
      ),
    ];
    for (const one of found) expect(["cuda", "unavailable"]).toContain(one);
  });
});

describe("doctor() of the library", () => {
  /** The examination that doctor() requests, which is not made. */
  async function asked(options: Parameters<typeof doctor>[0]) {
    vi.mocked(diagnoseMachine).mockResolvedValueOnce({} as never);
    await doctor({ ...emulated, ...options });
    return vi.mocked(diagnoseMachine).mock.lastCall![0];
  }

  it("returns a valid diagnosis, and rejects if it is aborted", async () => {
    const diagnosis = await doctor({ ...emulated, preset: "quick" });
    expect(diagnosisSchema.parse(diagnosis)).toEqual(diagnosis);
    // There is no reference for an emulated device without a link.
    const { kind, backend } = { kind: "diagnosis", backend: "emulated" };
    expect(diagnosis).toMatchObject({ kind, backend, verdict: "inconclusive", labels: {}, devices: [{}] });
    await expect(doctor({ ...emulated, ...aborted })).rejects.toThrow();
  });

  it("passes on the preset quick and the site's own reference", async () => {
    expect(await asked({ preset: "quick" })).toMatchObject({ isQuick: true, reference: null });
    expect(await asked({})).toMatchObject({ isQuick: false, reference: null });
    const path = join(temporaryFolder(), "site.json");
    const shares = { h2d: 0.8, d2h: 0.7 };
    const listed = [{ gpu: "our GPU", alone: shares, tolerance: 0.05, sources: ["day one"], together: null }];
    writeFileSync(path, JSON.stringify({ listed }));
    expect(await asked({ reference: path })).toMatchObject({ isQuick: false, reference: { listed } });
  });
});

it("explain() of the library returns a valid document, which has no answers if it is aborted", async () => {
  const options = { ...emulated, questions: ["several-gpus"] } as const;
  const document = await explain({ ...options, questions: ["several-gpus"] });
  expect(explanationSchema.parse(document)).toEqual(document);
  expect(document).toMatchObject({ kind: "explanation", answers: [{ question: "several-gpus" }] });
  expect((await explain({ ...emulated, questions: ["several-gpus"], ...aborted })).answers).toEqual([]);
});

it("fleet() of the library finds the slow node of a folder or of several files, by a threshold", async () => {
  const folder = tenNodes();
  expect(await fleet({ results: folder })).toMatchObject({
    ...{ kind: "fleet", nodes: { length: 10 }, outliers: [{ host: "n03" }] },
    rule: { pinned: 0.04, copiesByCpu: 0.1 },
  });
  const results = ["n01", "n02", "n03", "n04"].map((name) => join(folder, `${name}.json`));
  const { nodes, rule, outliers } = await fleet({ results, threshold: "50%" });
  expect([nodes.length, outliers.map(({ host, against }) => [host, against])]).toEqual([
    4,
    [["n03", "reference"]],
  ]);
  expect(rule).toEqual({ pinned: 0.5, copiesByCpu: 0.5 });
});

it("history() of the library returns the trends of groups, or of the requested cells", async () => {
  const path = trendFolder();
  expect(await history({ folder: path })).toMatchObject({
    ...{ kind: "history", path, trends: [{ name: "h2d pinned", steps: [{ after: 20 }] }] },
  });
  for (const cells of ["*/pinned/*", [pinnedId]])
    expect(await history({ folder: path, cells })).toMatchObject({ trends: [{ name: pinnedId }] });
});

describe("tune() of the library", () => {
  /** Children of this process that run the program. */
  function childrenRunning(program: string): string[] {
    const text = (pid: string, file: string) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, "utf8");
      } catch {
        return "";
      }
    };
    return readdirSync("/proc")
      .filter((pid) => text(pid, "cmdline").includes(program))
      .filter((pid) => text(pid, "status").includes(`\nPPid:\t${process.pid}\n`));
  }

  it("returns a valid tuning, and rejects if it is aborted before it has any result", async () => {
    const tuning = await tune(small);
    expect(tuningSchema.parse(JSON.parse(JSON.stringify(tuning)))).toEqual(tuning);
    expect(tuning).toMatchObject({ run: { argv: [] }, method: { maxWorkers: 1 } });
    // A slow machine may not finish the search within its budget.
    expect(["complete", "budget"]).toContain(tuning.run.status);
    expect(tuning.recommendation?.score.batchesPerSecond).toBeGreaterThan(0);
    await expect(tune({ ...small, ...aborted })).rejects.toThrow(PinbenchError);
  });

  it("tunes a command as it runs, and ends the command", async () => {
    const job = fileURLToPath(new URL("../fixtures/tune/live/fake_job.mjs", import.meta.url));
    const command = [process.execPath, job, JSON.stringify({ stepMs: [8, 2] })];
    const tuning = await tune({ command, maxWorkers: 1, budget: "20s" });
    expect(tuningSchema.parse(JSON.parse(JSON.stringify(tuning)))).toEqual(tuning);
    expect(tuning).toMatchObject({ probe: { kind: "live" }, recommendation: { setting: { numWorkers: 1 } } });
    expect(childrenRunning(job)).toEqual([]);
  });
});
