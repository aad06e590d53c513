import { describe, expect, it } from "vitest";
import type { GroupComparison } from "../../src/compare/comparison.js";
import { notesOn } from "../../src/compare/comparison-notes.js";
import type { SharingRecord } from "../../src/host/other-programs.js";
import { frozen } from "../helpers/frozen.js";
import { buildRuns, compareRuns, resultSet } from "../helpers/runs.js";

const pressure = { cpuPressureShare: 0, memoryPressureShare: 0, ioPressureShare: 0 };
const idle = { otherCpuShare: 0.1, stealShare: 0, ...pressure };
const [oneRun] = resultSet(buildRuns({ count: 1 })).runs as [ReturnType<typeof resultSet>["runs"][number]];

/** The notes of a check on an idle machine, with this verdict and these changes. */
function notesOf(
  part: Partial<Parameters<typeof notesOn>[0]>,
  verdict: GroupComparison["verdict"] = "slower",
) {
  const { path, runs } = resultSet(buildRuns());
  const set = { path, runs: runs.map((run) => ({ ...run, load: idle })) };
  const groups = [{ verdict, firstChange: null } as unknown as GroupComparison];
  const usual = { baseline: set, candidate: set, fresh: [], command: "check" } as const;
  return notesOn(frozen({ ...usual, ...part }), { failures: [], gpusLeftOut: 0 }, groups);
}

describe("the notes of a comparison", () => {
  it("name loads over 5 percentage points above all baseline runs, if something is slower", () => {
    const loaded = (load: Partial<typeof idle>) => [{ ...oneRun, load: { ...idle, ...load } }];
    expect(notesOf({ fresh: loaded({ otherCpuShare: 0.9, ioPressureShare: 0.3 }) })).toEqual([
      "CPU time of other programs reached 90 % during a run, at most 10 % in the baseline's",
      "waiting for disks reached 30 % during a run, at most 0 % in the baseline's",
    ]);
    expect(notesOf({ fresh: loaded({ otherCpuShare: 0.15, stealShare: 0.05 }) })).toEqual([]);
    expect(notesOf({ fresh: [{ ...oneRun, load: null }] })).toEqual([]);
    expect(notesOf({ fresh: loaded({ otherCpuShare: 0.9 }) }, "not slower")).toEqual([]);
  });

  it("state that compare measures nothing again, if something is slower", () => {
    const said = "nothing was measured again: `pinbench check` confirms a loss in fresh processes";
    expect(notesOf({ command: "compare" })).toEqual([said]);
    expect(notesOf({ command: "compare" }, "faster")).toEqual([]);
  });

  it("name the tool that a side was imported from", () => {
    const importedFrom = { tool: "nvbandwidth", version: "0.8", file: "a.json" };
    const after = buildRuns({ count: 1, seed: 2, document: { importedFrom } });
    expect(compareRuns(buildRuns({ count: 1 }), after).notes).toEqual([
      "a side was imported from nvbandwidth: machine facts that it does not record are not compared",
    ]);
  });
});

describe("programs that used a device during runs", () => {
  const other: SharingRecord["others"][number] = {
    ...{ kind: "program", pid: 4711, name: "python3", since: null, deviceMemoryBytes: 1024 ** 3 },
    wasThereBefore: true,
  };
  const alone: SharingRecord = { device: 0, others: [], activityBefore: null, unseen: [] };
  const shared = { ...alone, others: [other] };
  const busy = { ...alone, activityBefore: { computeShare: 0.5, toDeviceGBps: null, fromDeviceGBps: null } };
  // Notes do not depend on whether the other program was there first.
  const later = { ...alone, others: [{ ...other, wasThereBefore: false }] };
  const second = { ...alone, device: 1, others: [{ ...other, pid: 4712 }] };
  const who = (pid: number) => `python3 (pid ${pid}, 1 GiB of the device's memory) used it as well`;
  const of = (count: number, side: string, device = 0, pid = 4711) =>
    `in ${count} of the ${side}'s 5 runs device ${device} was not measured alone: ${who(pid)}`;

  /** Five runs, the first of which have these records of other programs. */
  const runsWith = (...records: SharingRecord[][]) =>
    buildRuns().map((document, run) => ({
      ...document,
      run: { ...document.run, sharing: records[run] ?? [alone] },
    }));

  it.each<[string, SharingRecord[][], SharingRecord[][], string[]]>([
    ["for either side", [[shared]], [[shared], [alone], [shared]], [of(1, "baseline"), of(2, "candidate")]],
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
    ["only if they are known", [], [[{ ...alone, unseen: ["programs"] }]], []],
  ])("are named %s", (_, before, after, notes) => {
    const comparison = compareRuns(runsWith(...before), runsWith(...after));
    expect([comparison.outcome, comparison.notes]).toEqual(["pass", notes]);
    expect(compareRuns(buildRuns(), runsWith()).notes).toEqual([]);
  });

  it("are counted over the candidate's runs, confirming ones included, and in singular for one", () => {
    const run = { ...oneRun, load: idle, sharing: [shared] };
    expect(notesOf({ fresh: [run] })).toEqual([expect.stringMatching(/^in 1 of the candidate's 6 runs /)]);
    const candidate = { path: null, runs: [run] };
    expect(notesOf({ candidate })).toEqual([
      expect.stringMatching(/^in 1 of the candidate's 1 run device 0 /),
    ]);
  });
});
