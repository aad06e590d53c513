import { describe, expect, it } from "vitest";
import { joinResults } from "../../src/fleet/join-results.js";
import type { DeviceFigures, NodeFigures } from "../../src/fleet/node-figures.js";
import { fleetNode, type GpuFigures, keys } from "../helpers/plain-nodes.js";

const at = (minute: number, day = 20) => `2026-11-${day}T09:${String(minute).padStart(2, "0")}:00.000Z`;
let runs = 0;
/** A result of node n0 with a new run id. */
const result = (
  figures: readonly GpuFigures[],
  startedAt: string | null,
  changes: Partial<NodeFigures> = {},
  device?: (gpu: number) => Partial<DeviceFigures>,
) => fleetNode("n0", figures, { startedAt, runId: `run ${++runs}`, ...changes }, device);
const figuresOf = ({ devices }: NodeFigures) => devices.map(({ figures }) => figures.get(keys.pinned));
const gpuAt = (uuid: string | null, pciBusId: string | null) => () => ({ uuid, pciBusId });

describe("results of one host", () => {
  it("of the same run count once, and nodes are sorted by name", () => {
    const one = result([50], at(0), { runId: "same" });
    expect(joinResults([one, { ...one, host: "n9" }]).map(({ host }) => host)).toEqual(["n0"]);
    const unnamed = ["n9", "n1", "n5"].map((host) => fleetNode(host, [50], { runId: null }));
    expect(joinResults(unnamed).map(({ host }) => host)).toEqual(["n1", "n5", "n9"]);
  });

  it.each<[string, GpuFigures[], GpuFigures]>([
    ["the median of three", [50, 52, 57], 52],
    ["the second best of four, not to an average", [55, 50, 40, 20], 50],
    ["the better of two", [55, 27.5], 55],
    ["the better of two, whatever their order", [27.5, 55], 55],
    ["the shorter of two latencies", [{ latency: 7 }, { latency: 14 }], { latency: 7 }],
    [
      "the better in each cell",
      [
        { pinned: 55, back: 40 },
        { pinned: 27.5, back: 50 },
      ],
      { pinned: 55, back: 50 },
    ],
  ])("of one session are joined to %s", (_, figures, joined) => {
    const [node] = joinResults(figures.map((figure, i) => result([figure], at(i))));
    expect(node!.devices[0]!.figures).toEqual(fleetNode("n0", [joined]).devices[0]!.figures);
    expect(node).toMatchObject({ startedAt: at(figures.length - 1), earlier: [] });
    expect(node!.notes).toEqual([`its figures are of ${figures.length} processes`]);
  });

  it("of one session keep the failed cells of every result, assigned to GPUs by UUID", () => {
    const inOrder = (uuids: string, failures: Record<string, string>) => (gpu: number) => ({
      uuid: uuids[gpu]!,
      failures: new Map(gpu === 0 ? Object.entries(failures) : []),
    });
    const [node] = joinResults([
      result([50, 25], at(0), {}, inOrder("ab", { h2d: "it failed" })),
      result([25, 50], at(1), {}, inOrder("ba", { d2h: "it failed too" })),
    ]);
    expect(node!.devices.map(({ uuid, failures }) => [uuid, ...failures!.keys()])).toEqual([
      ["b", "d2h"],
      ["a", "h2d"],
    ]);
    expect(figuresOf(node!)).toEqual([25, 50]);
  });

  it("of older sessions do not count, and are kept, the newest first", () => {
    const [node] = joinResults([result([50], at(0, 18)), result([40], at(0, 20)), result([45], at(0, 19))]);
    expect(figuresOf(node!)).toEqual([40]);
    expect(node!.earlier!.map(({ startedAt }) => startedAt)).toEqual([at(0, 19), at(0, 18)]);
    expect(node!.notes).toEqual(["without 2 older results of it"]);
    const [two] = joinResults([result([50], at(0, 18)), result([40], at(0, 20))]);
    expect(two!.notes).toEqual(["without 1 older result of it"]);
    // Two results of one session count as two.
    const [three] = joinResults([result([50], at(0, 18)), result([50], at(1, 18)), result([40], at(0, 20))]);
    expect(three!.notes).toEqual(["without 2 older results of it"]);
  });

  it("without a host name are joined by GPU UUID, and stay separate without a UUID", () => {
    const unnamed = (file: string, uuid: string | null, time: number) => ({
      ...result([50], at(time), { isNamed: false, host: file, file, runId: file }),
      devices: fleetNode("n0", [50]).devices.map((gpu) => ({ ...gpu, uuid })),
    });
    const joined = joinResults([
      unnamed("a/1.json", "GPU-1", 0),
      unnamed("a/2.json", "GPU-2", 1),
      unnamed("a/3.json", "GPU-1", 2),
      unnamed("a/4.json", null, 3),
      unnamed("a/5.json", null, 4),
    ]);
    expect(joined.map(({ host }) => host)).toEqual(["a/2.json", "a/3.json", "a/4.json", "a/5.json"]);
  });
});

