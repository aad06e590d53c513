import { factName } from "./fleet-document.js";
import { type DeviceFigures, type Link, linkText, type NodeFigures } from "./node-figures.js";
import { type NodeGroup, tellingFacts, usualFact } from "./node-groups.js";

/** So much of a group has a fact in common, for one that differs to be told. */
const usualShare = 0.75;

/**
 * What an outlier's result tells besides, a sentence each: links that are slower than they can be, and facts in which its
 * node differs from most of its group. It is no proof, and where to look first. `device` is null for a node as a whole.
 */
export function evidenceOf(node: NodeFigures, device: DeviceFigures | null, { nodes }: NodeGroup): string[] {
  const usualOnes = tellingFacts
    // The links are told GPU by GPU.
    .filter((fact) => fact !== "linkUnderLoad")
    .flatMap((fact) => {
      const own = node.facts[fact] ?? null;
      const usual = usualFact(nodes, fact);
      if (own === null || usual === null || usual.value === own) return [];
      if (usual.nodes < usualShare * nodes.length) return [];
      return [`Its ${factName(fact)}: ${own}; ${usual.nodes} of ${nodes.length} nodes have ${usual.value}.`];
    });
  return [...linkEvidence(node, device, nodes), ...usualOnes];
}

/** Whether a link of the GPU, or of the node, ran at less than card and slot can do. */
export function isTrainedDown(node: NodeFigures, device: DeviceFigures | null): boolean {
  return (device === null ? node.devices : [device]).some(
    ({ link, linkCapability }) =>
      link !== null && linkCapability !== null && rateOf(link) < rateOf(linkCapability),
  );
}

function linkEvidence(
  node: NodeFigures,
  device: DeviceFigures | null,
  nodes: readonly NodeFigures[],
): string[] {
  const known = (device === null ? node.devices : [device]).filter(({ link }) => link !== null);
  const usual = usualLink(nodes);
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
    `${which} ran at ${links} under load${can ? `, and can do ${best}` : ", slower than those of most of its like"}.`,
  ];
}

/** The rate of most GPUs' links, in the unit of `rateOf()`; 0 where none is known. */
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
