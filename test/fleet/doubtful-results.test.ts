import { expect, it } from "vitest";
import { doubtsOn, leftOutText } from "../../src/fleet/doubtful-results.js";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import { fleetAnswer } from "../../src/fleet/report/fleet-answer.js";
import { fleetCellNames } from "../../src/fleet/report/fleet-text.js";
import { judged, nodeResult } from "../helpers/node-results.js";
import { fleetNode, nodesOf } from "../helpers/plain-nodes.js";

/** Results that are valid and mislead: copied ones, wrong clocks, old ones, and those that are left out. */

const now = "2026-11-20T12:00:00.000Z";
const nodes = nodesOf(4, () => [50, 50]);
const at = (host: string, startedAt: string) => fleetNode(host, [50, 50], { startedAt });

it("GPUs in the results of two nodes are in doubt, unless they are emulated", () => {
  const copy = fleetNode("x1", [50, 50], {}, (gpu) => ({ uuid: `GPU-n02-${gpu}` }));
  expect(doubtsOn([...nodes, copy], now)).toEqual([
    "2 GPUs are in results of several nodes (n02 and x1): a machine has two names, a result is a copy, or GPUs were moved.",
  ]);
  expect(doubtsOn([...nodes, { ...copy, notice: "emulated" }], now)).toEqual([]);
  expect(doubtsOn(nodes, now)).toEqual([]);
  // Two of them, each with another node.
  const uuids = ["GPU-n01-0", "GPU-n03-1"];
  const moved = fleetNode("x2", [50, 50], {}, (gpu) => ({ uuid: uuids[gpu]! }));
  expect(doubtsOn([...nodes, moved], now)[0]).toMatch(/^2 GPUs are in .* \(n01, x2 and n03\): /);
  const one = fleetNode("x3", [50], {}, () => ({ uuid: uuids[0]! }));
  expect(doubtsOn([...nodes, one], now)[0]).toMatch(/^1 GPU is in results of several nodes \(n01 and x3\): /);
});

it("a UUID that several GPUs of a result have identifies none of them", () => {
  const result = nodeResult("n01", {
    gpus: 3,
    device: (gpu) => ({ uuid: gpu === 2 ? "GPU-2" : "GPU-same" }),
  });
  expect(figuresOfNode(result, null).devices.map(({ uuid }) => uuid)).toEqual([null, null, "GPU-2"]);
});

it("a result from the future shows a wrong clock, beyond what clocks differ by", () => {
  expect(doubtsOn([...nodes, at("n04", "2026-11-20T12:09:00.000Z")], now)).toEqual([]);
  expect(doubtsOn([...nodes, at("n04", "2026-11-20T12:11:00.000Z")], now)).toEqual([
    "The clock of n04 is wrong: a result is of 2026-11-20 12:11 UTC, in the future.",
  ]);
  // A result of another decade makes no other one old.
  const two = [at("n04", "2036-11-20T12:11:00.000Z"), at("n05", "2036-11-20T12:12:00.000Z")];
  expect(doubtsOn([...nodes, ...two], now)).toEqual([
    "The clocks of n04 and n05 are wrong: a result is of 2036-11-20 12:11 UTC, in the future.",
  ]);
});

it("a result that is more than a month older than the latest is old", () => {
  expect(doubtsOn([...nodes, at("n04", "2026-10-21T09:00:00.000Z")], now)).toEqual([]);
  expect(doubtsOn([...nodes, at("n04", "2026-10-20T09:00:00.000Z")], now)).toEqual([
    "The result of n04 is 31 days older than the latest: measure again.",
  ]);
  const two = [at("n04", "2026-10-20T09:00:00.000Z"), at("n05", "2026-10-18T09:00:00.000Z")];
  expect(doubtsOn([...nodes, ...two], now)).toEqual([
    "The results of n05 and n04 are up to 33 days older than the latest: measure again.",
  ]);
});

it("nodes of which --since leaves out all results are named", () => {
  const left = [at("n01", "2026-10-20T09:00:00.000Z"), ..."56789".split("").map((i) => at(`m${i}`, now))];
  expect(leftOutText(left, nodes, "2026-11-01T00:00:00.000Z")).toEqual([
    "5 nodes are not judged, because all results are from before 2026-11-01 00:00 UTC: m5, m6, m7 and 2 more.",
  ]);
  expect(leftOutText(left.slice(0, 1), nodes, now)).toEqual([]);
  // With two results, a node is one.
  expect(leftOutText([left[1]!, left[1]!], nodes, now)).toEqual([
    "1 node is not judged, because all results are from before 2026-11-20 12:00 UTC: m5.",
  ]);
});

it("rates of most GPUs above their link are in doubt, and the first lines say so", () => {
  const fleet = judged([], { nodes: nodesOf(4, (node) => [node === 0 ? 50 : 80]) });
  const doubt =
    "3 GPUs copied more than their link carries (63 GB/s): NVML misreports the link, or the clocks are wrong, so shares of healthy rates are not valid";
  expect(fleet.doubts).toEqual([`${doubt}.`]);
  // That they are faster than a reference is nothing new then.
  const referenceOf = () => ({ h2d: 50, d2h: 50, together: null, tolerance: 0.05, source: "x" });
  const known = judged([], { nodes: nodesOf(4, (node) => [node === 0 ? 50 : 80]), referenceOf });
  expect(known.doubts).toEqual([`${doubt}.`]);
  const answer = fleetAnswer(fleet, fleetCellNames(fleet, { showsIds: false }));
  expect(answer.map(({ text }) => text)).toContain(doubt);
});
