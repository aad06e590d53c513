import { describe, expect, it } from "vitest";
import { awaitsMoreRuns, compareResults, findSuspects } from "../../src/compare/compare-results.js";
import { PinbenchError } from "../../src/errors.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
} from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, documentAtSpeed } from "../helpers/runs.js";

const cells = [{ GBps: 50 }, { GBps: 50, direction: "d2h" }] as const;
const baseline = buildRuns({ cells });
const candidate = buildRuns({ cells, seed: 2 });
const error = { code: "CUDA", message: "the device was lost", call: null, location: null, sticky: true };
/** The candidate, with another document as its last run. */
const withLast = (document: Parameters<typeof buildDocument>[0]) => [
  ...candidate.slice(1),
  buildDocument({ run: { startedAt: "2026-11-20T10:30:00.000Z", ...document?.run }, ...document }),
];

describe("a link that runs at half its width on the same GPU", () => {
  const half = candidate.map((run) => {
    const link = { ...buildDevice().link!, width: 8 };
    return { ...run, devices: [buildDevice({ link })], cells: run.cells.map((cell) => ({ ...cell, link })) };
  });

  it.each([false, true])(
    "is a regression with figures as they were; --allow-mismatch: %s",
    (allowMismatch) => {
      const comparison = compareRuns(baseline, half, { rule: { allowMismatch } });
      expect(comparison).toMatchObject({
        outcome: "regression",
        counts: { "not slower": 2 },
        linkLosses: [
          {
            ...{ device: 0, baseline: { generation: 5, width: 16 }, candidate: { generation: 5, width: 8 } },
            ...{ runs: 5, of: 5 },
          },
        ],
      });
      expect(compareRuns(half, baseline).outcome).toBe("pass");
    },
  );
});

describe("a measurement that failed", () => {
  it.each([
    ["a failed cell", buildFailed({}, "CUDA", "out of memory"), "it failed: out of memory"],
    ["data that came back wrong", buildMismatch({ GBps: 50 }), "the data came back wrong"],
  ])("%s fails the whole, even in one run of several", (_, cell, reason) => {
    const broken = withLast({ cells: [cell, buildCell(cells[1])] });
    const comparison = compareRuns(baseline, broken);
    expect(comparison.outcome).toBe("failed");
    expect(comparison.notes).toContain(`${cell.id}: ${reason}`);
    expect(compareRuns(baseline, broken.slice(-1)).cells[0]).toMatchObject({ verdict: "missing", reason });
  });

  it("is also a run that failed before it had measured anything", () => {
    const unfinished = cells.map((cell) =>
      buildCell({ direction: "h2d", ...cell, result: { outcome: null, samples: [], stats: [] } }),
    );
    const broken = withLast({ run: { status: "failed", error }, cells: unfinished });
    expect(compareRuns(baseline, broken.slice(-1))).toMatchObject({
      outcome: "failed",
      counts: { missing: 2 },
      cells: [{ reason: "its run failed: the device was lost" }, {}],
    });
    expect(compareRuns(baseline, broken).outcome).toBe("failed");
    const aborted = withLast({ run: { status: "aborted" }, cells: unfinished });
    expect(compareRuns(baseline, aborted)).toMatchObject({ outcome: "pass", counts: { "not slower": 2 } });
  });

  it.each([
    ["lacks the cell", []],
    ["has it as failed", [buildFailed({ workers: 2 }, "CUDA", "lost")]],
  ])("is also one if the baseline %s", (_, ofBaseline) => {
    const failed = buildFailed({ workers: 2 }, "CUDA", "lost");
    for (const [cell, reason] of [
      [failed, "it failed: lost"],
      [buildMismatch({ workers: 2, GBps: 50 }), "the data came back wrong"],
    ] as const) {
      const before = baseline.map((run) => ({ ...run, cells: [...run.cells, ...ofBaseline] }));
      const after = candidate.map((run) => ({ ...run, cells: [...run.cells, cell] }));
      const comparison = compareRuns(before, after);
      expect(comparison).toMatchObject({
        outcome: "failed",
        counts: { "not slower": 2, new: 0, missing: 0 },
      });
      expect(comparison.notes).toEqual([`${cell.id}: ${reason}`]);
    }
  });

  it("is none in the baseline, nor what was skipped", () => {
    const failed = buildDocument({ cells: [buildFailed({}, "CUDA", "out of memory"), buildCell(cells[1])] });
    expect(compareRuns([...baseline, failed], candidate)).toMatchObject({
      outcome: "pass",
      counts: { "not slower": 2 },
    });
    const skipped = withLast({ cells: [buildSkipped({}, "no kernels"), buildCell(cells[1])] }).slice(-1);
    expect(compareRuns(baseline, skipped)).toMatchObject({
      outcome: "pass",
      cells: [{ verdict: "missing", reason: "it was skipped: no kernels" }, {}],
    });
  });
});

