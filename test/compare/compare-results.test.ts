import { describe, expect, it } from "vitest";
import { awaitsMoreRuns, compareResults, findSuspects } from "../../src/compare/compare-results.js";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { PinbenchError } from "../../src/errors.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type CellPart,
} from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, documentAtSpeed } from "../helpers/runs.js";

const cells = [{ GBps: 50 }, { GBps: 50, direction: "d2h" }] as const;
const baseline = buildRuns({ cells });
const candidate = buildRuns({ cells, seed: 2 });
const error = { code: "CUDA", message: "the device was lost", call: null, location: null, sticky: true };
const unfinished = cells.map((cell) =>
  buildCell({ direction: "h2d", ...cell, result: { outcome: null, samples: [], stats: [] } }),
);
/** A last run of these cells. */
const last = (run: Partial<ResultDocument["run"]>, ofRun = unfinished) =>
  buildDocument({ run: { startedAt: "2026-11-20T10:30:00.000Z", ...run }, cells: ofRun });
const withCell = (runs: ResultDocument[], cell: ResultDocument["cells"][number]) =>
  runs.map((run) => ({ ...run, cells: [...run.cells, cell] }));
const link = { ...buildDevice().link!, width: 8 };
const atHalfWidth = (runs: ResultDocument[]) =>
  runs.map((run) => ({
    ...run,
    devices: [buildDevice({ link })],
    cells: run.cells.map((cell) => ({ ...cell, link })),
  }));
const d2h = buildCell(cells[1]);
const failed = buildFailed({}, "CUDA", "out of memory");
const wrong = buildMismatch({ GBps: 50 });
const wrongOther = buildMismatch({ GBps: 50, workers: 2 });
const failedOther = buildFailed({ workers: 2 }, "CUDA", "lost");
const lost = (runs: number, of: number) => ({ linkLosses: [{ runs, of }] });
const onlyFirst = (part: object = {}) => buildRuns({ cells: cells.slice(0, 1), seed: 2, ...part });
const other = buildRuns({ cells, speed: 0.5, document: { devices: [buildDevice({ name: "NVIDIA L4" })] } });
const emulated = buildRuns({ cells, document: { backend: "emulated" } });
const quiet = buildRuns({ cells: [{ GBps: 10, memory: "pageable" }], count: 10 });
/** With the assumed noise between sessions, a loss of 20 % is three to four standard errors. */
const tooNoisy = (speed: number) => buildRuns({ cells: [{ GBps: 10, memory: "pageable" }], seed: 2, speed });
const skipped = buildSkipped({}, "no kernels");
const skippedBack = buildSkipped({ direction: "d2h" }, "no kernels");
const strict = { rule: { strict: true } };
const mayDiffer = { rule: { allowMismatch: true } };
const checked = (fresh: ResultDocument[]) => ({ command: "check", fresh }) as const;

type Compared = Parameters<typeof compareRuns>;

