import { describe, expect, it } from "vitest";
import type { NodeFigures } from "../../src/fleet/node-figures.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode, fleetNodes, type GpuFigures, nodesOf, wobble } from "../helpers/plain-nodes.js";

const fleetOf = (nodes: readonly NodeFigures[], request: Parameters<typeof judged>[1] = {}) =>
  judged([], { nodes, ...request });

describe("fresh processes, by hand", () => {
  const nodes = nodesOf(12, (node) => [node === 5 ? 40 : 50 * wobble(node), 50 * wobble(node)]);
  const again = (figures: readonly GpuFigures[], device?: Parameters<typeof fleetNode>[3], of = "n05") =>
    fleetOf(nodes, { fresh: [fleetNode(of, figures, {}, device)] });

  it("confirm from half of the loss on, or what the rule itself calls slow", () => {
    expect(again([47.4, 50])).toMatchObject({ outliers: [{ host: "n05", confirmed: true }], cleared: [] });
    expect(again([47.6, 50])).toMatchObject({
      outliers: [],
      cleared: [{ host: "n05", confirmed: false, since: null, action: "none" }],
    });
    expect(again([48.8, 30]).cleared).toHaveLength(1);
    // A loss of 5.5 % is 0.0566, of which half is left at 48.61.
    const small = nodes.map((node, i) => (i === 5 ? fleetNode("n05", [47.25, 50]) : node));
    const ofSmall = (figure: number) => fleetOf(small, { fresh: [fleetNode("n05", [figure, 50])] });
    expect(ofSmall(48.5).outliers).toMatchObject([{ confirmed: true }]);
    expect(ofSmall(48.7).cleared).toMatchObject([{ confirmed: false }]);
  });

  it("clear a process that was far off on a machine that is slower than others by less", () => {
    const pageable = nodesOf(12, (node) => [{ pageable: node === 5 ? 5 : 10 * wobble(node) }]);
    const of = (figure: number) => fleetOf(pageable, { fresh: [fleetNode("n05", [{ pageable: figure }])] });
    // 0.22 would be no chance, but is no half of 0.69.
    expect(of(8).cleared).toMatchObject([{ host: "n05", confirmed: false }]);
    expect(of(6).outliers).toMatchObject([{ host: "n05", confirmed: true }]);
  });

  it("are of the GPU by its UUID, or by its ordinal where that is not known", () => {
    const moved = (gpu: number) => ({ uuid: `GPU-n05-${1 - gpu}` });
    expect(again([30, 50], moved).cleared).toHaveLength(1);
    expect(again([50, 30], moved).outliers).toMatchObject([{ confirmed: true }]);
    expect(again([30, 30], () => ({ uuid: "another" })).outliers).toMatchObject([{ confirmed: null }]);
    const unnamed = nodes.map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, uuid: null })),
    }));
    const { outliers } = fleetOf(unnamed, {
      fresh: [fleetNode("n05", [30, 50], {}, () => ({ uuid: null }))],
    });
    expect(outliers).toMatchObject([{ device: 0, uuid: null, confirmed: true }]);
    const turned = (gpu: number) => ({ uuid: null, ordinal: 1 - gpu });
    const other = fleetOf(unnamed, { fresh: [fleetNode("n05", [30, 50], {}, turned)] });
    expect(other.cleared).toMatchObject([{ device: 0, confirmed: false }]);
  });

  it("without a figure of the cell leave it open", () => {
    for (const figures of [
      [{}, 50],
      [0, 50],
      [{ latency: 4 }, 50],
    ] as GpuFigures[][]) {
      expect(again(figures).outliers).toMatchObject([{ confirmed: null }]);
    }
    expect(again([30, 30], undefined, "n06").outliers).toMatchObject([{ host: "n05", confirmed: null }]);
  });

  it("confirm a GPU that was slow in several cells by one of them", () => {
    const bothWays = nodesOf(12, (node) => [
      node === 5 ? { pinned: 30, back: 40 } : { pinned: 50 * wobble(node), back: 50 * wobble(node) },
    ]);
    const of = (figures: GpuFigures) => fleetOf(bothWays, { fresh: [fleetNode("n05", [figures])] });
    expect(of({ pinned: 50, back: 40 }).outliers).toMatchObject([{ host: "n05", confirmed: true }]);
    expect(of({ pinned: 30, back: 50 }).outliers).toMatchObject([{ host: "n05", confirmed: true }]);
    expect(of({ pinned: 50, back: 50 }).cleared).toMatchObject([{ host: "n05", confirmed: false }]);
  });

  it("of a latency confirm if it is long again", () => {
    const latencies = nodesOf(12, (node) => [{ latency: node === 5 ? 8 : 4 * wobble(node) }]);
    const of = (latency: number) => fleetOf(latencies, { fresh: [fleetNode("n05", [{ latency }])] });
    expect(of(8).outliers).toMatchObject([{ host: "n05", confirmed: true }]);
    expect(of(4).cleared).toMatchObject([{ host: "n05", confirmed: false }]);
  });

  it("name a node whose pinned copies are slow twice, if the others scatter too much for one figure", () => {
    const scattered = (kind: "pinned" | "pageable", rate = 27) =>
      [50, rate, 48, 52, 46, 54, 49, 51].map((rate, node) => fleetNode(`n0${node}`, [{ [kind]: rate }]));
    const fresh = (kind: "pinned" | "pageable") => [fleetNode("n01", [{ [kind]: 27 }])];
    const first = fleetOf(scattered("pinned"));
    expect(first).toMatchObject({ outliers: [], suspects: ["n01"] });
    expect(fleetOf(scattered("pinned"), { fresh: fresh("pinned") }).outliers).toMatchObject([
      { host: "n01", confirmed: true },
    ]);
    const two = [50, 27, 48, 28, 46, 54, 49, 51, 52, 47].map((rate, node) => fleetNode(`n0${node}`, [rate]));
    expect(fleetOf(two)).toMatchObject({ outliers: [], suspects: ["n01", "n03"] });
    // A figure that shows one by itself is not enough where two are measured again.
    const [one, other] = ["n01", "n03"].map((host) => fleetNode(host, [21]));
    expect(fleetOf(two, { fresh: [one!] }).outliers).toHaveLength(1);
    expect(fleetOf(two, { fresh: [one!, other!] }).outliers).toEqual([]);
    const { outliers } = fleetOf(two, { fresh: [fleetNode("n01", [10]), fleetNode("n03", [11])] });
    expect(
      outliers.map(({ host, cells }) => [host, ...cells.map(({ figure }) => Math.round(figure))]),
    ).toEqual([
      ["n01", 10],
      ["n03", 11],
    ]);
    expect(fleetOf(scattered("pageable", 30), { fresh: fresh("pageable") })).toMatchObject({
      outliers: [],
      suspects: [],
    });
  });

  it("of one slow part show that it is as fast as the other, or slow again", () => {
    const two = fleetNodes([[50], [25]]);
    const of = (figure: number) => fleetOf(two, { fresh: [fleetNode("n01", [figure])] });
    expect(fleetOf(two)).toMatchObject({ groups: [{ slowPart: { hosts: ["n01"] } }], suspects: ["n01"] });
    expect(of(49)).toMatchObject({
      groups: [
        {
          slowPart: null,
          notes: ["Some nodes were slower than the others at first, and not when they were measured again."],
        },
      ],
      suspects: [],
    });
    // Half of the way is 35.36.
    expect(of(35.5).groups[0]!.slowPart).toBeNull();
    expect(of(35.2).groups[0]!.slowPart).toMatchObject({ hosts: ["n01"] });
    // In one of two cells it is as slow as it was.
    const bothWays = fleetNodes([[{ pinned: 50, back: 50 }], [{ pinned: 25, back: 25 }]]);
    const inOne = fleetOf(bothWays, { fresh: [fleetNode("n01", [{ pinned: 49, back: 25 }])] });
    expect(inOne.groups[0]).toMatchObject({ slowPart: { hosts: ["n01"] }, notes: [] });
    // One of two that was measured again does not speak for the other.
    const three = fleetNodes([50, 50, 50, 25, 25].map((figure) => [figure]));
    const partly = (...hosts: string[]) =>
      fleetOf(three, { fresh: hosts.map((host) => fleetNode(host, [49])) }).groups[0]!.slowPart;
    expect(partly("n03")).toMatchObject({ hosts: ["n03", "n04"] });
    expect(partly("n03", "n04")).toBeNull();
    const again = [49, 25].map((figure, i) => fleetNode(`n0${i + 3}`, [figure]));
    expect(fleetOf(three, { fresh: again }).groups[0]!.slowPart).toMatchObject({ hosts: ["n03", "n04"] });
    // As many as these were no processes that were far off.
    const eight = fleetNodes([50, 50, 50, 50, 25, 25, 25, 25].map((figure) => [figure]));
    expect(fleetOf(eight).groups[0]!.slowPart!.hosts).toHaveLength(4);
    expect(fleetOf(eight).suspects).toEqual([]);
  });

  it("show a slot to be as fast as others, if its GPUs are no longer slow", () => {
    const slow = nodesOf(12, (node) =>
      Array.from({ length: 4 }, (_, gpu) => (gpu === 1 && node < 5 ? 25 : 50 * wobble(node))),
    );
    const fresh = ["n00", "n01", "n02", "n03", "n04"].map((host) => fleetNode(host, [50, 50, 50, 50]));
    expect(fleetOf(slow).groups[0]!.slowPlaces).toMatchObject([{ nodes: 5, of: 12 }]);
    const { outliers, cleared, groups } = fleetOf(slow, { fresh });
    expect([outliers.length, cleared.length, groups[0]!.slowPlaces]).toEqual([0, 5, []]);
  });

  it("of a whole node are the median of its GPUs", () => {
    const slow = nodesOf(12, (node) =>
      node === 5 ? [40, 40, 40] : [50, 50, 50].map((one) => one * wobble(node)),
    );
    const of = (...figures: number[]) => fleetOf(slow, { fresh: [fleetNode("n05", figures)] });
    expect(of(40, 40, 50).outliers).toMatchObject([{ device: null, confirmed: true }]);
    expect(of(40, 50, 50).cleared).toMatchObject([{ device: null, confirmed: false }]);
  });

  it("that copied wrong data change the node's state, and others do not", () => {
    const wrong = { state: "wrong data", reason: "copies came back wrong" } as const;
    const fleet = fleetOf(nodes, {
      fresh: [fleetNode("n03", [50], wrong), fleetNode("n04", [50], { state: "failed", reason: "x" })],
    });
    expect(fleet.nodes.slice(3, 5)).toMatchObject([
      {
        state: "wrong data",
        action: "isolate",
        reason: "copies came back wrong, when it was measured again",
      },
      { state: "measured", action: "none", reason: null },
    ]);
  });

  it("since when a node is slow, a result shows from half of the loss on", () => {
    const earlier = (...figures: number[]) =>
      figures.map((figure, i) =>
        fleetNode("n05", [figure, 50], { startedAt: `2026-11-1${9 - i}T09:00:00.000Z` }),
      );
    // The loss is 0.2231, of which half is left at 44.72.
    const sinceOf = (...figures: number[]) => {
      const all = nodes.map((node) =>
        node.host === "n05" ? { ...node, earlier: earlier(...figures) } : node,
      );
      return fleetOf(all).outliers[0]!.since;
    };
    expect(sinceOf(44.6, 44.9)).toEqual({
      startedAt: "2026-11-19T09:00:00.000Z",
      lastHealthy: "2026-11-18T09:00:00.000Z",
    });
    expect(sinceOf(44.6, 40)).toEqual({ startedAt: "2026-11-18T09:00:00.000Z", lastHealthy: null });
    const unknown = nodes.map((node) => (node.host === "n05" ? { ...node, startedAt: null } : node));
    expect(fleetOf(unknown).outliers[0]!.since).toBeNull();
  });
});
