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
const noisy = { document: { backend: "emulated" }, deviation: 0.08, cells } as const;
const undecided = [1, 0.95].map((speed, seed) => buildRuns({ ...noisy, speed, seed })) as [
  typeof other,
  typeof other,
];
const strict = { rule: { strict: true } };
const mayDiffer = { rule: { allowMismatch: true } };
const checked = (fresh: ResultDocument[]) => ({ command: "check", fresh }) as const;

type Compared = Parameters<typeof compareRuns>;

describe("the outcome of a comparison", () => {
  it.each<[string, Compared, string, object]>([
    ["nothing changed", [baseline, candidate], "pass", { counts: { "not slower": 2 } }],
    ["a link at half its width", [baseline, atHalfWidth(candidate)], "regression", lost(5, 5)],
    ["the same, allowed to differ", [baseline, atHalfWidth(candidate), mayDiffer], "regression", {}],
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
      { cells: [{ verdict: "missing", reason: "the data came back wrong" }, {}] },
    ],
    [
      "a run that failed before it had measured anything",
      [baseline, [last({ status: "failed", error })]],
      "failed",
      { counts: { missing: 2 }, cells: [{ reason: "its run failed: the device was lost" }, {}] },
    ],
    ["the same beside others", [baseline, [...candidate, last({ status: "failed", error })]], "failed", {}],
    ["an interrupted run", [baseline, [...candidate, last({ status: "aborted" })]], "pass", {}],
    [
      "a failed cell that the baseline lacks",
      [baseline, withCell(candidate, failedOther)],
      "failed",
      { counts: { "not slower": 2, new: 0, missing: 0 }, notes: [`${failedOther.id}: it failed: lost`] },
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
      { cells: [{ verdict: "missing", reason: "it was skipped: no kernels" }, {}] },
    ],
    ["another machine", [baseline, other], "not comparable", { counts: { "not comparable": 2 }, groups: [] }],
    [
      "wrong data after a failure of the same cell",
      [baseline, [last({}, [failed, d2h]), last({ id: "again" }, [wrong, d2h])]],
      "mismatch",
      { notes: [`${wrong.id}: the data came back wrong`] },
    ],
    ["wrong data of another machine", [baseline, withCell(other, wrongOther)], "mismatch", {}],
    ["wrong data and no cell in common", [baseline, [last({}, [wrongOther])]], "mismatch", {}],
    ["another machine, allowed", [baseline, other, mayDiffer], "regression", { counts: { slower: 2 } }],
    ["an emulated one, allowed", [baseline, emulated, mayDiffer], "not comparable", {}],
    ["undecided cells", undecided, "pass", {}],
    ["the same, strictly", [...undecided, strict], "inconclusive", {}],
    ["a missing cell", [baseline, onlyFirst()], "pass", { counts: { missing: 1 } }],
    ["a missing cell, strictly", [baseline, onlyFirst(), strict], "inconclusive", {}],
    ["both and a slower cell, strictly", [baseline, onlyFirst({ speed: 0.8 }), strict], "regression", {}],
    [
      "a failed and a slower cell",
      [baseline, withCell(onlyFirst({ speed: 0.8 }), buildFailed({ direction: "d2h" }, "CUDA", "lost"))],
      "failed",
      {},
    ],
  ])("of %s", (_, compared, outcome, more) => {
    expect(compareRuns(...compared)).toMatchObject({ outcome, ...more });
  });

  const variants: CellPart[] = [
    { memory: "pinned", together: [0, 1], GBps: 50 },
    { memory: "pinned", beside: "memory", GBps: 50 },
    { memory: "pinned", chunks: 4, GBps: 40 },
    { memory: "device", direction: "p2p", peer: 1, path: "read", GBps: 390 },
    { memory: "pinned", blockBytes: 4096, blockWay: "kernel", GBps: 31 },
  ];

  it.each<[CellPart, boolean]>([
    [{ memory: "pinned", GBps: 50 }, true],
    [{ memory: "registered", GBps: 50 }, true],
    [{ memory: "mapped", GBps: 50 }, true],
    [{ memory: "pageable", GBps: 20 }, false],
    [{ memory: "staged", GBps: 20 }, false],
    [{ memory: "write-combined", GBps: 20 }, false],
    ...variants.map((part): [CellPart, boolean] => [part, false]),
  ])(
    "of single slow runs of %j is a regression, of those that have some by nature only strictly",
    (cell, isSteady) => {
      const [before, after] = [
        [1, 1, 1, 1, 1],
        [0.6, 0.6, 1, 1, 1],
      ].map((speed, seed) => buildRuns({ cells: [cell], speed, seed }));
      const outcome = isSteady ? "regression" : "pass";
      expect(compareRuns(before!, after!)).toMatchObject({ outcome, counts: { unsteady: 1 } });
      expect(compareRuns(before!, after!, strict).outcome).toBe("regression");
      const slower = buildRuns({ cells: [cell], speed: 0.6, seed: 2 });
      expect(compareRuns(before!, slower)).toMatchObject({ outcome: "regression", counts: { slower: 1 } });
    },
  );
});

describe("sides with no cell in common", () => {
  it("are an error, which names one of each", () => {
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
    ["one that has not ended", [baseline, none("running")], /: after\/0\.json has not ended: none of /],
  ])("are an error with the reason: %s", (_, compared, message) => {
    expect(() => compareRuns(...compared)).toThrow(message);
  });
});

