import { describe, expect, it } from "vitest";
import { groupNodes, type NodeFigures } from "../../src/fleet/node-figures.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, nodesOf, wobble } from "../helpers/plain-nodes.js";

type Facts = Record<string, string | null>;
const times = (count: number, letter: string, more: Facts = {}) =>
  Array.from({ length: count }, (_, i) =>
    fleetNode(`${letter}${i}`, [50], { facts: { ...facts, gpuCount: "2", ...more } }),
  );
/** How many nodes of each letter each group has, such as "a12 b1". */
const groupsOf = (...nodes: NodeFigures[][]) =>
  groupNodes(nodes.flat()).map((group) => {
    const letters = [...new Set(group.nodes.map(({ host }) => host[0]!))].sort();
    return letters.map((one) => one + group.nodes.filter(({ host }) => host[0] === one).length).join(" ");
  });
const [x8, unknown] = [{ linkCapability: "gen5 x8" }, { linkCapability: null }];
const of12 = times(12, "a");

it.each<[string, NodeFigures[][], string[]]>([
  ["by GPU, however few they are", [of12, times(1, "b", { gpu: "NVIDIA A100" })], ["a12", "b1"]],
  ["by CPU", [of12, times(1, "b", { cpu: "EPYC" })], ["a12", "b1"]],
  ["by link", [of12, times(1, "b", x8)], ["a12", "b1"]],
  ["by backend", [of12, times(1, "b", { backend: "emulated" })], ["a12", "b1"]],
  ["by driver, if eight or more share it", [of12, times(8, "b", { driver: "535" })], ["a12", "b8"]],
  ["not by the driver of seven", [of12, times(7, "b", { driver: "535" })], ["a12 b7"]],
  ["not by that of two of five", [times(3, "a"), times(2, "b", { driver: "535" })], ["a3 b2"]],
  ["by the number of GPUs of eight", [of12, times(8, "b", { gpuCount: "1" })], ["a12", "b8"]],
  ["not by that of seven", [of12, times(7, "b", { gpuCount: "1" })], ["a12 b7"]],
  [
    "not by kernel, which would hide among its like",
    [of12, times(12, "b", { kernel: "5.4.0" })],
    ["a12 b12"],
  ],
  [
    "into the largest that they are like, without a known link",
    [times(3, "a", x8), times(9, "b"), times(1, "c", unknown)],
    ["b9 c1", "a3"],
  ],
  [
    "into the largest, whatever its link",
    [times(9, "a", x8), times(3, "b"), times(1, "c", unknown)],
    ["a9 c1", "b3"],
  ],
  [
    "not with others, if all else is not alike",
    [times(3, "a"), times(1, "c", { ...unknown, cpu: "EPYC" })],
    ["a3", "c1"],
  ],
  ["together, if no link is known", [times(2, "b", unknown)], ["b2"]],
  [
    "largest first, and of one size by name",
    [times(1, "b", { cpu: "1" }), times(1, "a", { cpu: "2" }), times(2, "d", { cpu: "3" })],
    ["d2", "a1", "b1"],
  ],
  [
    "with few of a third driver in the largest",
    [times(9, "a", { driver: "1" }), times(8, "b", { driver: "2" }), times(7, "c", { driver: "3" })],
    ["a9 c7", "b8"],
  ],
])("nodes are divided %s", (_, nodes, groups) => {
  expect(groupsOf(...nodes)).toEqual(groups);
});

it.each([
  [1, 12, x8, "Its link"],
  [10, 12, x8, "Their links"],
  [2, 3, x8, "Their links"],
  [8, 8, x8, null],
  [2, 8, { ...x8, cpu: "EPYC" }, null],
])(
  "%d nodes whose links can do less than those of %d that are alike in all else are reported",
  (count, larger, other, links) => {
    const groups = groupNodes([...times(larger, "a"), ...times(count, "b", other)]);
    const note = `${links} can do gen5 x8, and ${larger} nodes that are otherwise alike gen5 x16: look for another slot, riser or setting of the firmware.`;
    expect(groups.map(({ notes }) => notes)).toEqual([[], links === null ? [] : [note]]);
  },
);

it("a group has the facts that all of its nodes share, and what most have of what divides them", () => {
  const [group] = groupNodes([...of12, ...times(1, "b", { gpuCount: "1", kernel: "5.4" })]);
  expect(group!.facts).toMatchObject({ gpu: "NVIDIA H200", gpuCount: "2", linkCapability: "gen5 x16" });
  expect(group!.facts).not.toHaveProperty("kernel");
});

describe("half of the nodes that are slower, and have something else, are noted, though they are judged by themselves", () => {
  const notes = (kept: number, own: Facts, { gpus = 1, back = 1 } = {}) => {
    const nodes = nodesOf(
      16,
      (node) => {
        const isOwn = node < 8;
        const rate = 50 * wobble(node);
        const figures = {
          pinned: rate * (isOwn ? kept : 1),
          back: rate * (isOwn ? back : 1),
          pageable: isOwn ? 5 : 10,
        };
        return Array.from({ length: isOwn ? 1 : gpus }, () => figures);
      },
      (node) => ({ facts: { ...facts, gpuCount: String(node < 8 ? 1 : gpus), ...(node < 8 && own) } }),
    );
    return judged([], { nodes }).groups.flatMap((group) => group.notes);
  };

  it.each([
    ["another driver", { driver: "550" }, 1, "driver 550 instead of 580"],
    ["a driver that is not known", { driver: null }, 1, "driver not known instead of 580"],
    ["fewer GPUs", {}, 2, "number of GPUs 1 instead of 2"],
  ])("%s", (_, own, gpus, apart) => {
    expect(notes(0.92, own, { gpus })).toEqual([
      `Its GPUs are 8 % slower than those of group 2 in h2d pinned 64 MiB; ${apart}.`,
    ]);
  });

  it("by the cell with the largest loss, if that counts, beside nodes that are alike in all else", () => {
    expect(notes(0.92, { driver: "550" }, { back: 0.7 })).toEqual([
      expect.stringMatching(/^Its GPUs are 30 % slower than those of group 2 in d2h pinned 64 MiB; /),
    ]);
    expect(notes(0.97, { driver: "550" })).toEqual([]);
    expect(notes(0.92, { driver: "550", cpu: "EPYC" })).toEqual([]);
  });
});
