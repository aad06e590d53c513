import { joinSharing } from "../host/other-programs.js";
import type { CellResult, CellStats, Distribution } from "../results/cell-schema.js";
import { overTimeGBps } from "../results/over-time.js";
import type { ColdStart, ResultDocument } from "../results/schema.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";
import { median, medianInterval, relativeHalfWidth } from "../stats/order-statistics.js";
import { mean, squaresAboutMean, sumOf } from "../stats/variance.js";
import { addPayOff, pinningRecord } from "./cold-start.js";

/**
 * Joins the documents of processes that measured the same cells in turn. Each cell has the median of the processes'
 * medians, the interval from these medians, and all samples. `planned` is the whole run's document before
 * measuring; without processes it is returned unchanged.
 */
export function mergeProcesses(
  planned: ResultDocument,
  processes: readonly ResultDocument[],
): ResultDocument {
  const [first] = processes;
  if (first === undefined) return planned;
  const cellsById = processes.map(({ cells }) => new Map(cells.map((cell) => [cell.id, cell])));
  const cells = planned.cells.map((cell) => {
    const measured = cellsById.flatMap((byId) => byId.get(cell.id) ?? []);
    // The plan skips this cell, so no process measured it.
    return measured.length === 0 ? cell : mergeCell(measured);
  });
  const sharing = joinSharing([planned, ...processes].map(({ run }) => run.sharing ?? []));
  const rounds = Math.max(...processes.map(({ plan }) => plan?.rounds ?? 0));
  return {
    ...planned,
    run: {
      ...planned.run,
      ...(sharing.length > 0 && { sharing }),
      runs: processes.map(({ run: { id, startedAt, wallNs } }) => ({ id, startedAt, wallNs })),
    },
    devices: first.devices,
    fingerprint: first.fingerprint,
    plan: planned.plan && { ...planned.plan, rounds },
    ...(first.workerProcesses !== undefined && { workerProcesses: first.workerProcesses }),
    coldStart: first.coldStart.map((costs) => mergeColdStart(costs.device, processes, cells)),
    cells,
  };
}

/** From worst to best: one process' error outweighs the others' success. */
const outcomesByWeight = ["mismatch", "failed", "skipped", null, "budget", "converged"] as const;

function mergeCell(parts: readonly CellResult[]): CellResult {
  const byWeight = outcomesByWeight.flatMap((outcome) => parts.filter((part) => part.outcome === outcome));
  const worst = byWeight[0]!;
  const verifications = parts.flatMap(({ verification }) => verification ?? []);
  const samples = parts.flatMap((part, process) => part.samples.map((one) => ({ ...one, process })));
  const { direction } = parts[0]!;
  return {
    ...parts[0]!,
    samples,
    stats: mergeStats(parts.map(({ stats }) => stats)).map((stats) => ({
      ...stats,
      overTimeGBps: overTimeGBps({ direction, samples }, stats.direction),
    })),
    link: parts.find(({ link }) => link !== null)?.link ?? null,
    verification:
      verifications.length === 0
        ? null
        : {
            checkedBytes: sumOf(verifications.map(({ checkedBytes }) => checkedBytes)),
            mismatches: verifications.flatMap(({ mismatches }) => mismatches),
            copies: sumOf(verifications.map(({ copies }) => copies ?? 0)),
            provenCopies: sumOf(verifications.map(({ provenCopies }) => provenCopies ?? 0)),
          },
    ...mergeLoads(parts),
    outcome: worst.outcome,
    skipReason: worst.skipReason,
    error: worst.error,
    warnings: [...new Set(parts.flatMap(({ warnings }) => warnings))],
  };
}

/** Loads' rates, kernel times and costs of blocks; absent if the processes have none. */
function mergeLoads(parts: readonly CellResult[]): Pick<CellResult, "load" | "computeNs" | "hostNsPerBlock"> {
  const loads = parts.flatMap(({ load }) => load ?? []);
  const times = parts.flatMap(({ computeNs }) => computeNs ?? []);
  const blocks = parts.flatMap(({ hostNsPerBlock }) => hostNsPerBlock ?? []);
  const [first] = loads;
  const of = (key: "alone" | "during" | "keptShare") => mergeDistributions(loads.map((load) => load[key]));
  return {
    ...(first !== undefined && {
      load: { unit: first.unit, alone: of("alone"), during: of("during"), keptShare: of("keptShare") },
    }),
    ...(times.length > 0 && { computeNs: median(times) }),
    ...(blocks.length > 0 && { hostNsPerBlock: mergeDistributions(blocks) }),
  };
}

