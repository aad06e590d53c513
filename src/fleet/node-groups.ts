import type { NodeFigures } from "./node-figures.js";

/**
 * Which nodes are alike. What the hardware is always divides: backend, GPU, CPU, and the link that card and slot can do.
 * The link as it was under load never does, or a node whose link trained down would hide in a group of its own.
 * Drivers, and the number of GPUs, divide only where at least `enoughToDivide` nodes share a value: a node that has lost
 * a GPU, or that alone has another driver, is held against those that it is otherwise like. What else differs (kernel,
 * governor, huge pages) is evidence on a node, and no reason to compare it to fewer others.
 */

const dividing = ["backend", "gpu", "cpu", "linkCapability"] as const;
const dividingWhereMany = ["gpuCount", "driver"] as const;

/** With fewer nodes of a group, its own spread is hardly known. */
export const enoughToDivide = 8;

/** Facts of which a node's value is told where it is not the one of most nodes of its group. */
export const tellingFacts = [
  "linkUnderLoad",
  "gpuCount",
  "driver",
  "kernel",
  "governor",
  "transparentHugePages",
  "usableCpus",
  "numaNodes",
  "virtualization",
  "container",
  "workersOn",
  "pinbench",
] as const;

/** Nodes that are alike, and what they have in common. */
export interface NodeGroup {
  /** The dividing facts, and those that all nodes of the group share. */
  facts: Record<string, string | null>;
  nodes: readonly NodeFigures[];
  notes: readonly string[];
}

/** The groups of these nodes, all of which have figures; the largest first. */
export function groupNodes(nodes: readonly NodeFigures[]): NodeGroup[] {
  let parts = [...byFact(nodes, ({ facts }) => JSON.stringify(dividing.map((fact) => facts[fact] ?? null)))];
  parts = joinUnknown(parts);
  for (const fact of dividingWhereMany) parts = parts.flatMap((part) => divideWhereMany(part, fact));
  parts.sort((a, b) => b.length - a.length || a[0]!.host.localeCompare(b[0]!.host));
  return parts.map((part) => ({
    facts: commonFacts(part),
    nodes: part,
    notes: oddCapability(part, parts),
  }));
}

function byFact(nodes: readonly NodeFigures[], keyOfNode: (node: NodeFigures) => string): NodeFigures[][] {
  const parts = new Map<string, NodeFigures[]>();
  for (const node of nodes) {
    const key = keyOfNode(node);
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [node]);
    else part.push(node);
  }
  return [...parts.values()];
}

/** Nodes whose link capability is not known (NVML does not tell) join the largest group that they are otherwise like. */
function joinUnknown(parts: NodeFigures[][]): NodeFigures[][] {
  const known = parts.filter(([first]) => first!.facts.linkCapability != null).map((part) => [...part]);
  const unknown = parts.filter(([first]) => first!.facts.linkCapability == null);
  const alone = unknown.filter((part) => {
    const alike = known.filter((other) =>
      differBy(part[0]!, other[0]!).every((fact) => fact === "linkCapability"),
    );
    const [largest] = alike.sort((a, b) => b.length - a.length);
    largest?.push(...part);
    return largest === undefined;
  });
  return [...known, ...alone];
}

function differBy(a: NodeFigures, b: NodeFigures): string[] {
  return dividing.filter((fact) => (a.facts[fact] ?? null) !== (b.facts[fact] ?? null));
}

/** Those who share a value with many stand by themselves; the others join the largest of these, as all do without one. */
function divideWhereMany(nodes: NodeFigures[], fact: (typeof dividingWhereMany)[number]): NodeFigures[][] {
  const parts = byFact(nodes, ({ facts }) => facts[fact] ?? "").sort((a, b) => b.length - a.length);
  const many = parts.filter(({ length }) => length >= enoughToDivide);
  if (many.length === 0) return [nodes];
  const few = parts.slice(many.length).flat();
  return [[...many[0]!, ...few], ...many.slice(1)];
}

/** The value that most of the nodes have, and how many these are; null where none is known. */
export function usualFact(
  nodes: readonly NodeFigures[],
  fact: string,
): { value: string; nodes: number } | null {
  const counts = new Map<string, number>();
  for (const { facts } of nodes) {
    const value = facts[fact] ?? null;
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const [usual] = [...counts].sort(([, a], [, b]) => b - a);
  return usual === undefined ? null : { value: usual[0], nodes: usual[1] };
}

function commonFacts(nodes: readonly NodeFigures[]): Record<string, string | null> {
  const facts: Record<string, string | null> = {};
  for (const fact of [...dividing, ...dividingWhereMany]) facts[fact] = usualFact(nodes, fact)?.value ?? null;
  for (const fact of tellingFacts) {
    const usual = usualFact(nodes, fact);
    if (usual?.nodes === nodes.length) facts[fact] = usual.value;
  }
  return facts;
}

/** Says so where nodes are a group of their own only because their links can do something else than more others'. */
function oddCapability(part: readonly NodeFigures[], parts: readonly (readonly NodeFigures[])[]): string[] {
  const larger = parts.find(
    (other) =>
      other.length >= Math.max(enoughToDivide, part.length + 1) &&
      differBy(part[0]!, other[0]!).join() === "linkCapability",
  );
  if (larger === undefined) return [];
  const own = part[0]!.facts.linkCapability;
  const others = larger[0]!.facts.linkCapability;
  return [
    `${part.length === 1 ? "Its link" : "Their links"} can do ${own}, and ${larger.length} nodes that are otherwise alike ${others}: look for another slot, riser or setting of the firmware.`,
  ];
}
