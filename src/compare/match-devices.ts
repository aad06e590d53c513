import { withDevices } from "../results/cell-devices.js";
import { deviceFacts } from "../results/fingerprint.js";
import type { Absence, CellFigures, NamedDevice, RunFigures } from "./result-set.js";

export interface ComparedRuns {
  baseline: readonly RunFigures[];
  first: readonly RunFigures[];
  fresh: readonly RunFigures[];
}

export interface MatchedRuns extends ComparedRuns {
  /** Whether the sides have no GPU (UUID) in common. */
  areOtherGpus: boolean;
  /** GPUs on only one side, if others are on both. Their cells are left out, and so are runs with only such GPUs. */
  leftOut: {
    gpus: number;
    /** Failed cells of the candidate on such GPUs: "id: reason". */
    failures: string[];
    hasWrongData: boolean;
  };
}

type NameKey = keyof NamedDevice;

/** A device that a run does not list, as in imported results, keeps its number. */
type NumberOf = (device: number) => number | undefined;

/**
 * Numbers all runs' devices as in the baseline's first run with them. GPUs are matched by UUID, because CUDA may number
 * them differently or see only some; without common UUIDs by PCI address if all addresses match, otherwise by number.
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
 * The number of these runs' device on a machine; undefined if the machine has others of their GPUs but not this one.
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

/** Which of these names both sides share; null if a name is unknown or does not identify a device. */
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
  // Some addresses may match by chance; the others would have no counterpart.
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
    // Runs that saw different GPUs of a machine may use the same numbers.
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
