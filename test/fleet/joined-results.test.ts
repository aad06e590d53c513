import { describe, expect, it } from "vitest";
import type { DeviceFigures, NodeFigures } from "../../src/fleet/node-figures.js";
import { joinResults } from "../../src/fleet/read-fleet.js";
import { fleetNode, type GpuFigures, keys } from "../helpers/plain-nodes.js";

const at = (minute: number, day = 20) => `2026-11-${day}T09:${String(minute).padStart(2, "0")}:00.000Z`;
let runs = 0;
/** A result of "n0", each of a run of its own. */
const result = (
  figures: readonly GpuFigures[],
  startedAt: string | null,
  changes: Partial<NodeFigures> = {},
  device?: (gpu: number) => Partial<DeviceFigures>,
) => fleetNode("n0", figures, { startedAt, runId: `run ${++runs}`, ...changes }, device);
const figuresOf = ({ devices }: NodeFigures) => devices.map(({ figures }) => figures.get(keys.pinned));
const gpuAt = (uuid: string | null, pciBusId: string | null) => () => ({ uuid, pciBusId });

describe("results of one host", () => {
  it("count once each, and hosts are in the order of their names", () => {
    const one = result([50], at(0), { runId: "same" });
    expect(joinResults([one, { ...one, host: "n9" }]).map(({ host }) => host)).toEqual(["n0"]);
    const unnamed = ["n9", "n1", "n5"].map((host) => fleetNode(host, [50], { runId: null }));
    expect(joinResults(unnamed).map(({ host }) => host)).toEqual(["n1", "n5", "n9"]);
  });

  const medians = (count: number) => `its figures are the medians of ${count} processes`;
  const better = "its figures are the better ones of 2 processes";
  const differ = (loss: number) => `its processes differ by ${loss} % in h2d pinned 64 MiB: measure it again`;
  it.each<[string, GpuFigures[], GpuFigures, string[]]>([
    // The loss is that of the slowest, which a median hides.
    ["the median of three", [50, 52, 57], 52, [medians(3), differ(12)]],
    ["a middle one of four, which a process had", [55, 50, 40, 20], 50, [medians(4), differ(64)]],
    ["the better of two", [55, 27.5], 55, [better, differ(50)]],
    ["the better of two, whatever their order", [27.5, 55], 55, [better, differ(50)]],
    ["the shorter of two latencies", [{ latency: 7 }, { latency: 14 }], { latency: 7 }, [better]],
    [
      "the better in each cell",
      [
        { pinned: 55, back: 40 },
        { pinned: 27.5, back: 50 },
      ],
      { pinned: 55, back: 50 },
      [better, differ(50)],
    ],
    [
      "no doubt below a tenth, and of other copies",
      [
        { pinned: 50, pageable: 10 },
        { pinned: 46, pageable: 5 },
      ],
      { pinned: 50, pageable: 10 },
      [better],
    ],
  ])("of one occasion have %s", (_, figures, joined, notes) => {
    const results = figures.map((figure, i) =>
      result([figure], at(i), i === 1 ? { notes: ["its own"] } : {}),
    );
    const [node] = joinResults(results);
    expect(node!.devices[0]!.figures).toEqual(fleetNode("n0", [joined]).devices[0]!.figures);
    expect(node).toMatchObject({ startedAt: at(figures.length - 1), earlier: [] });
    expect(node!.notes.filter((note) => note !== "its own")).toEqual(notes);
    expect(node!.notes.includes("its own")).toBe(figures.length === 2);
  });

  it("of one occasion have the failed cells of all of them", () => {
    const [first, second] = ["h2d", "d2h"].map((cell) => ({ cell, reason: "It failed.", devices: [0] }));
    const [node] = joinResults([
      result([50], at(0), { failures: [first!] }),
      result([50], at(1), { failures: [second!] }),
      result([50], at(2)),
    ]);
    expect(node!.failures).toEqual([first, second]);
  });

  it("count GPUs in two orders: a failed cell is that of the GPU, whatever its number was", () => {
    const inOrder = (uuids: string) => (gpu: number) => ({ uuid: uuids[gpu]! });
    const failures = [{ cell: "h2d", reason: "It failed.", devices: [0] }];
    const [node] = joinResults([
      result([50, 25], at(0), { failures }, inOrder("ab")),
      result([25, 50], at(1), {}, inOrder("ba")),
    ]);
    expect(node!.failures).toMatchObject([{ devices: [1] }]);
    expect(figuresOf(node!)).toEqual([25, 50]);
  });

  it("that are older do not count, and are kept, the newest first", () => {
    const [node] = joinResults([result([50], at(0, 18)), result([40], at(0, 20)), result([45], at(0, 19))]);
    expect(figuresOf(node!)).toEqual([40]);
    expect(node!.earlier!.map(({ startedAt }) => startedAt)).toEqual([at(0, 19), at(0, 18)]);
    expect(node!.notes).toEqual(["2 older results of it do not count"]);
    const [two] = joinResults([result([50], at(0, 18)), result([40], at(0, 20))]);
    expect(two!.notes).toEqual(["an older result of it does not count"]);
    // Two of them are of one occasion.
    const [three] = joinResults([result([50], at(0, 18)), result([50], at(1, 18)), result([40], at(0, 20))]);
    expect(three!.notes).toEqual(["2 older results of it do not count"]);
  });

  it("without a time are listed as notes, or by their files if there are no others", () => {
    const unread = (reason: string | null, file: string | null) =>
      result([], null, { reason, file, state: "unreadable" });
    const [node, ...others] = joinResults([
      result([50], at(0)),
      unread("no JSON", "a/x.json"),
      unread(null, null),
    ]);
    expect(others).toEqual([]);
    expect(node!.notes).toEqual(["no JSON", ""]);
    expect(
      joinResults([unread("a", "b/x.json"), unread("b", "a/x.json"), unread("c", null)]).map(
        ({ host }) => host,
      ),
    ).toEqual(["a/x.json", "b/x.json", "n0"]);
  });
});