describe("GPUs of several results", () => {
  it("are recognized by UUID, or without one by number and name", () => {
    const gpus = (first: Partial<DeviceFigures>, second: Partial<DeviceFigures>) =>
      joinResults([result([50], at(0), {}, () => first), result([60], at(1), {}, () => second)])[0]!.devices;
    expect(gpus({ uuid: "a" }, { uuid: "a", ordinal: 3 })).toHaveLength(1);
    expect(gpus({ uuid: "a" }, { uuid: "b" })).toHaveLength(2);
    expect(gpus({ uuid: null }, { uuid: null })).toHaveLength(1);
    expect(gpus({ uuid: null }, { uuid: null, name: "L4" })).toHaveLength(2);
  });

  it("of an older session do not count: a GPU that was replaced is no second node", () => {
    const nodes = joinResults([result([50], at(0, 18), {}, gpuAt("old", null)), result([60], at(0, 20))]);
    expect(nodes.map(figuresOf)).toEqual([[60]]);
  });

  it("in different slots are joined into one node, sorted by slot", () => {
    const facts = { kernel: "6.1", gpuCount: "1" };
    const [node, ...others] = joinResults([
      result([50], at(0), { facts, notes: ["b"], earlier: [] }, gpuAt("b", "0000:20:00.0")),
      result([60], at(1), { facts, notes: ["a"] }, gpuAt("a", "0000:10:00.0")),
    ]);
    expect(others).toEqual([]);
    expect(figuresOf(node!)).toEqual([60, 50]);
    expect(node!.devices.map(({ ordinal, uuid }) => [ordinal, uuid])).toEqual([
      [0, "a"],
      [1, "b"],
    ]);
    expect(node).toMatchObject({
      state: "measured",
      reason: null,
      startedAt: at(1),
      facts: { kernel: "6.1", gpuCount: "2" },
      notes: ["a", "its figures are of 2 processes"],
    });
  });

  it.each([
    [true, false],
    [false, true],
  ])("in different slots count as chosen by the user if one result's GPUs were: %j, %j", (first, second) => {
    const [node] = joinResults([
      result([50], at(0), { choseDevices: first }, gpuAt("b", "0000:20:00.0")),
      result([60], at(1), { choseDevices: second }, gpuAt("a", "0000:10:00.0")),
    ]);
    expect(node!.choseDevices).toBe(true);
  });

  it("in different slots keep the older results of every GPU, the newest first", () => {
    const [node] = joinResults([
      result([50], at(0, 20), {}, gpuAt("b", "0000:20:00.0")),
      result([50], at(0, 17), {}, gpuAt("b", "0000:20:00.0")),
      result([60], at(1, 20), {}, gpuAt("a", "0000:10:00.0")),
      result([60], at(1, 18), {}, gpuAt("a", "0000:10:00.0")),
      result([60], at(1, 16), {}, gpuAt("a", "0000:10:00.0")),
    ]);
    expect(node!.earlier!.map(({ startedAt }) => startedAt)).toEqual([at(1, 18), at(0, 17), at(1, 16)]);
  });

  it("make a failed node if the result of one GPU failed", () => {
    const failed = { state: "failed", reason: "it broke" } as const;
    const [older, newer] = [at(0), at(1)];
    for (const ofFailed of [older, newer]) {
      const changes = (startedAt: string) => (startedAt === ofFailed ? failed : {});
      const [node] = joinResults([
        result([50], older, changes(older), gpuAt("b", "0000:20:00.0")),
        result([60], newer, changes(newer), gpuAt("a", "0000:10:00.0")),
      ]);
      expect(node).toMatchObject(failed);
    }
  });
});

describe("wrong data", () => {
  const wrong = (minute: number, day: number) =>
    result([50], at(minute, day), { state: "wrong data", reason: `wrong on ${day}` });

  it("stays the state of a node after correct copies, with the time of the last wrong ones", () => {
    const [node] = joinResults([wrong(5, 18), wrong(7, 17), result([50], at(0, 20))]);
    expect(node).toMatchObject({
      state: "wrong data",
      reason: "wrong on 18; later copies were right: after a repair, leave older results out with --since",
    });
  });

  it("keeps its reason unchanged if no later result has correct copies", () => {
    expect(joinResults([result([50], at(0, 18)), wrong(0, 20)])[0]).toMatchObject({ reason: "wrong on 20" });
    const failed = result([50], at(0, 21), { state: "failed", reason: "x" });
    expect(joinResults([wrong(0, 20), failed])[0]).toMatchObject({
      state: "wrong data",
      reason: "wrong on 20",
    });
    expect(joinResults([result([50], at(0, 18)), result([50], at(0, 20))])[0]).toMatchObject({
      state: "measured",
      reason: null,
    });
  });
});
