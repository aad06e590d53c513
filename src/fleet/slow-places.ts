import { groupBy } from "../draw/report.js";
import { counted } from "../draw/words.js";
import { parseCellId } from "../results/cell-id.js";
import { hypergeometricTail } from "../stats/hypothesis-tests.js";
import { type CellLevels, type PlaceOf, placesOf } from "./cell-levels.js";
import { kindName } from "./cells-together.js";
import { chanceOfDrop, ofMedian } from "./figure-noise.js";
import { type FleetDocument, type FleetGroup, type FleetOutlier, factName } from "./fleet-document.js";
import { cellText, type OddPlace, oddPlaces, oddPlaceText, percent } from "./fleet-wording.js";
import type { GroupJudgement } from "./judge-group.js";
import { dividing, type NodeFigures, type NodeGroup, tellingFacts } from "./node-figures.js";
import type { GroupReference } from "./reference-share.js";
import type { SlowOne } from "./slow-ones.js";

type SlowPlace = FleetGroup["slowPlaces"][number];

/**
 * Places (slots) with slow GPUs on many nodes, and notes on places that merely differ. Slow places have more slow GPUs
 * than chance puts there, or only GPUs that are slower than at other places. The latter counts for pinned copies, which
 * the GPU's own engine makes, unless the reference shows that they are healthy; in other copies places differ by
 * design, because CPUs are near to some.
 */
export function slowPlaces(
  nodes: readonly NodeFigures[],
  { levels, outliers }: Pick<GroupJudgement, "levels" | "outliers">,
  { knownOf }: GroupReference,
): { slowPlaces: SlowPlace[]; notes: string[] } {
  const placeOf = placesOf(nodes);
  const nameOf = placeNames(nodes, placeOf);
  const ofOutliers = placesOfOutliers(nodes, outliers, placeOf, nameOf);
  const known = new Set(ofOutliers.map(({ place }) => place));
  const named = groupBy(
    outliers.filter(({ device }) => device !== null),
    ({ node, device }) => placeOf(node, device!),
  );
  const odd = oddPlaces(levels);
  const isWithin = ({ levels: { gpus, key } }: OddPlace) =>
    gpus.every((gpu) => knownOf(gpu.node, gpu.device, key));
  const isSlow = (one: OddPlace) => {
    const { memory, mode } = parseCellId(`d0/${one.levels.kind.cell}`);
    return one.change < 0 && memory === "pinned" && mode === "throughput" && !isWithin(one);
  };
  return {
    slowPlaces: [
      ...ofOutliers,
      ...odd
        .filter((one) => isSlow(one) && !known.has(one.place))
        .map((one) => byOddPlace(one, nameOf, named.get(one.place)?.length === one.gpus)),
    ],
    notes: odd.filter((one) => !isSlow(one)).map((one) => oddPlaceText(one, isWithin(one))),
  };
}

/** `areNamed`: all GPUs there are outliers. */
function byOddPlace(one: OddPlace, nameOf: (place: string) => string, areNamed: boolean): SlowPlace {
  const { place, levels, change, changed, gpus } = one;
  const loss = percent(-Math.expm1(change));
  const why = areNamed
    ? "Each is named as slow"
    : "The figures do not show whether this is by design; each is compared with GPUs in the same place";
  return {
    place,
    nodes: changed,
    of: gpus,
    change: Math.expm1(change),
    action: "monitor",
    reason: `${onNodes(nameOf(place), changed, gpus)}: ${loss} slower than others in ${cellText(levels.kind)}. ${why}.`,
  };
}

function placesOfOutliers(
  nodes: readonly NodeFigures[],
  outliers: readonly SlowOne[],
  placeOf: PlaceOf,
  nameOf: (place: string) => string,
): SlowPlace[] {
  const byPlace = new Map<string, SlowOne[]>();
  for (const one of outliers) {
    if (one.device === null) continue;
    const place = placeOf(one.node, one.device);
    byPlace.set(place, [...(byPlace.get(place) ?? []), one]);
  }
  const places = nodes.flatMap(({ devices }, node) => devices.map((_, device) => placeOf(node, device)));
  const slowGpus = [...byPlace.values()].reduce((sum, { length }) => sum + length, 0);
  return [...byPlace].flatMap(([place, slow]) => {
    const there = places.filter((one) => one === place);
    const chance = hypergeometricTail(slow.length, places.length, there.length, slowGpus);
    if (chance * new Set(places).size > mostChance) return [];
    const losses = slow.map(({ cells }) => -Math.expm1(-cells[0]!.drop)).sort((a, b) => a - b);
    const [least, most] = [losses[0]!, losses.at(-1)!];
    const range = percent(least) === percent(most) ? percent(most) : `${percent(least)} to ${percent(most)}`;
    return [
      {
        ...{ place, nodes: slow.length, of: there.length, change: -most, action: "monitor" },
        reason: `${onNodes(nameOf(place), slow.length, there.length)}: ${range} slower in ${cellText(slow[0]!.cells[0]!.levels.kind)}.`,
      },
    ];
  });
}

