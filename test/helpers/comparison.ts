import type {
  CellChange,
  CellComparison,
  Comparison,
  GroupComparison,
  Verdict,
} from "../../src/compare/comparison.js";
import { verdicts } from "../../src/compare/comparison.js";
import { cellId } from "../../src/results/cell-id.js";
import type { Cell } from "../../src/results/cell-schema.js";
import { noticeOf } from "../../src/results/device-facts.js";
import { frozen } from "./frozen.js";
import { MiB } from "./result-document.js";

/** Builds valid comparisons by parts: each part has sensible defaults, and a test sets only what matters to it. */

export interface CellComparisonPart
  extends Partial<Omit<CellComparison, "baseline" | "candidate" | "confirmation">> {
  /** In the cell's unit; null for a cell that the baseline lacks. */
  baseline?: number | null;
  /** Relative to the baseline; null for a cell that the candidate lacks. */
  change?: number | null;
  /** Half of the interval, in the unit of `change`; null if the spread is unknown. */
  margin?: number | null;
  /** Fresh processes that measured the cell again. */
  confirmedBy?: number;
}

export function buildCellComparison(part: CellComparisonPart = {}): CellComparison {
  const { baseline = 55.4, change = 0, margin = 0.003, confirmedBy, ...rest } = part;
  const mode = rest.mode ?? "throughput";
  const direction = rest.direction ?? "h2d";
  const cell = {
    device: 0,
    direction,
    memory: "pinned",
    sizeBytes: 16 * MiB,
    workers: 1,
    mode,
    cache: "cold",
    ...rest,
  } as const;
  const candidate = baseline === null || change === null ? null : buildChange(baseline, change, margin, 3);
  return {
    id: cellId(cell as Cell),
    moved: direction === "bidir" ? (mode === "latency" ? "h2d" : "sum") : direction,
    unit: mode === "latency" ? "us" : "GB/s",
    baseline: baseline === null ? null : { figure: baseline, runs: 5 },
    candidate,
    confirmation:
      confirmedBy === undefined || baseline === null || change === null
        ? null
        : buildChange(baseline, change, margin, confirmedBy),
    adjustedPValue: candidate?.pValue ?? null,
    explainedByHost: null,
    slowRuns: null,
    lostShare: null,
    threshold: 0.03,
    wouldShow: margin === null ? null : 0.03 + margin,
    spread: margin === null ? null : { source: "these runs", logDeviation: 0.002, degreesOfFreedom: 8 },
    verdict: "not slower",
    reason: "The change is within the threshold.",
    ...cell,
  };
}

function buildChange(baseline: number, change: number, margin: number | null, runs: number): CellChange {
  return {
    figure: baseline * (1 + change),
    runs,
    change,
    low: margin === null ? null : change - margin,
    high: margin === null ? null : change + margin,
    pValue: margin === null ? null : 0.5,
  };
}

export interface ComparisonPart extends Partial<Omit<Comparison, "rule" | "counts">> {
  rule?: Partial<Comparison["rule"]>;
}

/** A passed `check` of one unchanged cell. */
export function buildComparison(part: ComparisonPart = {}): Comparison {
  const cells = part.cells ?? [buildCellComparison()];
  const backend = part.backend ?? "cuda";
  const set = {
    startedAt: "2026-11-20T10:00:00.000Z",
    deviceNames: [backend === "cuda" ? "NVIDIA H200" : "pinbench emulated device"],
    fingerprint: { backend, driver: "580.159.04" },
  };
  return frozen({
    schemaVersion: 1,
    kind: "comparison",
    tool: { name: "pinbench", version: "0.1.0" },
    command: "check",
    createdAt: "2026-11-21T10:00:00.000Z",
    backend,
    notice: noticeOf(backend),
    baseline: { ...set, path: "baseline.json", runs: 5, occasions: 1 },
    candidate: { ...set, path: null, runs: 3, occasions: 1 },
    differences: [],
    confirmation: null,
    groups: [],
    notes: [],
    outcome: "pass",
    ...part,
    rule: {
      significance: 0.01,
      threshold: 0.03,
      floorGBps: 0.05,
      floorUs: 0.1,
      allowMismatch: false,
      strict: false,
      ...part.rule,
    },
    cells,
    counts: countsOf(cells),
  });
}

/** The group of these cells of one kind and direction; unchanged by default. */
export function buildGroup(
  cells: readonly CellComparison[],
  part: Partial<GroupComparison> = {},
): GroupComparison {
  const [first] = cells as [CellComparison];
  return {
    kind: first.mode === "latency" ? `${first.memory} latency` : first.memory,
    device: first.device,
    moved: first.moved,
    ids: cells.map(({ id }) => id),
    change: 0,
    low: -0.01,
    high: 0.01,
    isWithHost: false,
    wouldShow: 0.034,
    verdict: "not slower",
    reason: "a drop of 3 % lies outside the interval",
    ...part,
  };
}

/** `count` cells with different ids. */
export function buildCellComparisons(count: number, part: CellComparisonPart = {}): CellComparison[] {
  return Array.from({ length: count }, (_, index) => buildCellComparison({ workers: index + 1, ...part }));
}

function countsOf(cells: readonly CellComparison[]): Comparison["counts"] {
  const count = (verdict: Verdict) => cells.filter((cell) => cell.verdict === verdict).length;
  return Object.fromEntries(verdicts.map((verdict) => [verdict, count(verdict)])) as Comparison["counts"];
}

/** A tenth slower, confirmed. */
export function buildSlower(part: CellComparisonPart = {}): CellComparison {
  return buildCellComparison({
    direction: "d2h",
    baseline: 61.37,
    change: -0.0983,
    margin: 0.0028,
    confirmedBy: 5,
    verdict: "slower",
    reason: "The drop exceeds the threshold of 3 % and the noise between processes.",
    ...part,
  });
}

export function buildMissing(part: CellComparisonPart = {}): CellComparison {
  return buildCellComparison({
    memory: "registered",
    change: null,
    verdict: "missing",
    reason: "The candidate's cell failed: out of memory.",
    ...part,
  });
}

export function buildInconclusive(part: CellComparisonPart = {}): CellComparison {
  return buildCellComparison({
    memory: "pageable",
    baseline: 10.6,
    change: -0.02,
    margin: 0.06,
    verdict: "inconclusive",
    reason: "The interval reaches over the threshold.",
    ...part,
  });
}

export function buildNew(part: CellComparisonPart = {}): CellComparison {
  return buildCellComparison({
    memory: "mapped",
    baseline: null,
    verdict: "new",
    reason: "The baseline has no such cell.",
    ...part,
  });
}

export function buildFaster(part: CellComparisonPart = {}): CellComparison {
  return buildCellComparison({
    memory: "staged",
    change: 0.0512,
    verdict: "faster",
    reason: "The gain exceeds the threshold.",
    ...part,
  });
}

/** One cell of each verdict but "not comparable", in the order of a plan. */
export function buildMixedCells(): CellComparison[] {
  return [
    buildCellComparison(),
    buildFaster(),
    buildInconclusive(),
    buildMissing(),
    buildNew(),
    buildSlower(),
  ];
}

/** Texts from other programs' result files that reach the outputs. */
export const oddText = "a \"b\" <c> & 'd' ]]> | `e` %0A \u0000\u0007\u001b[31m\ud800 \ufffe\r\nf,g:h\t";
