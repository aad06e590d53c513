import { describe, expect, it } from "vitest";
import { compareResults } from "../../src/compare/compare-results.js";
import type { CellComparison } from "../../src/compare/comparison.js";
import { findNewLoads, notesOn } from "../../src/compare/comparison-notes.js";
import type { RunFigures } from "../../src/compare/result-set.js";
import type { SharingRecord } from "../../src/host/other-programs.js";
import { frozen } from "../helpers/frozen.js";
import { buildEntry } from "../helpers/history.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, resultSet } from "../helpers/runs.js";

const pressure = { cpuPressureShare: 0, memoryPressureShare: 0, ioPressureShare: 0 };
const idle = { otherCpuShare: 0.1, stealShare: 0, ...pressure };
const loaded = (...loads: (Partial<typeof idle> | null)[]) =>
  frozen(loads.map((load) => ({ load: load && { ...idle, ...load } }) as unknown as RunFigures));

describe("a load is new", () => {
  const baseline = loaded({}, { otherCpuShare: 0.2 }, { stealShare: 0.01 });

  it("that is over 5 % more than in any run of the baseline", () => {
    expect(findNewLoads(baseline, loaded({ otherCpuShare: 0.25, stealShare: 0.06 }))).toEqual([]);
    expect(
      findNewLoads(
        baseline,
        loaded({ ioPressureShare: 0.3, stealShare: 0.07 }, { otherCpuShare: 0.26, memoryPressureShare: 0.2 }),
      ),
    ).toEqual([
      { name: "CPU time of other programs", usual: 0.2, now: 0.26 },
      { name: "CPU time that the hypervisor gave to others", usual: 0.01, now: 0.07 },
      { name: "waiting for memory", usual: 0, now: 0.2 },
      { name: "waiting for disks", usual: 0, now: 0.3 },
    ]);
  });

  it("unless that of a run is not recorded", () => {
    expect(findNewLoads(loaded({}, null), loaded({ otherCpuShare: 0.9 }))).toEqual([]);
    expect(findNewLoads(loaded({}), loaded({ otherCpuShare: 0.9 }, null))).toEqual([]);
  });

  it("and explains slower host memory, of which an unknown offset of the hour is else allowed for", () => {
    const cells = [1, 2].map((workers) => ({ GBps: 10, memory: "host" as const, workers }));
    const runsOf = (otherCpuShare: number, part: object = {}) =>
      buildRuns({ cells, document: { run: { load: { ...idle, otherCpuShare } } }, ...part });
    const verdictsAt = (share: number) =>
      compareRuns(runsOf(0.1), runsOf(share, { speed: 0.9, seed: 2 })).cells.map(({ verdict }) => verdict);
    expect(verdictsAt(0.9)).toEqual(["slower", "slower"]);
    expect(verdictsAt(0.1)).toEqual(["inconclusive", "inconclusive"]);
  });
});

const [oneRun] = resultSet(buildRuns({ count: 1 })).runs as [RunFigures];

/** The notes of a check of an idle machine that found a cell of this memory slower, in which parts differ. */
function notesOf(
  part: Partial<Parameters<typeof notesOn>[0]>,
  memory: "pinned" | "pageable" | "host" = "pinned",
  verdict: CellComparison["verdict"] = "slower",
) {
  const { path, runs } = resultSet(buildRuns());
  const set = { path, runs: runs.map((run) => ({ ...run, load: idle })) };
  const cells = [{ id: "d0", memory, verdict } as unknown as CellComparison];
  const usual = { baseline: set, candidate: set, fresh: [], command: "check", suspects: [] } as const;
  return notesOn(frozen({ ...usual, ...part }), { failures: [], gpusLeftOut: 0 }, cells);
}

describe("a note", () => {
  it("tells new loads of a regression, of the runs that confirm too", () => {
    const fresh = [{ ...oneRun, load: { ...idle, otherCpuShare: 0.9 } }];
    expect(notesOf({ fresh })).toEqual([
      "CPU time of other programs reached 90 % during a run, at most 10 % in the baseline's",
    ]);
    expect(notesOf({ fresh }, "pinned", "not slower")).toEqual([]);
  });

  it("says that compare measures nothing again, if something is slower", () => {
    const said = "nothing was measured again: `pinbench check` confirms what is slower with fresh processes";
    expect(notesOf({ command: "compare" })).toEqual([said]);
    expect(notesOf({ command: "compare" }, "pinned", "faster")).toEqual([]);
  });

  const entries = [0, 1, 2].map((day) => buildEntry(day));
  const later = { ...oneRun, load: idle, startedAt: "2026-11-21T10:00:00.000Z" };
  const twice = { baseline: { path: null, runs: [{ ...oneRun, load: idle }, later] } };

  it.each<[object, "pinned" | "pageable" | "host", CellComparison["verdict"], string | null]>([
    [{}, "pageable", "slower", "once"],
    [{}, "host", "slower", "once"],
    [{}, "pageable", "probably slower", "once"],
    [{}, "pageable", "inconclusive", null],
    [{}, "pinned", "slower", null],
    [twice, "pageable", "slower", "twice"],
    [{ history: entries.slice(1) }, "pageable", "slower", "once"],
    [{ history: entries }, "pageable", "slower", null],
  ])(
    "says that a baseline of one hour does not show how hours differ: %#",
    (part, memory, verdict, count) => {
      const said = count === null ? [] : [expect.stringContaining(`the baseline was measured ${count},`)];
      expect(notesOf(part, memory, verdict)).toEqual(said);
    },
  );

  it("names what a side was imported from, and each kind whose spread is the recorded one", () => {
    const importedFrom = { tool: "nvbandwidth", version: "0.8", file: "a.json" };
    const cells = [{ GBps: 50 }, { GBps: 50, workers: 2 }, { GBps: 9, memory: "pageable" }] as const;
    const before = buildRuns({ cells, count: 1 });
    const after = buildRuns({ cells, count: 1, seed: 2, document: { importedFrom } });
    expect(compareRuns(before, after).notes).toEqual([
      "a side was imported from nvbandwidth: machine facts that it does not record are not compared",
      expect.stringMatching(
        /^a side has only .* between runs of pinned, pageable is taken from runs recorded/,
      ),
    ]);
  });
});