function onNodes(name: string, nodes: number, of: number): string {
  return `${name} is slow in ${nodes === of ? `all ${of}` : `${nodes} of ${of}`} nodes`;
}

/** "Slot 5 (0000:60:00.0)" for a place whose GPUs have one ordinal, otherwise its address. */
function placeNames(nodes: readonly NodeFigures[], placeOf: PlaceOf): (place: string) => string {
  const ordinals = new Map<string, Set<number>>();
  nodes.forEach(({ devices }, node) => {
    devices.forEach(({ ordinal }, device) => {
      const place = placeOf(node, device);
      ordinals.set(place, (ordinals.get(place) ?? new Set()).add(ordinal));
    });
  });
  return (place) => {
    const [ordinal, ...others] = ordinals.get(place) ?? [];
    const isOne = ordinal !== undefined && others.length === 0;
    if (place.startsWith("GPU ")) return `Slot ${place.slice("GPU ".length)}`;
    return isOne ? `Slot ${ordinal} (${place})` : `Slot ${place}`;
  };
}

/** A group and its levels, which `slowerThanAlike()` compares with those of others. */
type JudgedGroup = Pick<NodeGroup, "facts"> & Pick<GroupJudgement, "levels">;

/**
 * A sentence on a group that is slower in pinned copies than another one that only its driver or number of GPUs sets
 * apart; null if it is not. Each is judged by itself, so nothing else shows it.
 */
export function slowerThanAlike(group: JudgedGroup, groups: readonly JudgedGroup[]): string | null {
  const losses = groups.flatMap((other, index) => {
    const isAlike = dividing.every((fact) => other.facts[fact] === group.facts[fact]);
    if (other === group || !isAlike) return [];
    return group.levels.flatMap((levels) => {
      const of = other.levels.find(({ key }) => key === levels.key);
      if (of === undefined || kindName(levels) !== "pinned") return [];
      const drop = of.centre - levels.centre;
      const chance = (one: CellLevels) => chanceOfDrop(drop / 2, ofMedian(one.gpuNoise, one.gpus.length));
      return drop > levels.least && chance(levels) + chance(of) < mostChance
        ? [{ drop, levels, index, other }]
        : [];
    });
  });
  const [most] = losses.sort((one, another) => another.drop - one.drop);
  if (most === undefined) return null;
  const { drop, levels, index, other } = most;
  const facts = (["driver", "gpuCount"] as const).filter((fact) => other.facts[fact] !== group.facts[fact]);
  const told = (one: JudgedGroup, fact: string) => one.facts[fact] ?? "not known";
  const apart = facts.map((fact) => `${factName(fact)} ${told(group, fact)} instead of ${told(other, fact)}`);
  return `Its GPUs are ${percent(-Math.expm1(-drop))} slower than those of group ${index + 1} in ${cellText(levels.kind)}; ${apart.join(", ")}.`;
}

/** Largest chance, over all that are examined, that slow GPUs share a trait or a place by accident. */
const mostChance = 0.01;

/**
 * Labels (rack, switch) and facts (driver, kernel) that slow nodes share more often than by chance: the upper tail of
 * the hypergeometric distribution (R. A. Fisher's exact test, one-sided), with Bonferroni's correction over all values
 * of several nodes. The most significant first; of traits with the same nodes, only the first.
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
    const others = counted(having.length - both, "healthy node");
    return [
      {
        ...{ trait, value, slow: both, nodes: having.length, chance },
        reason: `${which} have ${trait} ${value}, and ${having.length === both ? "no healthy node does" : `so ${having.length - both === 1 ? "has" : "have"} ${others}`}.`,
      },
    ];
  });
}
