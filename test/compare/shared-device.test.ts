import { expect, it } from "vitest";
import type { SharingRecord } from "../../src/results/other-programs.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildRuns, compareRuns } from "../helpers/runs.js";

const other: SharingRecord["others"][number] = {
  kind: "program",
  pid: 4711,
  name: "python3",
  since: null,
  deviceMemoryBytes: 1024 ** 3,
  wasThereBefore: true,
};
const alone: SharingRecord = { device: 0, others: [], activityBefore: null, unseen: [] };

/** Five runs, of which those with these records were not alone. */
const runsWith = (...records: SharingRecord[]): ResultDocument[] =>
  buildRuns().map((document, run) => ({
    ...document,
    run: { ...document.run, sharing: [records[run] ?? alone] },
  }));

it("a comparison names who used a device beside runs of either side, whatever the verdict", () => {
  const shared = { ...alone, others: [other] };
  const { notes, outcome } = compareRuns(runsWith(shared), runsWith(shared, alone, shared));
  expect(outcome).toBe("pass");
  const who = "python3 (pid 4711, 1 GiB of the device's memory) used it as well";
  expect(notes).toEqual([
    `in 1 of the baseline's 5 runs device 0 was not measured alone: ${who}`,
    `in 2 of the candidate's 5 runs device 0 was not measured alone: ${who}`,
  ]);
});

it("each note gives its number of runs", () => {
  const busy = {
    ...alone,
    activityBefore: { computeShare: 0.5, toDeviceGBps: null, fromDeviceGBps: null },
  };
  const later = { ...alone, others: [{ ...other, wasThereBefore: false }] };
  const second = { ...alone, device: 1, others: [{ ...other, pid: 4712 }] };
  const [first, ...more] = runsWith(busy, { ...alone, others: [other] }, later);
  const runs = [{ ...first!, run: { ...first!.run, sharing: [busy, second] } }, ...more];
  expect(compareRuns(runsWith(), runs).notes).toEqual([
    "in 2 of the candidate's 5 runs device 0 was not measured alone: python3 (pid 4711, 1 GiB of the device's memory) used it as well",
    "in 1 of the candidate's 5 runs device 0 was busy before it was measured: kernels ran for 50 % of the time",
    "in 1 of the candidate's 5 runs device 1 was not measured alone: python3 (pid 4712, 1 GiB of the device's memory) used it as well",
  ]);
});

it("a comparison of runs without other users, or without knowledge of them, has no note", () => {
  const unseen = { ...alone, unseen: ["programs" as const] };
  expect(compareRuns(runsWith(), runsWith(unseen)).notes).toEqual([]);
  expect(compareRuns(buildRuns(), runsWith()).notes).toEqual([]);
});