describe("who used a device beside runs", () => {
  const other: SharingRecord["others"][number] = {
    ...{ kind: "program", pid: 4711, name: "python3", since: null, deviceMemoryBytes: 1024 ** 3 },
    wasThereBefore: true,
  };
  const alone: SharingRecord = { device: 0, others: [], activityBefore: null, unseen: [] };
  const shared = { ...alone, others: [other] };
  const busy = { ...alone, activityBefore: { computeShare: 0.5, toDeviceGBps: null, fromDeviceGBps: null } };
  // Whether one was there first differs between runs, and is left out.
  const later = { ...alone, others: [{ ...other, wasThereBefore: false }] };
  const second = { ...alone, device: 1, others: [{ ...other, pid: 4712 }] };
  const who = (pid: number) => `python3 (pid ${pid}, 1 GiB of the device's memory) used it as well`;
  const of = (count: number, side: string, device = 0, pid = 4711) =>
    `in ${count} of the ${side}'s 5 runs device ${device} was not measured alone: ${who(pid)}`;

  /** Five runs, of which those with these records were not alone. */
  const runsWith = (...records: SharingRecord[][]) =>
    buildRuns().map((document, run) => ({
      ...document,
      run: { ...document.run, sharing: records[run] ?? [alone] },
    }));

  it.each<[string, SharingRecord[][], SharingRecord[][], string[]]>([
    ["of either side", [[shared]], [[shared], [alone], [shared]], [of(1, "baseline"), of(2, "candidate")]],
    [
      "with the number of runs of each note",
      [],
      [[busy, second], [shared], [later]],
      [
        of(2, "candidate"),
        "in 1 of the candidate's 5 runs device 0 was busy before it was measured: kernels ran for 50 % of the time",
        of(1, "candidate", 1, 4712),
      ],
    ],
    ["not if that is not known", [], [[{ ...alone, unseen: ["programs"] }]], []],
  ])("is named, %s", (_, before, after, notes) => {
    const comparison = compareRuns(runsWith(...before), runsWith(...after));
    expect([comparison.outcome, comparison.notes]).toEqual(["pass", notes]);
    expect(compareRuns(buildRuns(), runsWith()).notes).toEqual([]);
  });

  it("counts the runs that confirm among the candidate's, and one run as one", () => {
    const run = { ...oneRun, load: idle, sharing: [shared] };
    expect(notesOf({ fresh: [run] })).toEqual([expect.stringMatching(/^in 1 of the candidate's 6 runs /)]);
    const candidate = { path: null, runs: [run] };
    expect(notesOf({ candidate })).toEqual([
      expect.stringMatching(/^in 1 of the candidate's 1 run device 0 /),
    ]);
  });
});

describe("a check in which most cells of a kind look slower together", () => {
  const ofKind = (memory: CellPart["memory"], count: number, part: CellPart = {}) =>
    Array.from(
      { length: count },
      (_, i): CellPart => ({ GBps: 9 + i, memory: memory!, workers: i + 1, ...part }),
    );
  /** The notes of a check of these cells, of which those have been suspects for which the predicate holds. */
  function notesWith(
    cells: CellPart[],
    isSuspect: (cell: { memory: string; workers: number; workerKind?: string }) => boolean,
  ) {
    const [before, after] = [1, 2].map((seed) => buildRuns({ cells, seed }));
    const suspects = before![0]!.cells.filter(isSuspect).map(({ id }) => id);
    return compareResults({ ...comparisonRequest(before!, after!, { command: "check" }), suspects }).notes;
  }

  it.each([
    ["staged", 4, 3, /^3 of 4 staged cells looked slower .* host's memory .*--confirm-after/],
    ["pinned", 4, 4, /^4 of 4 pinned cells looked slower .* over the link .*--confirm-after/],
    ["staged", 6, 3, /^3 of 6 staged cells/],
    ["staged", 7, 3, null],
    ["staged", 4, 2, null],
    ["staged", 4, 0, null],
  ] as const)("may have a common cause: of %s, %i and %i of these", (memory, count, suspects, note) => {
    const other = memory === "staged" ? "pinned" : "staged";
    const cells = [...ofKind(other, 4), ...ofKind(memory, count)];
    expect(notesWith(cells, (cell) => cell.memory === memory && cell.workers <= suspects)).toEqual(
      note === null ? [] : [expect.stringMatching(note)],
    );
  });

  it("says so of each kind, variants apart, those by the link and those by the host's memory in one note each", () => {
    const some = (["pageable", "staged", "registered", "pinned"] as const).flatMap((memory) =>
      ofKind(memory, 3),
    );
    const cells = [...some, ...ofKind("pageable", 4, { workerKind: "process" })];
    expect(notesWith(cells, ({ workerKind }) => workerKind === "thread")).toEqual([
      expect.stringMatching(/^3 of 3 registered and 3 of 3 pinned cells looked slower .* over the link/),
      expect.stringMatching(/^3 of 3 pageable and 3 of 3 staged cells looked slower .* host's memory/),
    ]);
  });
});
