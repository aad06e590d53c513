// How often each rule finds the slow GPUs of simulated fleets, and calls others slow.
import { judgeFleet } from "../../dist/fleet/judge-fleet.js";
import { fixedThreshold, superBench } from "./other-rules.mjs";
import { references, simulateFleet } from "./simulated-fleet.mjs";

/** The default rule of `pinbench fleet`. */
export const usualRule = { threshold: 0.05 };

export function judge(nodes, fresh = [], referenceOf = null) {
  const createdAt = "2026-01-01T00:00:00.000Z";
  return judgeFleet({ version: "0", createdAt, nodes, fresh, rule: usualRule, referenceOf });
}

/** The GPUs that pinbench calls slow, as "node gpu"; for a slow node, all of its GPUs. */
function pinbench(nodes) {
  const indexOf = new Map(nodes.map(({ host }, node) => [host, node]));
  return new Set(
    judge(nodes).outliers.flatMap(({ host, device }) => {
      const node = indexOf.get(host);
      return device === null ? nodes[node].devices.map((_, gpu) => `${node} ${gpu}`) : `${node} ${device}`;
    }),
  );
}

const rules = {
  pinbench,
  SuperBench: superBench,
  fixed: (nodes) => fixedThreshold(nodes, references, 0.1),
};

/**
 * For each rule, over `fleets` simulated fleets: the share with all slow GPUs found, and with any other called slow.
 * `slow` lists the slow GPUs, as "node gpu".
 */
export function fleetRates({ slow = [], ...spec }, fleets, random) {
  const rates = Object.fromEntries(Object.keys(rules).map((name) => [name, { found: 0, falseOnes: 0 }]));
  for (let fleet = 0; fleet < fleets; ++fleet) {
    const nodes = simulateFleet(spec, random);
    for (const [name, rule] of Object.entries(rules)) {
      const named = rule(nodes);
      const found = slow.filter((one) => named.has(one)).length;
      if (found === slow.length) rates[name].found += 1 / fleets;
      if (named.size > found) rates[name].falseOnes += 1 / fleets;
    }
  }
  return rates;
}
