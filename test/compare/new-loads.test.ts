import { expect, it } from "vitest";
import type { CellComparison } from "../../src/compare/comparison.js";
import { findNewLoads, notesOn } from "../../src/compare/comparison-notes.js";
import type { RunFigures } from "../../src/compare/result-set.js";
import type { SharingRecord } from "../../src/results/other-programs.js";
import { buildEntry } from "../helpers/history.js";
import { buildRuns, compareRuns, resultSet } from "../helpers/runs.js";

const pressure = { cpuPressureShare: 0, memoryPressureShare: 0, ioPressureShare: 0 };
const idle = { otherCpuShare: 0.1, stealShare: 0, ...pressure };
const runs = (...loads: (Partial<typeof idle> | null)[]) =>
  loads.map((load) => ({ load: load && { ...idle, ...load } }) as unknown as RunFigures);

it("a load is new that is over 5 % more than in any run of the baseline", () => {
  const baseline = runs({}, { otherCpuShare: 0.2 }, { stealShare: 0.01 });
  expect(findNewLoads(baseline, runs({ otherCpuShare: 0.25, stealShare: 0.06 }))).toEqual([]);
  expect(
    findNewLoads(
      baseline,
      runs({ ioPressureShare: 0.3, stealShare: 0.07 }, { otherCpuShare: 0.26, memoryPressureShare: 0.2 }),
    ),
  ).toEqual([
    { name: "CPU time of other programs", usual: 0.2, now: 0.26 },
    { name: "CPU time that the hypervisor gave to others", usual: 0.01, now: 0.07 },
    { name: "waiting for memory", usual: 0, now: 0.2 },
    { name: "waiting for disks", usual: 0, now: 0.3 },
  ]);
});

it("nothing is new if the load of a run is not recorded", () => {
  expect(findNewLoads(runs({}, null), runs({ otherCpuShare: 0.9 }))).toEqual([]);
  expect(findNewLoads(runs({}), runs({ otherCpuShare: 0.9 }, null))).toEqual([]);
});

/** The notes of a check of an idle machine that found a cell of this memory slower, in which parts differ. */
function notesOf(
  part: Partial<Parameters<typeof notesOn>[0]>,
  memory: "pinned" | "pageable" | "host" = "pinned",
  verdict: CellComparison["verdict"] = "slower",
) {
  const { path, runs: measured } = resultSet(buildRuns());
  const set = { path, runs: measured.map((run) => ({ ...run, load: idle })) };
  const cells = [{ id: "d0", memory, verdict } as unknown as CellComparison];
  const usual = { baseline: set, candidate: set, fresh: [], command: "check", suspects: [] } as const;
  return notesOn({ ...usual, ...part }, [], cells);
}

const [oneRun] = resultSet(buildRuns({ count: 1 })).runs as [RunFigures];

it("a note tells loads and other users of the runs that confirm too", () => {
  expect(notesOf({ fresh: [{ ...oneRun, load: { ...idle, otherCpuShare: 0.9 } }] })).toEqual([
    "CPU time of other programs reached 90 % during a run, at most 10 % in the baseline's",
  ]);
  const other = { kind: "program", pid: 1, name: "python3", since: null, deviceMemoryBytes: null } as const;
  const sharing: SharingRecord[] = [
    {
      ...{ device: 0, activityBefore: null, unseen: [] },
      others: [
        { ...other, wasThereBefore: true },
        { ...other, pid: 2, wasThereBefore: false },
      ],
    },
  ];
  // Whether one was there first differs between runs, and is left out.
  expect(notesOf({ fresh: [{ ...oneRun, load: idle, sharing }] })).toEqual([
    "in 1 of the candidate's 6 runs device 0 was not measured alone: python3 (pid 1), python3 (pid 2) used it as well",
  ]);
  const candidate = { path: null, runs: [{ ...oneRun, load: idle, sharing }] };
  expect(notesOf({ candidate })).toEqual([expect.stringMatching(/^in 1 of the candidate's 1 run device 0 /)]);
});

it("a note says that a baseline of one hour does not show how hours differ, unless a history does", () => {
  const entries = [0, 1, 2].map((day) => buildEntry(day));
  expect(notesOf({}, "pageable")).toEqual([expect.stringContaining("the baseline was measured once")]);
  expect(notesOf({ history: entries.slice(1) }, "pageable")).toHaveLength(1);
  expect(notesOf({ history: entries }, "pageable")).toEqual([]);
  expect(notesOf({})).toEqual([]);
  const once = expect.stringContaining("the baseline was measured once,");
  expect(notesOf({}, "host")).toEqual([once]);
  expect(notesOf({}, "pageable", "probably slower")).toEqual([once]);
  expect(notesOf({}, "pageable", "inconclusive")).toEqual([]);
  const later = { ...oneRun, load: idle, startedAt: "2026-11-21T10:00:00.000Z" };
  const baseline = { path: null, runs: [{ ...oneRun, load: idle }, later] };
  expect(notesOf({ baseline }, "pageable")).toEqual([expect.stringContaining("was measured twice,")]);
});

it("a new load explains slower host memory, of which an unknown offset of the hour is else allowed for", () => {
  const cells = [1, 2].map((workers) => ({ GBps: 10, memory: "host" as const, workers }));
  const runsOf = (otherCpuShare: number, part: object = {}) =>
    buildRuns({ cells, document: { run: { load: { ...idle, otherCpuShare } } }, ...part });
  const verdictsAt = (share: number) =>
    compareRuns(runsOf(0.1), runsOf(share, { speed: 0.9, seed: 2 })).cells.map(({ verdict }) => verdict);
  expect(verdictsAt(0.9)).toEqual(["slower", "slower"]);
  expect(verdictsAt(0.1)).toEqual(["inconclusive", "inconclusive"]);
});