describe("the outcome of a comparison", () => {
  it.each<[string, Compared, string, object]>([
    [
      "nothing changed",
      [baseline, candidate],
      "pass",
      { groups: [{ verdict: "not slower" }, { verdict: "not slower" }] },
    ],
    ["a link at half its width", [baseline, atHalfWidth(candidate)], "regression", lost(5, 5)],
    ["half the width and --allow-mismatch", [baseline, atHalfWidth(candidate), mayDiffer], "regression", {}],
    ["a link that regained its width", [atHalfWidth(candidate), baseline], "pass", {}],
    [
      "a link at half its width in the runs that confirm",
      [baseline, candidate, checked(atHalfWidth(candidate.slice(1, 2)))],
      "regression",
      lost(1, 6),
    ],
    [
      "a failed cell in one run of several",
      [baseline, [...candidate, last({}, [failed, d2h])]],
      "failed",
      { notes: [`${failed.id}: it failed: out of memory`] },
    ],
    [
      "wrong data in the only run",
      [baseline, [last({}, [wrong, d2h])]],
      "mismatch",
      {
        groups: [
          { verdict: "missing", reason: "The candidate has no figures of it: the data came back wrong." },
          {},
        ],
      },
    ],
    [
      "a run that failed before it had measured anything",
      [baseline, [last({ status: "failed", error })]],
      "failed",
      {
        groups: [
          {
            verdict: "missing",
            reason: "The candidate has no figures of it: its run failed: the device was lost.",
          },
          {},
        ],
      },
    ],
    ["a failed run of several", [baseline, [...candidate, last({ status: "failed", error })]], "failed", {}],
    ["an interrupted run", [baseline, [...candidate, last({ status: "aborted" })]], "pass", {}],
    [
      "a failed cell that the baseline lacks",
      [baseline, withCell(candidate, failedOther)],
      "failed",
      { notes: [`${failedOther.id}: it failed: lost`] },
    ],
    [
      "a failed cell that failed before",
      [withCell(baseline, failedOther), withCell(candidate, failedOther)],
      "failed",
      { notes: [`${failedOther.id}: it failed: lost`] },
    ],
    ["a failed cell of the baseline", [[...baseline, last({}, [failed, d2h])], candidate], "pass", {}],
    [
      "a skipped cell",
      [baseline, [last({}, [buildSkipped({}, "no kernels"), d2h])]],
      "pass",
      {
        groups: [
          { verdict: "missing", reason: "The candidate has no figures of it: it was skipped: no kernels." },
          {},
        ],
      },
    ],
    ["another machine", [baseline, other], "not comparable", { cells: [], groups: [] }],
    [
      "wrong data after a failure of the same cell",
      [baseline, [last({}, [failed, d2h]), last({ id: "again" }, [wrong, d2h])]],
      "mismatch",
      { notes: [`${wrong.id}: the data came back wrong`] },
    ],
    ["wrong data of another machine", [baseline, withCell(other, wrongOther)], "mismatch", {}],
    ["wrong data and no cell in common", [baseline, [last({}, [wrongOther])]], "mismatch", {}],
    [
      "another machine and --allow-mismatch",
      [baseline, other, mayDiffer],
      "regression",
      { groups: [{ verdict: "slower" }, { verdict: "slower" }] },
    ],
    ["an emulated device and --allow-mismatch", [baseline, emulated, mayDiffer], "not comparable", {}],
    ["a loss within the noise", [quiet, tooNoisy(0.8)], "undecided", { groups: [{ verdict: "undecided" }] }],
    ["nothing that both sides measured", [baseline, [last({}, [skipped, skippedBack])]], "undecided", {}],
    ["a missing group", [baseline, onlyFirst()], "pass", { groups: [{}, { verdict: "missing" }] }],
    ["a missing group and --strict", [baseline, onlyFirst(), strict], "undecided", {}],
    [
      "a missing and a slower group and --strict",
      [baseline, onlyFirst({ speed: 0.8 }), strict],
      "regression",
      {},
    ],
    [
      "a failed and a slower cell",
      [baseline, withCell(onlyFirst({ speed: 0.8 }), buildFailed({ direction: "d2h" }, "CUDA", "lost"))],
      "failed",
      {},
    ],
  ])("with %s is $2", (_, compared, outcome, more) => {
    expect(compareRuns(...compared)).toMatchObject({ outcome, ...more });
  });
});

describe("two sides with no cell in common", () => {
  it("are an error that names one cell of each side", () => {
    const strangers = buildRuns({ cells: [{ GBps: 50, workers: 3 }] });
    expect(() => compareRuns(baseline, strangers)).toThrow(PinbenchError);
    expect(() => compareRuns(baseline, strangers)).toThrow(
      /^before and after have no measured cell in common \(d0\/h2d\/pinned\/16777216\/w1\S+ against d0\/h2d\/pinned\/16777216\/w3\S+, for example\)\.$/,
    );
  });

  const none = (status: "aborted" | "running") => [last({ status })];

  it.each<[string, Compared, RegExp]>([
    ["an interrupted baseline", [none("aborted"), baseline], /: before\/0\.json was interrupted: none of /],
    ["an interrupted candidate", [baseline, none("aborted")], /: after\/0\.json was interrupted: none of /],
    ["an unfinished candidate", [baseline, none("running")], /: after\/0\.json has not ended: none of /],
  ])("are an error with the reason: %s", (_, compared, message) => {
    expect(() => compareRuns(...compared)).toThrow(message);
  });
});

describe("runs that did not end", () => {
  it("have their finished cells compared, and a reason for the others", () => {
    const [begun] = buildRuns({ cells: [cells[0]], seed: 2, document: { run: { status: "aborted" } } });
    const half = { ...begun!, cells: [...begun!.cells, unfinished[1]!] };
    const comparison = compareRuns(baseline, [half]);
    expect(comparison.unfinished).toEqual([
      "after/0.json was interrupted: 1 of its 2 cells was finished, and only those are compared",
    ]);
    expect(comparison.cells).toMatchObject([{ verdict: "not slower" }, { verdict: "missing" }]);
  });

  it("are named on both sides, confirming runs included", () => {
    const [one] = buildRuns({ cells, seed: 3, count: 1, document: { run: { status: "failed" } } });
    const { unfinished } = compareRuns([...baseline, one!], candidate, checked([one!]));
    expect(unfinished).toEqual([
      "before/5.json failed: 2 of its 2 cells were finished, and only those are compared",
      "a run failed: 2 of its 2 cells were finished, and only those are compared",
    ]);
  });
});

