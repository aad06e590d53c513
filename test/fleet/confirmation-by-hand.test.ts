import { describe, expect, it } from "vitest";
import type { NodeFigures } from "../../src/fleet/node-figures.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode, type GpuFigures, nodesOf, wobble } from "../helpers/plain-nodes.js";

const fleetOf = (nodes: readonly NodeFigures[], request: Parameters<typeof judged>[1] = {}) =>
  judged([], { nodes, ...request });

describe("fresh processes, by hand", () => {
  const nodes = nodesOf(12, (node) => [node === 5 ? 40 : 50 * wobble(node), 50 * wobble(node)]);
  const again = (figures: readonly GpuFigures[], device?: Parameters<typeof fleetNode>[3], of = "n05") =>
    fleetOf(nodes, { fresh: [fleetNode(of, figures, {}, device)] });

  it("confirm from half of the threshold on", () => {
    expect(again([48.6, 50])).toMatchObject({ outliers: [{ host: "n05", confirmed: true }], cleared: [] });
    expect(again([48.8, 50])).toMatchObject({
      outliers: [],
      cleared: [{ host: "n05", confirmed: false, since: null, action: "none" }],
    });
    expect(again([48.8, 30]).cleared).toHaveLength(1);
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

  it("of a latency confirm if it is long again", () => {
    const latencies = nodesOf(12, (node) => [{ latency: node === 5 ? 8 : 4 * wobble(node) }]);
    const of = (latency: number) => fleetOf(latencies, { fresh: [fleetNode("n05", [{ latency }])] });
    expect(of(8).outliers).toMatchObject([{ host: "n05", confirmed: true }]);
    expect(of(4).cleared).toMatchObject([{ host: "n05", confirmed: false }]);
  });

  it("name a node whose pinned copies are slow twice, if the others scatter too much for one figure", () => {
    const scattered = (kind: "pinned" | "pageable") =>
      [50, 5, 45, 52.5].map((rate, node) => fleetNode(`n0${node}`, [{ [kind]: rate }]));
    const fresh = (kind: "pinned" | "pageable") => [fleetNode("n01", [{ [kind]: 5 }])];
    const first = fleetOf(scattered("pinned"));
    expect(first).toMatchObject({ outliers: [], suspects: ["n01"] });
    expect(fleetOf(scattered("pinned"), { fresh: fresh("pinned") }).outliers).toMatchObject([
      { host: "n01", confirmed: true },
    ]);
    expect(fleetOf(scattered("pageable"), { fresh: fresh("pageable") })).toMatchObject({
      outliers: [],
      suspects: [],
    });
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
