import { factName } from "./fleet-document.js";
import {
  type DeviceFigures,
  type Link,
  linkText,
  type NodeFigures,
  type NodeGroup,
  tellingFacts,
  usualFact,
} from "./node-figures.js";

/** Smallest share of a group with a common fact for which a different node is reported. */
const usualShare = 0.75;

/**
 * Further evidence in an outlier's result, a sentence each: links that are slower than they can be, and facts in which its
 * node differs from most of its group. It is no proof, and where to look first. `device` is null for a node as a whole.
 */
export function evidenceOf(node: NodeFigures, device: DeviceFigures | null, { nodes }: NodeGroup): string[] {
  const { facts, link } = usualOf(nodes);
  const usualOnes = facts.flatMap(([fact, usual]) => {
    const own = node.facts[fact] ?? null;
    if (own === null || usual.value === own) return [];
    return [`Its ${factName(fact)}: ${own}; ${usual.nodes} of ${nodes.length} nodes have ${usual.value}.`];
  });
  return [...linkEvidence(node, device, link), ...usualOnes];
}

/** What most of a group's nodes have. */
interface Usual {
  facts: readonly (readonly [fact: string, usual: { value: string; nodes: number }])[];
  /** The rate of most GPUs' links, in the unit of `rateOf()`; 0 if none is known. */
  link: number;
}

/** Counted once a group: thousands of its GPUs may be slow. */
const usualOnes = new WeakMap<readonly NodeFigures[], Usual>();

function usualOf(nodes: readonly NodeFigures[]): Usual {
  const known = usualOnes.get(nodes);
  if (known !== undefined) return known;
  const facts = tellingFacts
    // The links are reported by GPU.
    .filter((fact) => fact !== "linkUnderLoad")
    .flatMap((fact) => {
      const usual = usualFact(nodes, fact);
      return usual === null || usual.nodes < usualShare * nodes.length ? [] : [[fact, usual] as const];
    });
  const usual = { facts, link: usualLink(nodes) };
  usualOnes.set(nodes, usual);
  return usual;
}

/** Whether a link of the GPU, or of the node, ran at less than card and slot can do. */
export function isTrainedDown(node: NodeFigures, device: DeviceFigures | null): boolean {
  return (device === null ? node.devices : [device]).some(
    ({ link, linkCapability }) =>
      link !== null && linkCapability !== null && rateOf(link) < rateOf(linkCapability),
  );
}

function linkEvidence(node: NodeFigures, device: DeviceFigures | null, usual: number): string[] {
  const known = (device === null ? node.devices : [device]).filter(({ link }) => link !== null);
  const slow = known.filter(({ link, linkCapability }) => {
    return rateOf(link!) < Math.max(usual, linkCapability === null ? 0 : rateOf(linkCapability));
  });
  if (slow.length === 0) return [];
  const links = [...new Set(slow.map(({ link }) => linkText(link)))].join(", ");
  const best = [...new Set(slow.map(({ linkCapability }) => linkText(linkCapability)))].join(", ");
  const which = device !== null ? "Its link" : `The links of ${slow.length} of its ${known.length} GPUs`;
  const can = slow.some(
    ({ link, linkCapability }) => linkCapability !== null && rateOf(link!) < rateOf(linkCapability),
  );
  return [
    `${which} ran at ${links} under load${can ? `, and can do ${best}` : ", slower than most of its group"}.`,
  ];
}

function usualLink(nodes: readonly NodeFigures[]): number {
  const counts = new Map<number, number>();
  for (const { link } of nodes.flatMap(({ devices }) => devices)) {
    if (link !== null) counts.set(rateOf(link), (counts.get(rateOf(link)) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}

/** Proportional to what a link can carry: a generation doubles the rate of a lane. */
function rateOf({ generation, width }: Link): number {
  return 2 ** generation * width;
}