/** Empty if any process has none, because a median of the rest would hide that. */
function mergeStats(parts: readonly CellStats[][]): ReturnType<typeof mergeDirection>[] {
  const [first = []] = parts;
  return first.flatMap(({ direction }) => {
    const stats = parts.flatMap((part) => part.find((one) => one.direction === direction) ?? []);
    return stats.length < parts.length ? [] : [mergeDirection(direction, stats)];
  });
}

function mergeDirection(
  direction: CellStats["direction"],
  parts: readonly CellStats[],
): Omit<CellStats, "overTimeGBps"> {
  const rates = parts.map((part) => part.bandwidthGBps);
  const bandwidthGBps = {
    ...mergeDistributions(rates),
    p10: median(rates.map(({ p10 }) => p10)),
    p90: median(rates.map(({ p90 }) => p90)),
  };
  const latencies = parts.flatMap(({ latencyUs }) => latencyUs ?? []);
  const linkShares = parts.flatMap(({ linkShare }) => linkShare ?? []);
  return {
    direction,
    samples: sumOf(parts.map(({ samples }) => samples)),
    bandwidthGBps,
    relativeHalfWidth: relativeHalfWidth(bandwidthGBps, bandwidthGBps.median),
    latencyUs:
      latencies.length === 0
        ? null
        : {
            ...mergeDistributions(latencies),
            p90: median(latencies.map(({ p90 }) => p90)),
            p99: median(latencies.map(({ p99 }) => p99)),
          },
    linkShare: linkShares.length === 0 ? null : median(linkShares),
  };
}

function mergeDistributions(parts: readonly Distribution[]): Distribution {
  const processMedians = parts.map((part) => part.median);
  return {
    median: median(processMedians),
    min: Math.min(...parts.map(({ min }) => min)),
    max: Math.max(...parts.map(({ max }) => max)),
    ...(intervalBetween(processMedians) ?? { low: null, high: null }),
    processMedians,
  };
}

/** With fewer processes, Student's t gives intervals too wide to be useful. */
const fewestForInterval = 3;

/**
 * The 95 % interval from the medians of processes: from 6 processes on by order statistics, which assume no
 * distribution; below that by Student's t on logarithms. Null below 3 processes, or with a 0 below 6.
 */
export function intervalBetween(medians: readonly number[]): { low: number; high: number } | null {
  const ranked = medianInterval(medians);
  if (ranked !== null) return { low: ranked.low, high: ranked.high };
  const { length } = medians;
  if (length < fewestForInterval || medians.includes(0)) return null;
  const logs = medians.map(Math.log);
  const deviation = Math.sqrt(squaresAboutMean(logs) / (length - 1));
  const half = (studentQuantile(0.025, length - 1) * deviation) / Math.sqrt(length);
  return { low: Math.exp(mean(logs) - half), high: Math.exp(mean(logs) + half) };
}

function mergeColdStart(
  device: number,
  processes: readonly ResultDocument[],
  cells: readonly CellResult[],
): ColdStart {
  const parts = processes.flatMap(({ coldStart }) => coldStart.filter((one) => one.device === device));
  const ofAll = (pick: (part: ColdStart) => number) => median(parts.map(pick));
  const pinning = parts[0]!.pinning.map(({ sizeBytes }) => {
    const records = parts.flatMap((part) => part.pinning.filter((one) => one.sizeBytes === sizeBytes));
    const costs = {
      pageable: records.map((record) => record.pageable),
      pinned: records.map((record) => record.pinned),
      registered: records.map((record) => record.registered),
    };
    const repetitions = sumOf(records.map((record) => record.repetitions));
    return pinningRecord(
      sizeBytes,
      repetitions,
      costs,
      Object.assign({}, ...records.map((one) => one.refusals)),
    );
  });
  const ofDevice = cells.filter((cell) => cell.device === device);
  return {
    device,
    initNs: ofAll(({ initNs }) => initNs),
    contextNs: ofAll(({ contextNs }) => contextNs),
    firstCopyNs: ofAll(({ firstCopyNs }) => firstCopyNs),
    pinning: addPayOff(pinning, ofDevice),
  };
}
