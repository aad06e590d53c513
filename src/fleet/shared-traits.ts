import { hypergeometricTail } from "../stats/hypothesis-tests.js";
import { type FleetDocument, type FleetOutlier, factName } from "./fleet-document.js";
import { countOf } from "./fleet-wording.js";
import type { NodeFigures } from "./node-figures.js";
import { tellingFacts } from "./node-groups.js";

/** By chance what is slow shares a trait, or a place, less often than this, over all that are looked at. */
export const mostChance = 0.01;

/**
 * Labels (rack, switch) and facts (driver, kernel) that slow nodes have more often than chance gives: the upper tail of the
 * hypergeometric distribution (R. A. Fisher's exact test, one-sided), with Bonferroni's correction over all values that
 * several nodes have. The most telling first; of traits of the very same nodes, the first alone.
 */
export function sharedTraits(
  nodes: readonly NodeFigures[],
  outliers: readonly Pick<FleetOutlier, "host">[],
): FleetDocument["shared"] {
  const slow = new Set(outliers.map(({ host }) => host));
  const judged = nodes.filter(({ devices }) => devices.some(({ figures }) => figures.size > 0));
  if (slow.size < 2 || slow.size === judged.length) return [];
  const hosts = new Map<string, { trait: string; value: string; hosts: string[] }>();
  for (const { host, labels, facts } of judged) {
    const traits = [
      ...Object.entries(labels).map(([name, value]) => [name, value] as const),
      ...tellingFacts.map((fact) => [factName(fact), facts[fact] ?? null] as const),
    ];
    for (const [trait, value] of traits) {
      if (value === null) continue;
      const key = JSON.stringify([trait, value]);
      const one = hosts.get(key) ?? { trait, value, hosts: [] };
      one.hosts.push(host);
      hosts.set(key, one);
    }
  }
  const common = [...hosts.values()].filter(
    (one) => one.hosts.length > 1 && one.hosts.length < judged.length,
  );
  const found = common
    .map((one) => {
      const both = one.hosts.filter((host) => slow.has(host)).length;
      const chance = hypergeometricTail(both, judged.length, one.hosts.length, slow.size);
      return { ...one, both, chance: Math.min(1, chance * common.length) };
    })
    .filter(({ both, chance }) => both > 1 && chance < mostChance)
    .sort((a, b) => a.chance - b.chance);
  const told = new Set<string>();
  return found.flatMap(({ trait, value, hosts: having, both, chance }) => {
    const same = having.join();
    if (told.has(same)) return [];
    told.add(same);
    const which = both === slow.size ? `All ${slow.size} slow nodes` : `${both} of ${slow.size} slow nodes`;
    const others = countOf(having.length - both, "healthy node");
    return [
      {
        ...{ trait, value, slow: both, nodes: having.length, chance },
        reason: `${which} have ${trait} ${value}, and ${having.length === both ? "no healthy node does" : `so ${having.length - both === 1 ? "has" : "have"} ${others}`}.`,
      },
    ];
  });
}
