import { compareResults } from "../compare/compare-results.js";
import type { Comparison } from "../compare/comparison.js";
import type { HistoryDocument } from "../compare/history/history-document.js";
import { describeHistory } from "../compare/history/trends.js";
import { type ResultSet, readResultSet, runsOf } from "../compare/result-set.js";
import { PinbenchError } from "../errors.js";
import type { FleetDocument } from "../fleet/fleet-document.js";
import { judgeResults } from "../fleet/judge-results.js";
import { packageVersion } from "../package-facts.js";
import { readHistory } from "../results/files/history-file.js";
import { checkedResult } from "../results/parse.js";
import type { ResultDocument } from "../results/schema.js";
import type { Memory } from "../settings/choices.js";
import { commandSettings } from "../settings/command-settings.js";
import { readThresholds } from "../settings/configuration.js";
import type { Options } from "../settings/setting.js";
import { defaultsOf, readGiven, readOptions, unknownOption } from "../settings/settings.js";
import { fleetSettings } from "../settings/table.js";
import { defaultThresholds, mergeThresholds } from "../settings/thresholds.js";
import type { List, Quantity } from "../settings/units.js";

/** A file, a folder of runs, or documents: of one run, or of several runs on one machine. */
export type Results = string | ResultDocument | readonly ResultDocument[];

/** The drops that count, with the keys of `thresholds` in pinbench.config.json. */
export interface ThresholdOptions {
  default?: Quantity;
  memory?: Partial<Record<Memory, Quantity>>;
}

export interface CompareOptions {
  baseline: Results;
  candidate: Results;
  thresholds?: ThresholdOptions;
  /** Whether cells without a figure in the candidate make the outcome "undecided". */
  strict?: boolean;
  /** Whether to compare different GPUs, or different link widths in another slot. */
  allowMismatch?: boolean;
}

/**
 * Compares results as `pinbench compare` does, and returns the document of its --json. A regression does not reject:
 * see its `outcome`. Rejects with a PinbenchError if the results cannot be read or have no cell in common.
 */
export async function compare({ baseline, candidate, ...options }: CompareOptions): Promise<Comparison> {
  refuseUnknown({ baseline, candidate, ...options }, compareOptions);
  const [before, after] = [
    await resultSetOf(baseline, "baseline"),
    await resultSetOf(candidate, "candidate"),
  ];
  const thresholds = await readThresholds(options.thresholds ?? {});
  return compareResults({
    version: packageVersion(),
    command: "compare",
    baseline: before,
    candidate: after,
    fresh: [],
    suspects: [],
    rule: {
      thresholds: mergeThresholds(defaultThresholds, thresholds),
      allowMismatch: options.allowMismatch ?? false,
      strict: options.strict ?? false,
    },
  });
}

const compareOptions = ["baseline", "candidate", "thresholds", "strict", "allowMismatch"];

function refuseUnknown(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownOption(unknown, known);
}

async function resultSetOf(results: Results | undefined, role: "baseline" | "candidate"): Promise<ResultSet> {
  if (results === undefined) {
    throw new PinbenchError("usage", `The option ${role} is missing.`, {
      hint: "Give compare() a baseline and a candidate: files, folders or documents.",
    });
  }
  if (typeof results === "string") return readResultSet(results, role);
  const given: readonly unknown[] = isList(results) ? results : [results];
  const documents = given.map((value) => checkedResult(value, `a document of the ${role}`));
  if (documents.length === 0) throw new PinbenchError("usage", `The ${role} has no runs.`);
  if (new Set(documents.map(({ run }) => run.id)).size < documents.length) {
    // It would count as another process, and make the spread between processes look smaller than it is.
    throw new PinbenchError("usage", `The ${role} has the same run twice.`);
  }
  return { path: null, runs: documents.flatMap((document) => runsOf(document, null)) };
}

function isList(results: ResultDocument | readonly ResultDocument[]): results is readonly ResultDocument[] {
  return Array.isArray(results);
}

export interface HistoryOptions {
  /** The folder of `pinbench check --history`. */
  folder: string;
  /** Cell ids, or patterns in which `*` stands for any characters (default: the groups of cells). */
  cells?: List<string>;
}

/**
 * Describes the trend of past checks as `pinbench history` does, and returns the document of its --json. Rejects with
 * a PinbenchError if there is no history, or no such cell in it.
 */
export async function history({ folder, cells, ...others }: HistoryOptions): Promise<HistoryDocument> {
  refuseUnknown({ folder, cells, ...others }, ["folder", "cells"]);
  if (typeof folder !== "string") throw new PinbenchError("usage", "The option folder must be text.");
  const { kind } = commandSettings.history.cells;
  const patterns = cells === undefined ? null : readGiven("cells", kind, cells);
  return describeHistory({
    version: packageVersion(),
    path: folder,
    history: await readHistory(folder),
    cells: patterns,
  });
}

export interface FleetOptions extends Options<typeof fleetSettings> {
  /** Results of many nodes: files, and folders with all their subfolders. */
  results: string | readonly string[];
}

/**
 * Finds slow nodes as `pinbench fleet` does, and returns the document of its --json. Slow nodes do not reject: see its
 * `outliers`. Rejects with a PinbenchError if there is no result of a node.
 */
export async function fleet({ results, ...options }: FleetOptions): Promise<FleetDocument> {
  const paths: readonly unknown[] = Array.isArray(results) ? results : [results];
  if (paths.length === 0 || !paths.every((path) => typeof path === "string")) {
    throw new PinbenchError("usage", "The option results must be a path, or a list of them.");
  }
  const rule = { ...defaultsOf(fleetSettings), ...readOptions(fleetSettings, options) };
  return judgeResults(paths, rule);
}