describe("another machine", () => {
  const other = buildRuns({ cells, speed: 0.5, document: { devices: [buildDevice({ name: "NVIDIA L4" })] } });

  it("is not comparable, whatever the figures", () => {
    expect(compareRuns(baseline, other)).toMatchObject({
      outcome: "not comparable",
      cells: [
        { verdict: "not comparable", reason: "the two sides differ in what their figures depend on" },
        { verdict: "not comparable" },
      ],
    });
  });

  it("is compared if --allow-mismatch is given", () => {
    const rule = { allowMismatch: true };
    expect(compareRuns(baseline, other, { rule })).toMatchObject({
      outcome: "regression",
      rule,
      counts: { slower: 2 },
    });
  });

  it("is never one that is emulated", () => {
    const emulated = buildRuns({ cells, document: { backend: "emulated" } });
    const rule = { allowMismatch: true };
    expect(compareRuns(baseline, emulated, { rule }).outcome).toBe("not comparable");
  });

  it("and no cell in common is an error, which names one of each side", () => {
    const strangers = buildRuns({ cells: [{ GBps: 50, workers: 3 }] });
    expect(() => compareRuns(baseline, strangers)).toThrow(PinbenchError);
    expect(() => compareRuns(baseline, strangers)).toThrow(
      /^before and after have no measured cell in common \(d0\/h2d\/pinned\/16777216\/w1\S+ against d0\/h2d\/pinned\/16777216\/w3\S+, for example\)\.$/,
    );
  });
});

describe("undecided cells", () => {
  const noisy = { document: { backend: "emulated" }, deviation: 0.08, cells } as const;

  it.each([
    ["inconclusive", buildRuns(noisy), buildRuns({ ...noisy, speed: 0.95, seed: 2 })],
    ["missing", baseline, buildRuns({ cells: cells.slice(0, 1), seed: 2 })],
  ])("passes if a cell has the verdict %s, but not when strict", (verdict, before, after) => {
    const comparison = compareRuns(before, after);
    expect(comparison.cells.map((cell) => cell.verdict)).toContain(verdict);
    expect(comparison.outcome).toBe("pass");
    expect(compareRuns(before, after, { rule: { strict: true } }).outcome).toBe("inconclusive");
  });

  it("is less than a regression, which is less than a failure", () => {
    const rule = { strict: true };
    const half = buildRuns({ cells: cells.slice(0, 1), speed: 0.8, seed: 2 });
    expect(compareRuns(baseline, half, { rule }).outcome).toBe("regression");
    const failing = half.map((run) => ({
      ...run,
      cells: [...run.cells, buildFailed({ direction: "d2h" }, "CUDA", "lost")],
    }));
    expect(compareRuns(baseline, failing, { rule }).outcome).toBe("failed");
  });
});

it("names unfinished runs and runs of another tool", () => {
  const run = { status: "running" } as const;
  const importedFrom = { tool: "nvbandwidth", version: "0.8", file: "a.json" };
  const { notes, unfinished } = compareRuns(
    baseline,
    buildRuns({ cells, seed: 2, document: { run, importedFrom } }).slice(0, 1),
  );
  expect(unfinished).toEqual([
    "after/0.json has not ended: 2 of its 2 cells were finished, and only those are compared",
  ]);
  expect(notes[0]).toBe(
    "a side was imported from nvbandwidth: machine facts that it does not record are not compared",
  );
});

describe("a side that is not what it should be", () => {
  it("is named, whichever it is, and if it is a run that confirms", () => {
    const failedRun = { status: "failed" } as const;
    const [failedOne] = buildRuns({ cells, seed: 3, count: 1, document: { run: failedRun } });
    const words = (name: string) =>
      `${name} failed: 2 of its 2 cells were finished, and only those are compared`;
    const { unfinished } = compareRuns([...baseline, failedOne!], candidate, {
      ...{ command: "check", fresh: [failedOne!] },
    });
    expect(unfinished).toEqual([words("before/5.json"), words("a run")]);
  });

  it("with one or two runs has the recorded spread, of each kind of memory that is named once", () => {
    const some = [{ GBps: 50 }, { GBps: 50, workers: 2 }, { GBps: 9, memory: "pageable" }] as const;
    const [before, after] = [1, 2].map((seed) => buildRuns({ cells: some, seed, count: 1 }));
    expect(compareRuns(before!, after!).notes).toEqual([
      expect.stringMatching(
        /^a side has only .* between runs of pinned, pageable is taken from runs recorded/,
      ),
    ]);
  });

  it("has lost lanes if those did that confirm", () => {
    const link = { ...buildDevice().link!, width: 8 };
    const fresh = candidate.slice(0, 1).map((run) => ({
      ...{ ...run, devices: [buildDevice({ link })] },
      cells: run.cells.map((cell) => ({ ...cell, link })),
    }));
    const comparison = compareRuns(baseline, candidate, { command: "check", fresh });
    expect(comparison).toMatchObject({ outcome: "regression", linkLosses: [{ runs: 1, of: 6 }] });
  });
});

