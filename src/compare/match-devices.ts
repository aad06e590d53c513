import { withDevices } from "../results/cell-devices.js";
import { deviceFacts } from "../results/fingerprint.js";
import type { Absence, CellFigures, NamedDevice, RunFigures } from "./result-set.js";

export interface ComparedRuns {
  baseline: readonly RunFigures[];
  first: readonly RunFigures[];
  fresh: readonly RunFigures[];
}

export interface MatchedRuns extends ComparedRuns {
  /** Whether the sides have no GPU in common, by their UUIDs. */
  areOtherGpus: boolean;
  /** The GPUs that only one side has, if others are on both: their cells, and runs of these alone, are left out. */
  leftOut: {
    gpus: number;
    /** The candidate's failed cells of such GPUs: "id: reason". */
    failures: string[];
    /** Whether any of these is wrong data. */
    hasWrongData: boolean;
  };
}

type NameKey = keyof NamedDevice;

/** A device that a run does not list, as in an imported result, keeps its number. */
type NumberOf = (device: number) => number | undefined;

/**
 * Numbers the devices of all runs as the baseline's first run with them did. A GPU is its UUID, because CUDA may count
 * GPUs in another order or see only some of them. GPUs without a common UUID are matched by PCI address, if all of
 * these are common, or else by number.
 */
export function matchDevices({ baseline, first, fresh }: ComparedRuns): MatchedRuns {
  const candidate = [...first, ...fresh];
  const sides = [listedIn(baseline), listedIn(candidate)] as const;
  const key = commonKey(...sides);
  const numbers = numbersBy(key, ...sides);
  const numbersIn = ({ links }: RunFigures): NumberOf => {
    const own = new Map(links.map((link) => [link.device, numbers.get(link[key])]));
    return (device) => (key === "device" || !own.has(device) ? device : own.get(device));
  };
  const match = (runs: readonly RunFigures[]) =>
    runs
      .map((run) => renumbered(run, numbersIn(run)))
      .filter((run, i) => run.links.length > 0 || run === runs[i]);
  const lost = candidate.flatMap((run) => failuresWithout(run, numbersIn(run)));
  const names = new Set(sides.flat(2).map((one) => one[key]));
  return {
    baseline: match(baseline),
    first: match(first),
    fresh: match(fresh),
    areOtherGpus: shareNames("uuid", ...sides) === "none",
    leftOut: {
      gpus: key === "device" ? 0 : names.size - numbers.size,
      failures: lost.map(({ id, reason }) => `${id}: ${reason}`),
      hasWrongData: lost.some(({ failure }) => failure === "mismatch"),
    },
  };
}

export function numberAlike(runs: readonly RunFigures[]): readonly RunFigures[] {
  return matchDevices({ baseline: runs, first: runs, fresh: [] }).baseline;
}

/**
 * The number that a machine has for a device of these runs, which are numbered alike; undefined if it has others of
 * their GPUs, but not this one.
 */
export function numbersOnMachine(runs: readonly RunFigures[], devices: readonly NamedDevice[]): NumberOf {
  const sides = [listedIn(runs), [devices]] as const;
  const key = commonKey(...sides);
  const numbers = numbersBy(key, ...sides);
  const own = new Map(devices.map((one) => [numbers.get(one[key]), one.device]));
  return (device) => (key === "device" ? device : own.get(device));
}

type Listed = readonly (readonly NamedDevice[])[];

function listedIn(runs: readonly RunFigures[]): Listed {
  return runs.map(({ links }) => links);
}

/** Whether the sides have these names in common; null if a name is unknown, or identifies no device. */
function shareNames(key: NameKey, baseline: Listed, candidate: Listed): "all" | "some" | "none" | null {
  const identifiesAll = (devices: readonly NamedDevice[]) =>
    devices.every((one) => one[key] !== null) &&
    new Set(devices.map((one) => one[key])).size === devices.length;
  const [before, now] = [baseline, candidate].map((runs) => new Set(runs.flat().map((one) => one[key])));
  const [most, least] = [Math.max(before!.size, now!.size), Math.min(before!.size, now!.size)];
  if (least === 0 || ![...baseline, ...candidate].every(identifiesAll)) return null;
  const common = [...before!].filter((name) => now!.has(name)).length;
  return common === most ? "all" : common > 0 ? "some" : "none";
}

function commonKey(baseline: Listed, candidate: Listed): NameKey {
  const uuids = shareNames("uuid", baseline, candidate);
  if (uuids === "all" || uuids === "some") return "uuid";
  // A part of the addresses may be common by chance: the rest would have no counterpart.
  return shareNames("pciBusId", baseline, candidate) === "all" ? "pciBusId" : "device";
}

function numbersBy(key: NameKey, baseline: Listed, candidate: Listed): Map<NamedDevice[NameKey], number> {
  const common = new Set(candidate.flat().map((one) => one[key]));
  const numbers = new Map<NamedDevice[NameKey], number>();
  for (const one of baseline.flat()) {
    const name = one[key];
    if (numbers.has(name) || !common.has(name)) continue;
    const taken = [...numbers.values()];
    let number = one.device;
    // Runs that saw different parts of a machine count different GPUs alike.
    while (taken.includes(number)) ++number;
    numbers.set(name, number);
  }
  return numbers;
}

function renumbered(run: RunFigures, numberOf: NumberOf): RunFigures {
  const { links, fingerprint } = run;
  if (links.every(({ device }) => numberOf(device) === device)) return run;
  const kept = links
    .flatMap((link) => {
      const device = numberOf(link.device);
      return device === undefined ? [] : [{ ...link, device }];
    })
    .sort((a, b) => a.device - b.device);
  return {
    ...run,
    links: kept,
    fingerprint: { ...fingerprint, ...deviceFacts(kept.map(({ name, ...link }) => ({ name, link }))) },
    cells: run.cells.flatMap((one): CellFigures[] => {
      const cell = withDevices(one.cell, numberOf);
      return cell === null ? [] : [{ ...one, cell, ownId: one.cell.id }];
    }),
  };
}

function failuresWithout({ cells }: RunFigures, numberOf: NumberOf): (Absence & { id: string })[] {
  return cells.flatMap(({ cell, absence }) =>
    absence !== null && absence.failure !== null && withDevices(cell, numberOf) === null
      ? [{ id: cell.id, ...absence }]
      : [],
  );
}
