// Rates of a fleet rule on simulated fleets: slow nodes found, and healthy nodes flagged.

import { judgeFleet } from "../../dist/fleet/judge-fleet.js";
import * as figuresNow from "../../dist/fleet/node-figures.js";
import { expectationOf } from "../../dist/reference/expectation.js";
import { normalsOf } from "../lib/random.mjs";
import { kinds, simulatedFleet } from "./simulated-fleet.mjs";

const request = {
  ...{ version: "0", createdAt: "2026-01-01T00:00:00.000Z" },
  ...{ notes: [], referenceOf: expectationOf },
};

/** This checkout's rule with its usual thresholds. */
export const ruleNow = (nodes, fresh = []) =>
  judgeFleet({ ...request, nodes, fresh, rule: { threshold: null } });

/** The rule of another checkout, compiled to `dist`, with the threshold of 5 % that it used. */
export async function ruleOf(dist) {
  const [{ judgeFleet: judgeThen }, figuresThen, reference] = await Promise.all(
    ["fleet/judge-fleet.js", "fleet/node-figures.js", "doctor/expectation.js"].map(
      (file) => import(`${dist}/${file}`),
    ),
  );
  // keyOf() registers a kind, and each checkout has its own list.
  for (const { kind } of kinds) figuresThen.keyOf(kind);
  const referenceOf = reference.expectationOf;
  return (nodes, fresh = []) =>
    judgeThen({ ...request, referenceOf, nodes, fresh, rule: { threshold: 0.05 } });
}

for (const { kind } of kinds) figuresNow.keyOf(kind);

/** The flagged nodes: single outliers, and the slower part of a group. */
function namedBy({ outliers, groups }) {
  return new Set([
    ...outliers.map(({ host }) => host),
    ...groups.flatMap(({ slowPart }) => slowPart?.hosts ?? []),
  ]);
}

/**
 * Counts over `fleets` fleets, after measuring suspects again as `fleet run` does: slow nodes, slow nodes found,
 * healthy nodes flagged, and fleets with a healthy node flagged.
 */
export function ratesOf(rule, scenario, fleets, random) {
  const normal = normalsOf(random);
  const counts = { fleets, slow: 0, found: 0, accused: 0, fleetsAccused: 0 };
  for (let fleet = 0; fleet < fleets; ++fleet) {
    const simulated = simulatedFleet(scenario, normal);
    const nodes = simulated.nodes();
    const first = rule(nodes);
    const again = new Set(first.suspects);
    const indices = [...nodes.keys()].filter((index) => again.has(nodes[index].host));
    const document = indices.length === 0 ? first : rule(nodes, simulated.nodes(indices));
    const named = namedBy(document);
    const slow = nodes.filter((_, node) => scenario.slow(node)).map(({ host }) => host);
    const found = slow.filter((host) => named.has(host)).length;
    counts.slow += slow.length;
    counts.found += found;
    counts.accused += named.size - found;
    counts.fleetsAccused += named.size > found ? 1 : 0;
  }
  return counts;
}