describe("a comparison's document", () => {
  const request = comparisonRequest(baseline, candidate, { command: "check", fresh: candidate });

  it("has the threshold of the rule, or the usual one", () => {
    const thresholdOf = (part: object) =>
      compareRuns(baseline, candidate, { rule: { thresholds: { ...defaultThresholds, ...part } } }).rule;
    expect(thresholdOf({ default: 0.2, floorGBps: 1, floorUs: 2 })).toMatchObject({
      ...{ threshold: 0.2, floorGBps: 1, floorUs: 2 },
    });
    expect(thresholdOf({}).threshold).toBe(0.05);
  });

  it("has the most runs that the confirmation could take, those that it took unless that is said", () => {
    expect(compareResults(request).confirmation).toMatchObject({ runs: 5, atMost: 5 });
    expect(compareResults({ ...request, mostFresh: 24 }).confirmation).toMatchObject({ runs: 5, atMost: 24 });
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
});

it("suspects are those of the first runs, whatever the fresh ones show", () => {
  const runsOf = (part: object) => buildRuns({ cells, deviation: 0.01, ...part });
  const [before, slow] = [runsOf({ count: 10 }), runsOf({ speed: 0.95, seed: 2 })];
  const request = comparisonRequest(before, slow, { command: "check" });
  const { runs: fresh } = comparisonRequest(before, runsOf({ count: 30, seed: 4 })).candidate;
  expect(findSuspects(request)).toMatchObject({ ids: { length: 2 }, runs: 1 });
  expect(findSuspects({ ...request, fresh })).toEqual(findSuspects(request));
});

it("a check waits for more runs of its suspects alone, and not of others of their kind", () => {
  const isBack = ({ direction }: { direction: string }) => direction === "d2h";
  const once = candidate.map((run, i) => (i === 0 ? documentAtSpeed(run, 0.6, isBack) : run));
  const request = comparisonRequest(baseline, once, { command: "check", fresh: candidate });
  const awaits = baseline[0]!.cells.map(({ id }) => awaitsMoreRuns({ ...request, suspects: [id] }));
  expect(awaits).toEqual([false, true]);
});

describe("an interrupted run", () => {
  const run = { status: "aborted" } as const;
  const unfinished = { outcome: null };
  const [interrupted] = buildRuns({ cells: [cells[0]!], seed: 2, document: { run } });
  const open = buildRuns({ cells: [cells[1]!], seed: 3, document: { run } })[0]!.cells;
  const half = {
    ...interrupted!,
    cells: [...interrupted!.cells, ...open.map((cell) => ({ ...cell, ...unfinished }))],
  };

  it("compares its finished cells, and the others say why they are missing", () => {
    const comparison = compareRuns(baseline, [half]);
    expect(comparison.unfinished).toEqual([
      "after/0.json was interrupted: 1 of its 2 cells was finished, and only those are compared",
    ]);
    expect(comparison.cells.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ["not slower", expect.anything()],
      ["missing", expect.stringContaining("its run was interrupted before it was finished")],
    ]);
  });

  it.each(["baseline", "candidate"])("is an error as the %s if no cell of it was finished", (side) => {
    const none = { ...half, cells: half.cells.map((cell) => ({ ...cell, ...unfinished })) };
    const compare = () =>
      side === "baseline" ? compareRuns([none], baseline) : compareRuns(baseline, [none]);
    expect(compare).toThrow(
      /^before and after have no finished cell in common: (before|after)\/0\.json was interrupted: none of its 2 cells was finished\.$/,
    );
  });

  it("is one as well that has not ended", () => {
    const cells = half.cells.map((cell) => ({ ...cell, ...unfinished }));
    const running = { ...half, run: { ...half.run, status: "running" as const }, cells };
    expect(() => compareRuns(baseline, [running])).toThrow(
      /: after\/0\.json has not ended: none of its 2 cells/,
    );
  });
});

describe("a check in which most cells of a kind look slower together", () => {
  const staged = [1, 2, 3, 4].map((workers) => ({ GBps: 10 * workers, memory: "staged" as const, workers }));
  const pinned = [1, 2, 3, 4].map((workers) => ({ GBps: 55, workers }));
  const [before, after] = [1, 2].map((seed) => buildRuns({ cells: [...pinned, ...staged], seed }));
  const request = comparisonRequest(before!, after!, { command: "check" });
  const notesWith = (suspects: number, of = "staged") => {
    const ids = before![0]!.cells.filter(({ memory }) => memory === of).map(({ id }) => id);
    return compareResults({ ...request, suspects: ids.slice(0, suspects) }).notes;
  };

  it("says that they may have a temporary common cause", () => {
    expect(notesWith(3)).toEqual([
      expect.stringMatching(
        /^3 of 4 staged cells looked slower at the same time: .* host's memory .*--confirm-after 5min/,
      ),
    ]);
    expect(notesWith(4, "pinned")).toEqual([
      expect.stringMatching(
        /^4 of 4 pinned cells looked slower at the same time: .* over the link .*--confirm-after 5min/,
      ),
    ]);
  });

  it("says so of each kind, variants apart, those by the link and those by the host's memory in one note each", () => {
    const some = (["pageable", "staged", "registered", "pinned"] as const).flatMap((memory) =>
      [1, 2, 3].map((workers) => ({ GBps: 9, memory, workers })),
    );
    const processes = [1, 2, 3, 4].map((workers) => ({
      ...some[0]!,
      workers,
      workerKind: "process" as const,
    }));
    const [left, right] = [1, 2].map((seed) => buildRuns({ cells: [...some, ...processes], seed }));
    const suspects = left![0]!.cells.filter(({ workerKind }) => workerKind === "thread").map(({ id }) => id);
    expect(
      compareResults({ ...comparisonRequest(left!, right!, { command: "check" }), suspects }).notes,
    ).toEqual([
      expect.stringMatching(/^3 of 3 registered and 3 of 3 pinned cells looked slower .* over the link/),
      expect.stringMatching(/^3 of 3 pageable and 3 of 3 staged cells looked slower .* host's memory/),
    ]);
  });

  it("says nothing if only a few do, or less than half", () => {
    expect(notesWith(2)).toEqual([]);
    expect(notesWith(0)).toEqual([]);
    const ofMany = (count: number) => {
      const many = Array.from({ length: count }, (_, i) => ({
        GBps: 10,
        memory: "staged" as const,
        workers: i + 1,
      }));
      const [left, right] = [1, 2].map((seed) => buildRuns({ cells: many, seed }));
      const suspects = left![0]!.cells.slice(0, 3).map(({ id }) => id);
      return compareResults({ ...comparisonRequest(left!, right!, { command: "check" }), suspects }).notes;
    };
    expect(ofMany(6)).toEqual([expect.stringMatching(/^3 of 6 staged cells looked slower/)]);
    expect(ofMany(7)).toEqual([]);
  });
});

it("all cells of a kind that looks slower are measured again, also those that do not by themselves", () => {
  const many = Array.from({ length: 16 }, (_, i) => ({ GBps: 50, workers: i + 1 }));
  const runsOf = (part: { speed?: number; seed?: number }) =>
    buildRuns({ cells: many, deviation: 0.03, ...part });
  const before = runsOf({});
  const suspectsAt = (speed: number) =>
    findSuspects(comparisonRequest(before, runsOf({ speed, seed: 2 }), { command: "check" }));
  expect(suspectsAt(1)).toEqual({ ids: [], runs: 0 });
  const { ids, runs } = suspectsAt(0.96);
  expect(ids.toSorted()).toEqual(before[0]!.cells.map(({ id }) => id).toSorted());
  expect(runs).toBe(1);
});

it("one run at least measures a kind again of which no cell looks slower by itself", () => {
  const four = [1, 2, 3, 4].map((workers) => ({ GBps: 50, workers }));
  // Of each two cells one is faster in a run in which the other is slower: together they do not vary.
  const at = (speed: number) =>
    buildRuns({ cells: four, count: 6, deviation: 0, speed }).map((document, run) =>
      document.cells.reduce((one, { id }, i) => {
        const factor = Math.exp((run + i) % 2 === 0 ? 0.05 : -0.05);
        return documentAtSpeed(one, factor, (cell) => cell.id === id);
      }, document),
    );
  expect(findSuspects(comparisonRequest(at(1), at(0.98), { command: "check" }))).toMatchObject({
    ...{ ids: { length: 4 }, runs: 1 },
  });
});
