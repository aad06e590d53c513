import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { cellNotes } from "../../src/report/cell-notes.js";
import { resultKind } from "../../src/report/result-report.js";
import type { LoadRecord } from "../../src/results/schema.js";
import { drawn } from "../helpers/drawn.js";
import { buildDocument } from "../helpers/result-document.js";

const idle: LoadRecord = {
  stealShare: 0,
  otherCpuShare: 0,
  cpuPressureShare: 0,
  memoryPressureShare: 0,
  ioPressureShare: 0,
};

const notesWith = (load: LoadRecord | null | undefined) =>
  cellNotes(buildDocument({ run: { load } }))
    .map(({ text }) => text)
    .filter((text) => text.startsWith("during the run"));

describe("the load of the machine during a run", () => {
  it.each([
    [{ otherCpuShare: 0.347 }, "during the run other programs used 34 % of the CPUs"],
    [{ stealShare: 0.034 }, "during the run the hypervisor took 3.4 % of the CPUs' time for others"],
    [
      { otherCpuShare: 0.5, stealShare: 0.2 },
      "during the run other programs used 50 % of the CPUs and the hypervisor took 20 % of the CPUs' time for others",
    ],
  ])("is a line if it matters: %j", (part, line) => {
    expect(notesWith({ ...idle, ...part })).toEqual([line]);
  });

  it("is shown without --verbose too", () => {
    const document = buildDocument({ run: { load: { ...idle, otherCpuShare: 0.5 } } });
    expect(drawn(resultKind, document, "table", fileScreen({ isVerbose: false }))).toContain(
      "during the run other programs used 50 % of the CPUs",
    );
  });

  it.each([
    ["next to none", { ...idle, otherCpuShare: 0.1, stealShare: 0.01, cpuPressureShare: 0.9 }],
    ["not told by the kernel", { ...idle, otherCpuShare: null, stealShare: null }],
    ["not yet known", null],
    ["not recorded, as in older results", undefined],
  ])("is no line if it is %s", (_, load) => {
    expect(notesWith(load)).toEqual([]);
  });
});
