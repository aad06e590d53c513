import { formatPrecision } from "../draw/numbers.js";
import type { MachineNames } from "../results/history-entry.js";
import { formatDuration, formatSize } from "../settings/units.js";
import { type Difference, factNames, type LinkLoss, machineFacts } from "./comparison.js";
import { matchDevices } from "./match-devices.js";
import type { DeviceLink, MeasuredSettings, RunFigures } from "./result-set.js";

/**
 * Differences between two sets of runs. These make results incomparable (all but the first can be allowed): another
 * backend, GPU model or link width (which may mean another slot), another number of GPUs if none is the same, and
 * samples shortened by --verify every. Others, such as a driver, a kernel, the link of a GPU in the same slot or a
 * similar node, are what comparisons are for. Facts that one side does not know are left out.
 */
export function findDifferences(
  baseline: readonly RunFigures[],
  candidate: readonly RunFigures[],
  { allowMismatch }: { allowMismatch: boolean },
): Difference[] {
  const matched = matchDevices({ baseline, first: candidate, fresh: [] });
  const isAllowed: Readonly<Record<string, boolean>> = {
    linkUnderLoad: areSlotsKnown(matched.baseline, matched.first),
    gpuCount: !matched.areOtherGpus,
  };
  const facts = Object.entries(factNames).map(([key, fact]) =>
    difference(
      fact,
      matched.baseline.map((run) => run.fingerprint[key] ?? null),
      matched.first.map((run) => run.fingerprint[key] ?? null),
      isAllowed[key] ? null : (blocking[key] ?? null),
    ),
  );
  const machine = (Object.keys(machineFacts) as (keyof MachineNames)[]).map((key) =>
    machineDifference(key, baseline, candidate),
  );
  const settings = settingNames.map(([fact, read]) =>
    difference(
      fact,
      baseline.map(read),
      candidate.map(read),
      fact === copiesCompared ? (value) => value : null,
    ),
  );
  return [...facts, ...machine, ...settings]
    .filter((found) => found !== null)
    .map((found) => {
      const isOverruled = found.blocks && allowMismatch && found.fact !== factNames.backend;
      return { ...found, blocks: found.blocks && !isOverruled, isOverruled };
    });
}

/** Facts that must match for a comparison, each with the part that counts. */
const blocking: Readonly<Record<string, (value: string) => string>> = {
  backend: (value) => value,
  gpu: (value) => value,
  gpuCount: (value) => value,
  // The generation may change from run to run; another width may mean another slot.
  linkUnderLoad: (value) => [...new Set(value.replaceAll(/gen\d+ /g, "").split(", "))].join(", "),
};

/**
 * Devices whose link is narrower or of a lower generation than in most baseline runs, for the same GPU and slot.
 * Reported even if no figure changed.
 */
export function findLinkLosses(
  baseline: readonly RunFigures[],
  candidate: readonly RunFigures[],
): LinkLoss[] {
  const before = bySlot(baseline);
  return [...bySlot(candidate)].flatMap(([slot, links]) => {
    const known = knownLinks(before.get(slot) ?? []);
    const usual = known[Math.floor(known.length / 2)];
    if (slot === null || usual === undefined) return [];
    const now = knownLinks(links);
    const isLess = ({ generation, width }: KnownLink) => width < usual.width || generation < usual.generation;
    const lost = now.filter(isLess);
    const [worst] = lost;
    return worst === undefined
      ? []
      : [{ device: links[0]!.device, baseline: usual, candidate: worst, runs: lost.length, of: now.length }];
  });
}

type KnownLink = LinkLoss["baseline"];

/** Known links, slowest first. Each generation doubles the rate of a lane. */
function knownLinks(links: readonly DeviceLink[]): KnownLink[] {
  const rate = ({ generation, width }: KnownLink) => width * 2 ** generation;
  return links
    .flatMap(({ generation, width }) =>
      generation === null || width === null ? [] : [{ generation, width }],
    )
    .sort((a, b) => rate(a) - rate(b));
}

function bySlot(runs: readonly RunFigures[]): Map<string | null, DeviceLink[]> {
  const slots = new Map<string | null, DeviceLink[]>();
  for (const link of runs.flatMap(({ links }) => links)) {
    const slot = link.uuid === null || link.pciBusId === null ? null : `${link.uuid} ${link.pciBusId}`;
    slots.set(slot, [...(slots.get(slot) ?? []), link]);
  }
  return slots;
}

function areSlotsKnown(baseline: readonly RunFigures[], candidate: readonly RunFigures[]): boolean {
  const before = bySlot(baseline);
  return [...bySlot(candidate).keys()].every((slot) => slot !== null && before.has(slot));
}

/** --verify every limits the copies of a sample and adds work between samples, so it changes figures. */
const copiesCompared = "copies compared";

/** Compared settings, by name in messages; null if a run does not record its settings. */
const settingNames: readonly (readonly [string, (run: RunFigures) => string | null])[] = [
  [
    copiesCompared,
    ({ settings }) => settings && (settings.verify === "every" ? "every one" : "the last ones"),
  ],
  ["measuring", ({ settings }) => settings && describeMeasuring(settings)],
  ["NUMA placement", ({ settings }) => settings && String(settings.numa)],
  ["last-level cache", ({ lastLevelCacheBytes: bytes }) => (bytes === null ? null : formatSize(bytes))],
];

function describeMeasuring({ samplesPerCell, precision, budgetNs }: MeasuredSettings): string {
  return samplesPerCell === null
    ? `to ${formatPrecision(precision)} within ${formatDuration(budgetNs)}`
    : `${samplesPerCell} samples a cell`;
}

/**
 * The difference between machines. A run is from another machine if the baseline lacks its GPUs (or its host, if GPUs
 * are unknown). Another PCI address only means another slot.
 */
function machineDifference(
  key: keyof MachineNames,
  baseline: readonly RunFigures[],
  candidate: readonly RunFigures[],
): Omit<Difference, "isOverruled"> | null {
  const names = (runs: readonly RunFigures[], of = key) => runs.flatMap(({ machine }) => machine[of]);
  const known = names(baseline);
  const found = difference(machineFacts[key], known, names(candidate), null);
  if (found === null) return null;
  const areGpusKnown = [baseline, candidate].every((runs) => names(runs, "gpuUuids").length > 0);
  const tells = key === "gpuUuids" || (key === "hostName" && !areGpusKnown);
  const isUnknown = ({ machine }: RunFigures) =>
    machine[key].length > 0 && !machine[key].some((name) => known.includes(name));
  return tells && candidate.some(isUnknown) ? { ...found, isOtherMachine: true } : found;
}

/** The difference in one fact; null if there is none or a side does not know it. */
function difference(
  fact: string,
  baselineValues: readonly (string | null)[],
  candidateValues: readonly (string | null)[],
  blocks: ((value: string) => string) | null,
): Omit<Difference, "isOverruled"> | null {
  const baseline = distinct(baselineValues);
  const candidate = distinct(candidateValues);
  if (baseline === null || candidate === null) return null;
  const shown = { fact, baseline: baseline.join(" and "), candidate: candidate.join(" and ") };
  if (shown.baseline === shown.candidate && (blocks === null || baseline.length === 1)) return null;
  // It also blocks if runs of one side differ.
  const kinds = new Set([...baseline, ...candidate].map((value) => blocks?.(value)));
  return { ...shown, blocks: blocks !== null && kinds.size > 1 };
}

/** The known values, each once; null if there are none. */
function distinct(values: readonly (string | null)[]): string[] | null {
  const known = [...new Set(values.filter((value) => value !== null))].sort();
  return known.length === 0 ? null : known;
}
