import { compareResults } from "../../src/compare/compare-results.js";
import type { Comparison } from "../../src/compare/comparison.js";
import {
  type ComparisonRequest,
  type ResultSet,
  type Rule,
  runFigures,
} from "../../src/compare/result-set.js";
import type { CellResult, Distribution } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { frozen } from "./frozen.js";
import {
  buildCell,
  buildDocument,
  buildEmulatedDocument,
  type CellPart,
  type DocumentPart,
} from "./result-document.js";
import { seeded } from "./seeded.js";

/** Builds several runs of one machine, and compares them. */

export interface RunsPart {
  /** The cells of each run; their figures are those of the machine. */
  cells?: readonly CellPart[];
  count?: number;
  /** Relative standard deviation of a run's figures, independent for each cell. */
  deviation?: number;
  /** A factor for all speeds: one for all runs, or one for each run. */
  speed?: number | readonly number[];
  seed?: number;
  document?: DocumentPart;
}

/** Consecutive runs of one machine, a minute apart. The same part always gives the same runs. */
export function buildRuns(part: RunsPart = {}): ResultDocument[] {
  const { cells = [{ GBps: 50 }], deviation = 0.002, speed = 1, document = {} } = part;
  const count = part.count ?? (typeof speed === "number" ? 5 : speed.length);
  const build = document.backend === "emulated" ? buildEmulatedDocument : buildDocument;
  const { normal } = seeded(part.seed ?? 1);
  return Array.from({ length: count }, (_, run) => {
    const of = typeof speed === "number" ? speed : speed[run]!;
    return build({
      ...document,
      run: { id: `run-${run}`, startedAt: `2026-11-20T10:${10 + run}:00.000Z`, ...document.run },
      cells: cells.map((cell) => atSpeed(buildCell(cell), of * Math.exp(deviation * normal()))),
    });
  });
}

/** The document, with samples and figures, of a machine that is `factor` times as fast in some cells. */
export function documentAtSpeed(
  document: ResultDocument,
  factor: number,
  isAffected: (cell: CellResult) => boolean = () => true,
): ResultDocument {
  return {
    ...document,
    cells: document.cells.map((cell) => (isAffected(cell) ? atSpeed(cell, factor) : cell)),
  };
}

function atSpeed(cell: CellResult, factor: number): CellResult {
  const times = <D extends Distribution>(distribution: D, by: number): D => {
    const scaled = Object.entries(distribution).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map((one) => one * by) : value && value * by,
    ]);
    return Object.fromEntries(scaled);
  };
  return {
    ...cell,
    samples: cell.samples.map((one) => ({ ...one, durationNs: one.durationNs.map((ns) => ns / factor) })),
    stats: cell.stats.map((one) => ({
      ...one,
      bandwidthGBps: times(one.bandwidthGBps, factor),
      latencyUs: one.latencyUs && times(one.latencyUs, 1 / factor),
      linkShare: one.linkShare && one.linkShare * factor,
      ...(one.overTimeGBps != null && { overTimeGBps: one.overTimeGBps * factor }),
    })),
  };
}

/** The runs of these documents, which nothing may change. */
export function resultSet(documents: readonly ResultDocument[], path: string | null = null): ResultSet {
  const runs = documents.map((document, i) => runFigures(document, path && `${path}/${i}.json`));
  return frozen({ path, runs });
}

export const usualRule: Rule = {
  thresholds: defaultThresholds,
  allowMismatch: false,
  strict: false,
};

export interface ComparedPart {
  command?: Comparison["command"];
  /** Runs that measured the suspects again. */
  fresh?: readonly ResultDocument[];
  rule?: Partial<Rule>;
}

export function comparisonRequest(
  baseline: readonly ResultDocument[],
  candidate: readonly ResultDocument[],
  { command = "compare", fresh = [], rule = {} }: ComparedPart = {},
): ComparisonRequest {
  return frozen({
    version: "0.1.0",
    command,
    baseline: resultSet(baseline, "before"),
    candidate: resultSet(candidate, command === "check" ? null : "after"),
    fresh: resultSet(fresh).runs,
    suspects: [...new Set(fresh.flatMap(({ cells }) => cells.map(({ id }) => id)))],
    rule: { ...usualRule, ...rule },
  });
}

export function compareRuns(...args: Parameters<typeof comparisonRequest>): Comparison {
  return compareResults(comparisonRequest(...args));
}
