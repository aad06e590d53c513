import { expect, it } from "vitest";
import type { DeviceFigures, NodeFigures } from "../../src/fleet/node-figures.js";
import { joinResults } from "../../src/fleet/read-fleet.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode, fleetNodes, type GpuFigures, hostOf, nodesOf, wobble } from "../helpers/plain-nodes.js";

/** What fresh processes on slow nodes, and earlier results of them, say. */

const twelve = (figures: readonly GpuFigures[], others: (node: number) => readonly GpuFigures[]) =>
  nodesOf(12, (node) => (node === 5 ? figures : others(node)));
/** Twelve nodes with two GPUs each, of which n05's first is slow. */
const pair = (rate = 40) => twelve([rate, 50], (node) => [50 * wobble(node), 50 * wobble(node)]);
const pageable = twelve([{ pageable: 5 }], (node) => [{ pageable: 10 * wobble(node) }]);
const latency = twelve([{ latency: 8 }], (node) => [{ latency: 4 * wobble(node) }]);
const both = (rate: number): GpuFigures => ({ pinned: rate, back: rate });
const bothWays = twelve([{ pinned: 30, back: 40 }], (node) => [both(50 * wobble(node))]);
const threeGpus = twelve([40, 40, 40], (node) => [50, 50, 50].map((one) => one * wobble(node)));
const slowSlot = nodesOf(12, (node) =>
  Array.from({ length: 4 }, (_, gpu) => (gpu === 1 && node < 5 ? 25 : 50 * wobble(node))),
);
const each = (figures: readonly GpuFigures[]) => fleetNodes(figures.map((figure) => [figure]));
const unnamed = pair().map((node) => ({
  ...node,
  devices: node.devices.map((one) => ({ ...one, uuid: null })),
}));
const scattered = each([50, 27, 48, 52, 46, 54, 49, 51]);
const twoScattered = each([50, 27, 48, 28, 46, 54, 49, 51, 52, 47]);

/** Fresh figures of a node's GPUs, by its number. */
const again = (
  node: number,
  figures: readonly GpuFigures[],
  device?: (gpu: number) => Partial<DeviceFigures>,
) => fleetNode(hostOf(node), figures, {}, device);
const of5 = (...figures: GpuFigures[]) => [again(5, figures)];
const [confirmed, cleared, open] = ["n05 0 confirmed", "n05 0 cleared", "n05 0 open"];

it.each<[string, readonly NodeFigures[], readonly NodeFigures[], readonly string[]]>([
  ["its loss is there again", pair(), of5(40, 50), [confirmed]],
  ["its figure would be slow by itself", pair(), of5(47.4, 50), [confirmed]],
  ["its figure would not", pair(), of5(47.6, 50), [cleared]],
  ["half of a small loss is there again", pair(47.25), of5(48.5, 50), [confirmed]],
  ["less than half of a small loss is", pair(47.25), of5(48.7, 50), [cleared]],
  ["only another GPU of its node is slow", pair(), of5(48.8, 30), [cleared]],
  ["half of a pageable loss is there again", pageable, of5({ pageable: 6 }), [confirmed]],
  ["it is slower than others, but by less than half of the loss", pageable, of5({ pageable: 8 }), [cleared]],
  ["its latency is long again", latency, of5({ latency: 8 }), [confirmed]],
  ["its latency is not", latency, of5({ latency: 4 }), [cleared]],
  ["one of its two slow cells is slow again", bothWays, of5({ pinned: 50, back: 40 }), [confirmed]],
  ["the other one is", bothWays, of5({ pinned: 30, back: 50 }), [confirmed]],
  ["neither is", bothWays, of5(both(50)), [cleared]],
  ["the fresh process lacks the cell", pair(), of5({ latency: 4 }, 50), [open]],
  ["the fresh process has an empty figure", pair(), of5(0, 50), [open]],
  ["another node was measured again", pair(), [again(6, [30, 30])], [open]],
  [
    "it is slow at another ordinal",
    pair(),
    [again(5, [50, 30], (gpu) => ({ uuid: `GPU-n05-${1 - gpu}` }))],
    [confirmed],
  ],
  [
    "its ordinal is another GPU's now",
    pair(),
    [again(5, [30, 50], (gpu) => ({ uuid: `GPU-n05-${1 - gpu}` }))],
    [cleared],
  ],
  ["other GPUs are in the node now", pair(), [again(5, [30, 30], () => ({ uuid: "another" }))], [open]],
  ["it is alone in the fresh process", pair(), [again(5, [30], () => ({ uuid: "GPU-n05-0" }))], [confirmed]],
  ["its ordinal is slow, without UUIDs", unnamed, [again(5, [30, 50], () => ({ uuid: null }))], [confirmed]],
  [
    "another ordinal is, without UUIDs",
    unnamed,
    [again(5, [30, 50], (gpu) => ({ uuid: null, ordinal: 1 - gpu }))],
    [cleared],
  ],
  ["most GPUs of a slow node are slow again", threeGpus, of5(40, 40, 50), ["n05 all confirmed"]],
  ["fewer are", threeGpus, of5(40, 50, 50), ["n05 all cleared"]],
  ["pinned copies that scatter are slow twice", scattered, [again(1, [27])], ["n01 0 confirmed"]],
  ["it is one of two suspects, and one is measured", twoScattered, [again(1, [21])], ["n01 0 confirmed"]],
  ["two suspects are no slower than by chance", twoScattered, [again(1, [21]), again(3, [21])], []],
  [
    "two suspects are far slower",
    twoScattered,
    [again(1, [10]), again(3, [11])],
    ["n01 0 confirmed", "n03 0 confirmed"],
  ],
  [
    "it is far below pageable copies that scatter, again",
    each([12, 6, 0.35].map((pageable) => ({ pageable }))),
    [again(2, [{ pageable: 0.35 }])],
    ["n02 0 confirmed"],
  ],
  [
    "it is far below pinned copies that scatter, again",
    each([50, 40, 16]),
    [again(2, [16])],
    ["n02 0 confirmed"],
  ],
  ["it is no longer far below them", each([50, 40, 16]), [again(2, [40])], ["n02 0 cleared"]],
  [
    "its slot is no longer slow",
    slowSlot,
    [0, 1, 2, 3, 4].map((node) => again(node, [50, 50, 50, 50])),
    [0, 1, 2, 3, 4].map((node) => `n0${node} 1 cleared`),
  ],
  ["it was one of two parts, and is as fast as the other", each([50, 25]), [again(1, [49])], ["a note"]],
  ["it is just above the middle of two parts", each([50, 25]), [again(1, [35.5])], ["a note"]],
  ["it is just below the middle", each([50, 25]), [again(1, [35.2])], ["n01 slow part"]],
  [
    "one of two cells of its part is slow again",
    each([both(50), both(25)]),
    [again(1, [{ pinned: 49, back: 25 }])],
    ["n01 slow part"],
  ],
  [
    "the other node of its part was not measured",
    each([50, 50, 50, 25, 25]),
    [again(3, [49])],
    ["n04 0 open", "n03 0 cleared", "n03,n04 slow part"],
  ],
  [
    "the other node of its part is slow again",
    each([50, 50, 50, 25, 25]),
    [again(3, [49]), again(4, [25])],
    ["n04 0 confirmed", "n03 0 cleared", "n03,n04 slow part"],
  ],
  [
    "both nodes of its part are fast",
    each([50, 50, 50, 25, 25]),
    [again(3, [49]), again(4, [49])],
    ["n03 0 cleared", "n04 0 cleared", "a note"],
  ],
])("a slow GPU is confirmed, cleared or left open if %s", (_, nodes, fresh, expected) => {
  const { outliers, cleared: ofFresh, groups } = judged([], { nodes, fresh });
  const [{ slowPart, notes, slowPlaces }] = groups as [(typeof groups)[number]];
  expect([
    ...outliers.map(
      ({ host, device, confirmed: is }) => `${host} ${device ?? "all"} ${is ? "confirmed" : "open"}`,
    ),
    ...ofFresh.map(({ host, device }) => `${host} ${device ?? "all"} cleared`).sort(),
    ...(slowPart === null ? [] : [`${slowPart.hosts} slow part`]),
    ...notes.map(() => "a note"),
    ...slowPlaces.map(({ place }) => place),
  ]).toEqual(expected);
  for (const one of ofFresh) expect(one).toMatchObject({ confirmed: false, since: null, action: "none" });
});