describe("a comparison's document", () => {
  const request = comparisonRequest(baseline, candidate, checked(candidate));

  it("has each group's threshold: the requested or the default one, larger for a single run", () => {
    const thresholdsOf = (part: object, runs = candidate) =>
      compareRuns(baseline, runs, {
        rule: { thresholds: { ...defaultThresholds, ...part } },
      }).groups.map(({ threshold }) => Number(threshold.toFixed(6)));
    expect(thresholdsOf({ default: 0.2 })).toEqual([0.2, 0.2]);
    expect(thresholdsOf({ memory: { pinned: 0.1 } })).toEqual([0.1, 0.1]);
    expect(thresholdsOf({})).toEqual([0.03, 0.03]);
    expect(thresholdsOf({}, candidate.slice(0, 1))).toEqual([0.05, 0.05]);
  });

  it("has the number of fresh runs and the suspect cells that they measured", () => {
    const suspects = baseline[0]!.cells.map(({ id }) => id);
    expect(compareResults(request).confirmation).toEqual({ runs: 5, suspects });
    expect(compareRuns(baseline, candidate).confirmation).toBeNull();
  });

  it("has each side's runs, sessions and first run", () => {
    const later = buildRuns({ cells, count: 2 }).map((document, i) => ({
      ...document,
      run: { ...document.run, id: `later-${i}`, startedAt: `2026-11-21T1${i}:00:00.000Z` },
    }));
    expect(compareRuns([...baseline, ...later], candidate)).toMatchObject({
      baseline: { path: "before", runs: 7, sessions: 3, startedAt: "2026-11-20T10:10:00.000Z" },
      candidate: { path: "after", runs: 5, sessions: 1, startedAt: "2026-11-20T10:10:00.000Z" },
    });
  });

  it("has the outcome failed if a measuring process died without a run", () => {
    const { outcome, notes } = compareResults({ ...request, failures: ["a process died"] });
    expect({ outcome, notes }).toEqual({ outcome: "failed", notes: ["a process died"] });
  });

  it("has what sets each cell apart: processes, devices at once, peers and blocks", () => {
    const some: CellPart[] = [
      { memory: "pageable", workerKind: "process", GBps: 20 },
      { memory: "pinned", together: [0, 1], GBps: 50 },
      { memory: "device", direction: "p2p", peer: 1, path: "read", GBps: 390 },
      { memory: "pinned", blockBytes: 4096, blockWay: "kernel", GBps: 31 },
    ];
    const comparison = compareRuns(buildRuns({ cells: some }), buildRuns({ cells: some, seed: 2 }));
    expect(comparison.cells).toMatchObject(some.map(({ GBps: _, ...variant }) => variant));
    expect(comparisonSchema.parse(comparison)).toEqual(comparison);
  });
});

describe("the suspects of a check", () => {
  const isBack = ({ direction }: { direction: string }) => direction === "d2h";
  const slow = candidate.map((run) => documentAtSpeed(run, 0.95, isBack));
  const request = comparisonRequest(baseline, slow, { command: "check" });

  it("are the cells of groups that look slower in the first runs, whatever fresh ones show", () => {
    const suspects = findSuspects(request);
    expect(suspects.ids).toEqual([expect.stringContaining("d0/d2h/pinned/")]);
    expect(findSuspects({ ...request, fresh: request.candidate.runs })).toEqual(suspects);
    expect(findSuspects(comparisonRequest(baseline, candidate)).ids).toEqual([]);
  });

  it("are measured again until a slow run recurs", () => {
    const once = candidate.map((run, i) => (i === 0 ? documentAtSpeed(run, 0.6, isBack) : run));
    const awaits = (first: ResultDocument[], fresh: ResultDocument[]) =>
      awaitsMoreRuns(comparisonRequest(baseline, first, checked(fresh)));
    expect(awaits(once, candidate)).toBe(true);
    expect(awaits(slow, slow)).toBe(false);
    const many = buildRuns({ cells, count: 40 });
    const twice = candidate.map((run, i) => (i < 2 ? documentAtSpeed(run, 0.6, isBack) : run));
    expect(awaitsMoreRuns(comparisonRequest(many, once, checked(twice)))).toBe(false);
  });
});
