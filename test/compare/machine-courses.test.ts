import { describe, expect, it } from "vitest";
import { describeHistory } from "../../src/compare/history/courses.js";
import type { HistoryEntry, HistoryFigure } from "../../src/results/history-entry.js";
import { buildCourse, buildEntry, buildFigure, pinnedId } from "../helpers/history.js";

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes: [] }, cells });

/** Checks of machines that take turns; each machine multiplies its figures by a factor of its own. */
const ofMachines = (factors: readonly number[], part: Partial<HistoryFigure> = {}, noise = 0.002) =>
  buildCourse({ checks: 20 * factors.length, noise }).map((noise, day) => {
    const i = day % factors.length;
    return buildEntry(day, {
      machine: { hostName: [`node-${i + 1}`], gpuUuids: [`GPU-${i + 1}`], pciAddresses: [] },
      series: [buildFigure({ figure: 50 * noise * factors[i]!, ...part })],
    });
  });

describe("machines that alternate in one history", () => {
  it("have separate courses, and the slower one is named with its distance", () => {
    const { courses } = describeEntries(ofMachines([1, 0.5]));
    expect(courses).toMatchObject([
      { name: "h2d pinned, node-1", machine: "node-1", pattern: null, behind: null },
      { name: "h2d pinned, node-2", machine: "node-2", pattern: null, behind: { machine: "node-1" } },
    ]);
    expect(courses[1]!.behind!.change).toBeCloseTo(-0.5, 2);
    expect(courses.map(({ points }) => points.slice(0, 2).map(({ check }) => check))).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  it("are compared with the fastest", () => {
    const behind = describeEntries(ofMachines([0.5, 0.7, 1, 0.8])).courses.map(
      (course) => course.behind?.machine,
    );
    expect(behind).toEqual(["node-3", "node-3", undefined, "node-3"]);
  });

  it("are slower with more time", () => {
    const latency = { id: pinnedId.replace("throughput", "latency"), unit: "us" } as const;
    const { courses } = describeEntries(ofMachines([1, 2], latency));
    expect(courses.map(({ behind }) => behind?.machine)).toEqual([undefined, "node-1"]);
    expect(courses[1]!.behind!.change).toBeCloseTo(1, 1);
  });

  it("are not reported for differences that machines of one kind have", () => {
    const { courses } = describeEntries(ofMachines([1, 0.97]), [pinnedId]);
    expect(courses.map(({ name, behind }) => [name, behind])).toEqual([
      [`${pinnedId} (node-1)`, null],
      [`${pinnedId} (node-2)`, null],
    ]);
  });

  it.each<[string, (entry: HistoryEntry) => HistoryEntry]>([
    ["device", (entry) => ({ ...entry, backend: "emulated" })],
    ["direction", (entry) => ({ ...entry, series: entry.series.map((one) => ({ ...one, moved: "sum" })) })],
    ["way of comparing copies", (entry) => ({ ...entry, verify: "every" })],
  ])("are not compared with those of another %s", (_, other) => {
    const id = pinnedId.replace("h2d", "bidir");
    const entries = ofMachines([0.5, 1], { id }).map((entry, day) => (day % 2 === 0 ? entry : other(entry)));
    expect(describeEntries(entries).courses.map(({ behind }) => behind)).toEqual([null, null]);
    expect(describeEntries(ofMachines([0.5, 1], { id })).courses[0]!.behind).not.toBeNull();
  });

  it("are not reported within the noise of their checks", () => {
    const behind = (factor: number) =>
      describeEntries(ofMachines([1, factor], {}, 0.03)).courses[1]!.behind?.machine;
    expect([0.92, 0.8].map(behind)).toEqual([undefined, "node-1"]);
  });

  it("are named as in their last checks", () => {
    const entries = ofMachines([1, 1]).map((entry, day) =>
      day < 2 ? { ...entry, machine: { ...entry.machine, hostName: ["old name"] } } : entry,
    );
    expect(describeEntries(entries).courses.map(({ machine }) => machine)).toEqual(["node-1", "node-2"]);
  });

  it.each([
    ["GPU too if they share a host", [["a"], ["G1"]], [["a"], ["G2"]], ["a, G1", "a, G2"]],
    ["GPU if no host is known", [[], ["G1"]], [["b"], ["G2"]], ["G1", "b"]],
    ["host if no GPU is known", [["a"], []], [["b"], []], ["a", "b"]],
    ["nothing if nothing is known", [[], []], [["b"], ["G2"]], ["unknown machine", "b"]],
  ])("are named by %s", (_, first, second, names) => {
    const entries = ofMachines([1, 1]).map((entry, day) => {
      const [hostName, gpuUuids] = (day % 2 === 0 ? first : second) as [string[], string[]];
      return { ...entry, machine: { hostName, gpuUuids, pciAddresses: [] } };
    });
    expect(describeEntries(entries).courses.map(({ machine }) => machine)).toEqual(names);
  });
});
