import { listed } from "../draw/words.js";
import { groupBy } from "../stats/group-by.js";
import { factName } from "./fleet-document.js";
import { laneRate, linkText, type NodeFigures, type NodeGroup } from "./node-figures.js";

/*
 * Nodes are compared if they have the same GPUs and the same best link of card and slot. The link under load is
 * ignored: otherwise a node whose link trained down would be in a group of its own. Drivers, kernels and hosts are
 * ignored too: if one makes some nodes slower, that is the finding.
 */

/** Facts to report if all slow nodes share them and no other node has them. */
const tellingFacts = [
  "linkUnderLoad",
  "gpuCount",
  "driver",
  "kernel",
  "cpu",
  "governor",
  "transparentHugePages",
  "usableCpus",
  "numaNodes",
  "virtualization",
  "container",
  "workersOn",
  "pinbench",
] as const;

/** Groups of nodes, largest first. All nodes have figures. */
export function groupNodes(nodes: readonly NodeFigures[]): NodeGroup[] {
  const models = groupBy(nodes, ({ facts }) => JSON.stringify([facts.backend, facts.gpu]));
  const groups = [...models.values()].flatMap(groupsByLink);
  return groups.sort(
    (a, b) => b.nodes.length - a.nodes.length || (a.nodes[0]!.host < b.nodes[0]!.host ? -1 : 1),
  );
}

/** Groups by link. Nodes with an unknown link join the largest group. Smaller groups get a note. */
function groupsByLink(nodes: readonly NodeFigures[]): NodeGroup[] {
  const known = groupBy(nodes, ({ facts }) => facts.linkCapability ?? "");
  known.delete("");
  const [usual, { length: count }] = [...known].sort(([, a], [, b]) => b.length - a.length)[0] ?? ["", []];
  return [...groupBy(nodes, ({ facts }) => facts.linkCapability ?? usual)].map(([link, part]) => ({
    facts: { ...commonFacts(part), linkCapability: link || null },
    nodes: part,
    notes: part.length >= count ? [] : [otherLink(part.length, link, count, usual)],
  }));
}

function otherLink(count: number, own: string, others: number, usual: string): string {
  const links = count === 1 ? "Its link" : "Their links";
  return `${links} can do ${own}, and ${others} nodes that are otherwise alike ${usual}: look for another slot, riser or setting of the firmware.`;
}

/** Facts that all nodes share; for `gpuCount` the most frequent value, so that a lost GPU is noticed. */
function commonFacts(nodes: readonly NodeFigures[]): Record<string, string | null> {
  const valuesOf = (fact: string) => groupBy(nodes, ({ facts }) => facts[fact] ?? "");
  const shared = ["backend", "gpu", ...tellingFacts].flatMap((fact) => {
    const [value, ...others] = valuesOf(fact).keys();
    return others.length === 0 && value ? [[fact, value]] : [];
  });
  const [usual] = [...valuesOf("gpuCount")].sort(([, a], [, b]) => b.length - a.length);
  return { ...Object.fromEntries(shared), gpuCount: usual![0] || null };
}

/** Links under load that were slower than card and slot support, of a node's GPUs or of one. */
export function trainedDown({ devices }: NodeFigures, device: number | null): string[] {
  const slow = devices.filter(({ link, linkCapability }, index) => {
    const isMeant = device === null || device === index;
    return isMeant && link !== null && linkCapability !== null && laneRate(link) < laneRate(linkCapability);
  });
  if (slow.length === 0) return [];
  const links = listed([...new Set(slow.map(({ link }) => linkText(link)!))]);
  const best = listed([...new Set(slow.map(({ linkCapability }) => linkText(linkCapability)!))]);
  const which = device === null ? `The links of ${slow.length} of its ${devices.length} GPUs` : "Its link";
  return [`${which} ran at ${links} under load, and can do ${best}.`];
}

/** Facts, slots and labels that all of `some` have and none of `others`: "driver 580.1". */
export function separating(some: readonly NodeFigures[], others: readonly NodeFigures[]): string[] {
  if (others.length === 0) return [];
  const [first, ...alike] = some.map(traitsOf);
  const different = others.map(traitsOf);
  return [...(first ?? [])].filter(
    (trait) => alike.every((traits) => traits.has(trait)) && !different.some((traits) => traits.has(trait)),
  );
}

function traitsOf({ facts, labels, devices }: NodeFigures): Set<string> {
  const { node: _, ...own } = labels;
  const traits = [
    ...tellingFacts.map((fact) => [factName(fact), facts[fact]] as const),
    ...devices.map(({ pciBusId }) => ["slot", pciBusId] as const),
    ...Object.entries(own),
  ];
  return new Set(traits.flatMap(([name, value]) => (value == null ? [] : `${name} ${value}`)));
}