it("other copies that scatter make no suspect, and half of the nodes are no processes that were far off", () => {
  const others = [50, 30, 48, 52, 46, 54, 49, 51].map((rate) => ({ pageable: rate }));
  for (const fresh of [[], [again(1, [{ pageable: 27 }])]])
    expect(judged([], { nodes: each(others), fresh })).toMatchObject({ outliers: [], suspects: [] });
  const two = judged([], { nodes: twoScattered, fresh: [again(1, [10]), again(3, [11])] });
  expect(two.outliers.map(({ cells }) => cells.map(({ figure }) => Math.round(figure)))).toEqual([
    [10],
    [11],
  ]);
  const half = judged([], { nodes: each([50, 50, 50, 50, 25, 25, 25, 25]) });
  expect(half).toMatchObject({ groups: [{ slowPart: { hosts: [4, 5, 6, 7].map(hostOf) } }], suspects: [] });
});

it("a fresh process with wrong data changes the node's state, and one that failed does not", () => {
  const wrong = { state: "wrong data", reason: "copies came back wrong" } as const;
  const { nodes } = judged([], {
    nodes: pair(),
    fresh: [fleetNode("n03", [50], wrong), fleetNode("n04", [50], { state: "failed", reason: "x" })],
  });
  expect(nodes.slice(3, 5)).toMatchObject([
    { state: "wrong data", action: "isolate", reason: "copies came back wrong, when it was measured again" },
    { state: "measured", action: "none", reason: null },
  ]);
});

const on = (day: number) => `2026-11-${day}T09:00:00.000Z`;

// The loss is 0.2231, of which half is left at 44.72.
it.each<[string, Readonly<Record<number, GpuFigures>>, number, number | null]>([
  ["the only result", { 20: 40 }, 20, null],
  ["the earliest that shows half of the loss", { 18: 44.9, 19: 44.6, 20: 40 }, 19, 18],
  ["the first of all, if none shows it healthy", { 18: 40, 20: 40 }, 18, null],
  ["the earliest in a row", { 17: 40, 18: 50, 19: 40, 20: 40 }, 19, 18],
  ["not one without a figure of it", { 18: 50, 19: {}, 20: 40 }, 20, 18],
])("a GPU is slow since %s", (_, figures, since, lastHealthy) => {
  const results = Object.entries(figures).map(([day, figure]) => {
    return fleetNode("n05", [figure, 50], { startedAt: on(Number(day)), runId: `run of ${day}` });
  });
  const nodes = joinResults([...pair().filter(({ host }) => host !== "n05"), ...results]);
  expect(judged([], { nodes }).outliers).toMatchObject([
    { host: "n05", since: { startedAt: on(since), lastHealthy: lastHealthy && on(lastHealthy) } },
  ]);
  const timeless = pair().map((node) => ({ ...node, startedAt: null }));
  expect(judged([], { nodes: timeless }).outliers[0]!.since).toBeNull();
});
