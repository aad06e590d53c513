import { describe, expect, it } from "vitest";
import { joinResults } from "../../src/fleet/join-results.js";
import { figuresOfNode, type NodeFigures } from "../../src/fleet/node-figures.js";
import { drainReport, nodeListReport } from "../../src/fleet/report/drain-lines.js";
import { judged, nodeResult, nodeResults } from "../helpers/node-results.js";
import { fleetNode, nodesOf, wobble } from "../helpers/plain-nodes.js";
import { buildFailed, MiB } from "../helpers/result-document.js";

const rates = (node: number, gpus = 4) => Array.from({ length: gpus }, () => 50 * wobble(node));
const healthy = (count: number) => nodesOf(count, (node) => rates(node));
/** Node n11 without its GPU at this index. */
const without = (gpu: number, host = "n11"): NodeFigures => {
  const whole = fleetNode(host, rates(11));
  const devices = whole.devices
    .filter((_, index) => index !== gpu)
    .map((device, ordinal) => ({ ...device, ordinal }));
  return { ...whole, devices, facts: { ...whole.facts, gpuCount: "3" } };
};
const fleetOf = (nodes: readonly NodeFigures[]) => judged([], { nodes });
const badOf = (nodes: readonly NodeFigures[]) =>
  fleetOf(nodes).nodes.flatMap(({ host, state, reason }) =>
    state === "measured" ? [] : [`${host} ${state}: ${reason}`],
  );

describe("a node that lost a GPU", () => {
  it("is incomplete, with the slot of the GPU, and is to be reset", () => {
    const fleet = fleetOf([...healthy(11), without(1)]);
    expect(fleet.nodes.at(-1)).toMatchObject({
      host: "n11",
      state: "incomplete",
      action: "reset",
      reason: "it has 3 GPUs, and similar nodes have 4; none is at 0000:20:00.0",
    });
    expect(nodeListReport(fleet)).toBe("n11\n");
    expect(drainReport(fleet)).toBe(
      'scontrol update nodename="n11" state=drain reason="pinbench: incomplete"\n',
    );
  });

  it("has no slot named if similar nodes have GPUs in different slots", () => {
    const [first, ...others] = healthy(11);
    const devices = first!.devices.map((one, i) => (i === 1 ? { ...one, pciBusId: "0000:99:00.0" } : one));
    expect(badOf([...others, { ...first!, devices }, without(1)])).toEqual([
      "n11 incomplete: it has 3 GPUs, and similar nodes have 4",
    ]);
  });

  it("is found by an older result with the GPU, even without a similar node", () => {
    const older = { ...fleetNode("n11", rates(11)), startedAt: "2026-11-18T09:00:00.000Z", runId: "older" };
    expect(badOf(joinResults([without(3), older]))).toEqual([
      "n11 incomplete: it has 3 GPUs, and had 4 at 2026-11-18 09:00 UTC; none is at 0000:40:00.0",
    ]);
  });

  it("is not reported if only two nodes differ, or if the user chose the GPUs", () => {
    expect(badOf([...healthy(1), without(1)])).toEqual([]);
    expect(badOf([...healthy(11), { ...without(1), choseDevices: true }])).toEqual([]);
    const older = { ...fleetNode("n11", rates(11)), startedAt: "2026-11-18T09:00:00.000Z", runId: "older" };
    expect(badOf(joinResults([{ ...without(3), choseDevices: true }, older]))).toEqual([]);
    expect(badOf(joinResults([without(3), { ...older, choseDevices: true }]))).toEqual([]);
  });

  it("is reported only if at most a third of similar nodes have fewer GPUs", () => {
    const several = (count: number) => Array.from({ length: count }, (_, i) => without(i % 4, `m${i}`));
    expect(badOf([...healthy(40), ...several(20)])).toHaveLength(20);
    expect(badOf([...healthy(40), ...several(21)])).toEqual([]);
  });
});

describe("a GPU that failed in some cells", () => {
  const failing = (host: string, ...devices: number[]) => {
    const result = nodeResult(host);
    const broken = devices.map((device) =>
      buildFailed({ device, direction: "d2h", sizeBytes: 64 * MiB }, "E", "an illegal address."),
    );
    return { ...result, cells: [...result.cells, ...broken] };
  };

  it("makes its node incomplete, with the error", () => {
    const fleet = judged([...nodeResults(11), failing("n11", 1)]);
    expect(fleet.nodes.at(-1)).toMatchObject({
      state: "incomplete",
      action: "reset",
      reason: "GPU 1 failed in 1 cell: an illegal address",
    });
    expect(judged([failing("n11", 0, 1)]).nodes[0]!.reason).toMatch(/^GPU 0, 1 failed in 1 cell/);
    const [first, second] = [
      failing("n11", 1),
      buildFailed({ device: 0, direction: "d2d" }, "E", "it broke"),
    ];
    const two = { ...first, cells: [...first.cells, second] };
    expect(judged([two]).nodes[0]!.reason).toBe("GPU 0, 1 failed in 2 cells: it broke");
    const lost = {
      ...first,
      devices: first.devices.slice(1),
      fingerprint: { ...first.fingerprint, gpuCount: "1" },
      cells: first.cells.filter(({ device }) => device),
    };
    expect(judged([...nodeResults(11), lost]).nodes.at(-1)!.reason).toMatch(
      /^it has 1 GPU, and similar nodes have 2; none is at .*; GPU 1 failed in 1 cell: an illegal address$/,
    );
  });

  it("makes its node incomplete if it failed in all cells, and so has no figures", () => {
    const result = nodeResult("n11");
    const cells = result.cells.map((cell) =>
      cell.device === 1 ? buildFailed(cell, "E", "it is lost") : cell,
    );
    expect(judged([...nodeResults(11), { ...result, cells }]).nodes.at(-1)).toMatchObject({
      state: "incomplete",
      reason: "GPU 1 failed in 3 cells: it is lost",
    });
  });

  it("is no finding if the cell failed on most nodes", () => {
    const many = Array.from({ length: 7 }, (_, i) => failing(`m${i}`, 0));
    const states = (count: number) =>
      judged([...many, ...nodeResults(count)])
        .nodes.map(({ state }) => state)
        .filter((one) => one !== "measured");
    expect(states(6)).toEqual([]);
    expect(states(7)).toHaveLength(7);
  });

  it("is reported by its number on the node even if each GPU has a result of its own", () => {
    const part = (gpu: number, result = failing("n11", 0)) => {
      const node = figuresOfNode({ ...result, devices: result.devices.slice(0, 1) }, null);
      const device = { ...node.devices[0]!, uuid: `U${gpu}`, pciBusId: `0000:${gpu}0:00.0` };
      return { ...node, runId: `run-${gpu}`, devices: [device] };
    };
    const clean = nodeResult("n11");
    const nodes = joinResults([
      part(1, { ...clean, cells: clean.cells.filter(({ device }) => device === 0) }),
      part(2),
    ]);
    expect(badOf(nodes)).toEqual(["n11 incomplete: GPU 1 failed in 1 cell: an illegal address"]);
  });
});