describe("GPUs of several results", () => {
  it("are the same by their UUIDs, or by ordinal and name where one is not known", () => {
    const pair = (first: Partial<DeviceFigures>, second: Partial<DeviceFigures>) =>
      joinResults([result([50], at(0), {}, () => first), result([60], at(1), {}, () => second)]);
    expect(pair({ uuid: "a" }, { uuid: "a", ordinal: 3 })).toHaveLength(1);
    expect(pair({ uuid: null }, { uuid: "a" })).toHaveLength(1);
    expect(pair({ uuid: "a" }, { uuid: "b" })).toHaveLength(2);
    expect(pair({ uuid: null }, { uuid: "a", ordinal: 3 })).toHaveLength(2);
    expect(pair({ uuid: null }, { uuid: null, name: "L4" })).toHaveLength(2);
  });

  it("at other places are parts of one node, in the order of their places", () => {
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
      notes: ["a", "b", "2 results have different GPUs of it"],
    });
  });

  it.each([
    [true, false],
    [false, true],
  ])("at other places were chosen if those of one part were", (first, second) => {
    const [node] = joinResults([
      result([50], at(0), { choseDevices: first }, gpuAt("b", "0000:20:00.0")),
      result([60], at(1), { choseDevices: second }, gpuAt("a", "0000:10:00.0")),
    ]);
    expect(node!.choseDevices).toBe(true);
  });

  it("at other places keep the older results of all parts, the newest first", () => {
    const [node] = joinResults([
      result([50], at(0, 20), {}, gpuAt("b", "0000:20:00.0")),
      result([50], at(0, 17), {}, gpuAt("b", "0000:20:00.0")),
      result([60], at(1, 20), {}, gpuAt("a", "0000:10:00.0")),
      result([60], at(1, 18), {}, gpuAt("a", "0000:10:00.0")),
      result([60], at(1, 16), {}, gpuAt("a", "0000:10:00.0")),
    ]);
    expect(node!.earlier!.map(({ startedAt }) => startedAt)).toEqual([at(1, 18), at(0, 17), at(1, 16)]);
  });

  it("of which one part failed are a node that did", () => {
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

  it("at the same place, or at none that is known, are of two machines: the older one has another name", () => {
    const two = (first: string | null, second: string | null) =>
      joinResults([
        result([50], at(0), {}, gpuAt("old", first)),
        result([60], at(1), {}, gpuAt("new", second)),
      ]).map(({ host, notes }) => [host, ...notes]);
    const namesakes = [["n0"], ["n0/old", "another machine with other GPUs has the same name, n0"]];
    expect(two("0000:10:00.0", "0000:10:00.0")).toEqual(namesakes);
    expect(two(null, "0000:10:00.0")).toEqual(namesakes);
    const placed = (uuid: string, ...slots: number[]) =>
      result(
        slots.map(() => 50),
        at(0),
        {},
        (gpu) => ({ uuid: `${uuid}${gpu}`, pciBusId: `0000:${slots[gpu]}0:00.0` }),
      );
    expect(joinResults([placed("a", 1, 2), placed("b", 3, 2)])).toHaveLength(2);
    expect(joinResults([placed("a", 1, 2), placed("b", 3, 4)])).toHaveLength(1);
    const bare = joinResults([
      result([60], at(1), { runId: "new run" }),
      { ...result([], at(0), { runId: "old run" }), devices: [] },
    ]);
    expect(bare.map(({ host }) => host)).toEqual(["n0", "n0/old run"]);
  });
});

describe("wrong data", () => {
  const wrong = (minute: number, day: number) =>
    result([50], at(minute, day), { state: "wrong data", reason: `wrong on ${day}` });

  it("stands, though later copies were right, with the last time that it was seen", () => {
    const [node] = joinResults([wrong(5, 18), wrong(7, 17), result([50], at(0, 20))]);
    expect(node).toMatchObject({
      state: "wrong data",
      reason: "wrong on 18; later copies were right",
    });
    expect(node!.notes).toContain("after a repair, leave older results out with --since");
  });

  it("of the newest result has its own reason, as it has after results that failed", () => {
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