describe("runs that did not end", () => {
  it("have their finished cells compared, and the others say why they are missing", () => {
    const [begun] = buildRuns({ cells: [cells[0]], seed: 2, document: { run: { status: "aborted" } } });
    const half = { ...begun!, cells: [...begun!.cells, unfinished[1]!] };
    const comparison = compareRuns(baseline, [half]);
    expect(comparison.unfinished).toEqual([
      "after/0.json was interrupted: 1 of its 2 cells was finished, and only those are compared",
    ]);
    expect(comparison.cells).toMatchObject([
      { verdict: "not slower" },
      { verdict: "missing", reason: "its run was interrupted before it was finished" },
    ]);
  });

  it("are named, whichever side they are of, and if they are ones that confirm", () => {
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

  it("has the threshold of the rule, or the usual one", () => {
    const ruleOf = (part: object) =>
      compareRuns(baseline, candidate, { rule: { thresholds: { ...defaultThresholds, ...part } } }).rule;
    expect(ruleOf({ default: 0.2, floorGBps: 1, floorUs: 2 })).toMatchObject({
      ...{ threshold: 0.2, floorGBps: 1, floorUs: 2 },
    });
    expect(ruleOf({}).threshold).toBe(0.05);
  });

  it("has the most runs that the confirmation could take, those that it took unless that is said", () => {
    const suspects = baseline[0]!.cells.map(({ id }) => id);
    expect(compareResults(request).confirmation).toEqual({ runs: 5, atMost: 5, suspects });
    expect(compareResults({ ...request, mostFresh: 24 }).confirmation).toMatchObject({ runs: 5, atMost: 24 });
    expect(compareRuns(baseline, candidate).confirmation).toBeNull();
  });

  it("has each side's runs, occasions and first run", () => {
    const later = buildRuns({ cells, count: 2 }).map((document, i) => ({
      ...document,
      run: { ...document.run, id: `later-${i}`, startedAt: `2026-11-21T1${i}:00:00.000Z` },
    }));
    expect(compareRuns([...baseline, ...later], candidate)).toMatchObject({
      baseline: { path: "before", runs: 7, occasions: 3, startedAt: "2026-11-20T10:10:00.000Z" },
      candidate: { path: "after", runs: 5, occasions: 1, startedAt: "2026-11-20T10:10:00.000Z" },
    });
  });

  it("has failed with failures that no run records", () => {
    const { outcome, notes } = compareResults({ ...request, failures: ["a process died"] });
    expect({ outcome, notes }).toEqual({ outcome: "failed", notes: ["a process died"] });
  });

  it("has the variants of its cells", () => {
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
  it("are those of the first runs, whatever the fresh ones show", () => {
    const runsOf = (part: object) => buildRuns({ cells, deviation: 0.01, ...part });
    const [before, slow] = [runsOf({ count: 10 }), runsOf({ speed: 0.95, seed: 2 })];
    const request = comparisonRequest(before, slow, { command: "check" });
    const { runs: fresh } = comparisonRequest(before, runsOf({ count: 30, seed: 4 })).candidate;
    expect(findSuspects(request)).toMatchObject({ ids: { length: 2 }, runs: 1 });
    expect(findSuspects({ ...request, fresh })).toEqual(findSuspects(request));
  });

  it("alone are waited for, and not others of their kind", () => {
    const isBack = ({ direction }: { direction: string }) => direction === "d2h";
    const once = candidate.map((run, i) => (i === 0 ? documentAtSpeed(run, 0.6, isBack) : run));
    const request = comparisonRequest(baseline, once, checked(candidate));
    const awaits = baseline[0]!.cells.map(({ id }) => awaitsMoreRuns({ ...request, suspects: [id] }));
    expect([...awaits, awaitsMoreRuns({ ...request, suspects: [] })]).toEqual([false, true, false]);
  });

  it("are all cells of a kind that looks slower, also those that do not by themselves", () => {
    const many = Array.from({ length: 16 }, (_, i) => ({ GBps: 50, workers: i + 1 }));
    const runsOf = (part: object) => buildRuns({ cells: many, deviation: 0.03, ...part });
    const before = runsOf({});
    const suspectsAt = (speed: number) =>
      findSuspects(comparisonRequest(before, runsOf({ speed, seed: 2 }), { command: "check" }));
    expect(suspectsAt(1)).toEqual({ ids: [], ownIds: [], runs: 0 });
    const { ids, runs } = suspectsAt(0.96);
    expect(ids.toSorted()).toEqual(before[0]!.cells.map(({ id }) => id).toSorted());
    expect(runs).toBe(1);
  });

  it("are measured once at least, if their kind alone looks slower", () => {
    const four = [1, 2, 3, 4].map((workers) => ({ GBps: 50, workers }));
    // Of each two cells one is faster in a run in which the other is slower: together they do not vary.
    const at = (speed: number) =>
      buildRuns({ cells: four, count: 6, deviation: 0, speed }).map((document, run) =>
        document.cells.reduce((one, { id }, i) => {
          const factor = Math.exp((run + i) % 2 === 0 ? 0.05 : -0.05);
          return documentAtSpeed(one, factor, (cell) => cell.id === id);
        }, document),
      );
    const request = comparisonRequest(at(1), at(0.98), { command: "check" });
    expect(findSuspects(request)).toMatchObject({ ids: { length: 4 }, runs: 1 });
  });
});
