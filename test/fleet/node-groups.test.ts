import { describe, expect, it } from "vitest";
import { figuresOfNode, groupNodes } from "../../src/fleet/node-figures.js";
import type { LinkRecord } from "../../src/results/schema-parts.js";
import { type NodePart, nodeResult } from "../helpers/node-results.js";

const link = (part: Partial<LinkRecord>) => ({
  link: {
    ...{ generation: 5, width: 16, maxGeneration: 5, maxWidth: 16, smClockMHz: null, memoryClockMHz: null },
    ...part,
  },
});

/** The hosts of each group, of nodes whose names begin with a letter that says which part they have. */
function groupsOf(counts: Readonly<Record<string, readonly [number, NodePart]>>) {
  const nodes = Object.entries(counts).flatMap(([letter, [count, part]]) =>
    Array.from({ length: count }, (_, i) => figuresOfNode(nodeResult(`${letter}${i}`, part), null)),
  );
  return groupNodes(nodes);
}

/** How many nodes of each letter a group has, such as "a12 b1". */
function described(groups: ReturnType<typeof groupNodes>): string[] {
  return groups.map(({ nodes }) => {
    const letters = [...new Set(nodes.map(({ host }) => host[0]!))].sort();
    return letters.map((letter) => letter + nodes.filter(({ host }) => host[0] === letter).length).join(" ");
  });
}

describe("nodes are divided by what they are", () => {
  it("but one whose link is not known is of the largest part that it is like, whatever that one's link", () => {
    const slower: NodePart = { device: () => link({ maxGeneration: 4 }) };
    const unknown: NodePart = { device: () => link({ maxGeneration: null, maxWidth: null }) };
    expect(described(groupsOf({ a: [3, slower], b: [9, {}], c: [1, unknown] }))).toEqual(["b9 c1", "a3"]);
    expect(described(groupsOf({ a: [9, slower], b: [3, {}], c: [1, unknown] }))).toEqual(["a9 c1", "b3"]);
  });

  it.each<[string, NodePart]>([
    ["GPU", { device: () => ({ name: "NVIDIA A100-SXM4-80GB" }) }],
    ["CPU", { document: { host: { cpuModel: "AMD EPYC 9654" } } }],
    ["link that card and slot can do", { device: () => link({ generation: 4, maxGeneration: 4 }) }],
    ["backend", { document: { backend: "emulated" } }],
  ])("%s, however few they are", (_, part) => {
    expect(described(groupsOf({ a: [12, {}], b: [1, part] }))).toEqual(["a12", "b1"]);
  });

  it.each<[string, NodePart]>([
    ["driver", { document: { driverVersion: "535.104" } }],
    ["number of GPUs", { gpus: 1 }],
  ])("%s, if eight or more share it", (_, part) => {
    expect(described(groupsOf({ a: [12, {}], b: [8, part] }))).toEqual(["a12", "b8"]);
    expect(described(groupsOf({ a: [12, {}], b: [7, part] }))).toEqual(["a12 b7"]);
    expect(described(groupsOf({ a: [3, {}], b: [2, part] }))).toEqual(["a3 b2"]);
  });

  it.each<[string, NodePart]>([
    ["a link that trained down", { device: () => link({ width: 8 }) }],
    [
      "one GPU's link that can do less than the others'",
      { device: (gpu) => (gpu === 0 ? link({ maxWidth: 8 }) : {}) },
    ],
    ["another kernel", { document: { host: { kernel: "5.4.0" } } }],
  ])("and not by %s: it would hide among its like", (_, part) => {
    expect(described(groupsOf({ a: [12, {}], b: [12, part] }))).toEqual(["a12 b12"]);
  });
});

it("nodes whose link is not known join those that they are otherwise like", () => {
  expect(described(groupsOf({ a: [12, {}], b: [2, { device: () => ({ link: null }) }] }))).toEqual([
    "a12 b2",
  ]);
  expect(described(groupsOf({ b: [2, { device: () => ({ link: null }) }] }))).toEqual(["b2"]);
});

it.each([
  [1, "Its link"],
  [10, "Their links"],
])("nodes whose links can do less than those of more others are reported: %d", (count, links) => {
  const groups = groupsOf({ a: [12, {}], b: [count, { device: () => link({ width: 8, maxWidth: 8 }) }] });
  expect(groups.map(({ notes }) => notes)).toEqual([
    [],
    [
      `${links} can do gen5 x8, and 12 nodes that are otherwise alike gen5 x16: look for another slot, riser or setting of the firmware.`,
    ],
  ]);
});

it("a group says what all of its nodes share, and what most have of what divides them", () => {
  const [group] = groupsOf({ a: [12, {}], b: [1, { gpus: 1, document: { host: { kernel: "5.4.0" } } }] });
  expect(group!.facts).toMatchObject({ gpu: "NVIDIA H200", gpuCount: "2", linkCapability: "gen5 x16" });
  expect(group!.facts).not.toHaveProperty("kernel");
});
