// Small and large fleets whose truth is known: false accusations, finds, and whether the text is true.
import { expectationOf } from "../../dist/doctor/expectation.js";
import { judge } from "./fleet-rates.mjs";
import { simulateFleet } from "./simulated-fleet.mjs";

const sizes = [2, 3, 4, 8, 64, 1000].flatMap((nodes) => [1, 8].map((gpus) => ({ nodes, gpus })));
const one = (loss) => ({ slow: (node, gpu) => (node === 1 && gpu === 0 ? loss : 0) });

/** Scenarios: `slow` is a GPU's relative loss by a fault, `built` its relative loss by construction (no fault). */
const kinds = {
  healthy: {},
  "one GPU -5 %": one(0.05),
  "one GPU -10 %": one(0.1),
  "one GPU -50 %": one(0.5),
  "half of the nodes -50 %": { slow: (node, _, nodes) => (2 * (node + 1) <= nodes ? 0.5 : 0) },
  "slot 0 -50 % everywhere": { slow: (_, gpu) => (gpu === 0 ? 0.5 : 0), leastGpus: 2 },
  "two levels by place, one -30 %": {
    slow: (node, gpu) => (node === 1 && gpu === 0 ? 0.3 : 0),
    built: (gpu) => (gpu >= 4 ? 0.3 : 0),
    leastGpus: 2,
    isUnknown: true,
  },
  "node -6 % in all cells": { slow: (node) => (node === 1 ? 0.06 : 0), inAllCells: true },
  "heavy-tailed noise": { heavy: true },
  "heavy-tailed noise, one GPU -50 %": { ...one(0.5), heavy: true },
};

export const claimScenarios = Object.entries(kinds).flatMap(([name, kind]) =>
  sizes
    .filter(({ gpus }) => gpus >= (kind.leastGpus ?? 1))
    .flatMap((size) =>
      [true, false]
        .filter((isKnown) => !(isKnown && kind.isUnknown))
        .map((isKnown) => ({ name, ...size, isKnown, ...kind })),
    ),
);

/** A number of Student's t distribution with 3 degrees of freedom, in units of 2 %. */
function heavyTail(random) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const chi = normal() ** 2 + normal() ** 2 + normal() ** 2;
  return (0.02 * normal()) / Math.sqrt(chi / 3);
}

/**
 * Counts over `fleets` fleets: false accusations, claimed and actual finds, false sentences, and the first of these; and
 * false accusations and finds after slow nodes were measured again, as `fleet run` does.
 */
export function claimRates(scenario, fleets, random) {
  const { nodes: count, gpus, isKnown, heavy = false, inAllCells = false } = scenario;
  const slow = (node, gpu) => scenario.slow?.(node, gpu, count) ?? 0;
  const built = (gpu) => scenario.built?.(gpu) ?? 0;
  const speed = (node, gpu, { memory }) =>
    (inAllCells || memory === "pinned" ? 1 - slow(node, gpu) : 1) *
    (memory === "pinned" ? 1 - built(gpu) : 1) *
    (heavy ? Math.exp(heavyTail(random)) : 1);
  const sums = { fleets, accused: 0, claimed: 0, found: 0, falsehoods: 0, example: null };
  Object.assign(sums, { accusedAgain: 0, foundAgain: 0 });
  const referenceOf = isKnown ? expectationOf : null;
  const measuredAgain = ({ host, machine, devices }, index) => {
    const speedOfNode = (_, gpu, kind) => speed(index, gpu, kind);
    const spec = { nodes: 1, gpus, betweenMachines: true, machineOf: () => machine, speed: speedOfNode };
    const [node] = simulateFleet(spec, random);
    return {
      ...node,
      host,
      devices: devices.map((gpu, i) => ({ ...gpu, figures: node.devices[i].figures })),
    };
  };
  for (let fleet = 0; fleet < fleets; ++fleet) {
    const nodes = simulateFleet({ nodes: count, gpus, betweenMachines: true, speed }, random);
    const indexOf = new Map(nodes.map(({ host }, node) => [host, node]));
    const namedBy = ({ outliers }) =>
      new Set(
        outliers.flatMap(({ host, device }) =>
          (device === null ? nodes[0].devices.map((_, gpu) => gpu) : [device]).map(
            (gpu) => `${indexOf.get(host)} ${gpu}`,
          ),
        ),
      );
    const document = judge(nodes, [], referenceOf);
    const { groups, suspects } = document;
    const named = namedBy(document);
    const fresh = suspects.map((host) => measuredAgain(nodes[indexOf.get(host)], indexOf.get(host)));
    const namedAgain = fresh.length === 0 ? named : namedBy(judge(nodes, fresh, referenceOf));
    const truth = new Set();
    let least = 1;
    for (let node = 0; node < count; ++node) {
      for (let gpu = 0; gpu < gpus; ++gpu) {
        if (slow(node, gpu) === 0) continue;
        truth.add(`${node} ${gpu}`);
        least = Math.min(least, slow(node, gpu));
      }
    }
    if ([...named].some((gpu) => !truth.has(gpu))) ++sums.accused;
    if ([...namedAgain].some((gpu) => !truth.has(gpu))) ++sums.accusedAgain;
    // A sentence on a GPU among similar ones is about one of them, or about one node of several.
    const isOne = truth.size === 1 || (truth.size === gpus && inAllCells && count > 2);
    const isClaimed = groups[0].found.some(
      ({ memory, inOneCell, inAllCells: all, belowReference }) =>
        memory === "pinned" &&
        [belowReference, ...(isOne ? [inOneCell, all] : [])].some((loss) => loss !== null && loss <= least),
    );
    if (truth.size > 0 && isClaimed) {
      ++sums.claimed;
      if ([...truth].every((gpu) => named.has(gpu))) ++sums.found;
      if ([...truth].every((gpu) => namedAgain.has(gpu))) ++sums.foundAgain;
    }
    const wrong = falsehood(groups[0], truth, nodes, indexOf, gpus);
    if (wrong !== null) {
      ++sums.falsehoods;
      sums.example ??= wrong;
    }
  }
  return sums;
}

/** The first sentence that the truth contradicts; null without one. */
function falsehood({ slowPart, slowAsAWhole, slowPlaces }, truth, nodes, indexOf, gpus) {
  if (slowAsAWhole !== null && truth.size < nodes.length * gpus) return slowAsAWhole;
  const isNodeSlow = (host) => nodes[0].devices.some((_, gpu) => truth.has(`${indexOf.get(host)} ${gpu}`));
  if (slowPart !== null && !slowPart.hosts.every(isNodeSlow)) return slowPart.reason;
  for (const { place, nodes: slow, reason } of slowPlaces) {
    const gpu = nodes[0].devices.findIndex(({ pciBusId }) => pciBusId === place);
    const actual = nodes.filter((_, node) => truth.has(`${node} ${gpu}`)).length;
    // A GPU in a slower slot is reported as slower than other slots, without a known reason.
    if (actual !== slow && !reason.includes("do not show whether")) return reason;
  }
  return null;
}
