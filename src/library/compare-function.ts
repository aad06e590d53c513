import { compareSets } from "../compare/compare-results.js";
import type { Comparison } from "../compare/comparison.js";
import { type ResultSet, readResultSet, runsOf } from "../compare/result-set.js";
import { PinbenchError } from "../errors.js";
import { checkedResult } from "../results/parse.js";
import type { ResultDocument } from "../results/schema.js";
import type { Memory } from "../settings/choices.js";
import { readThresholds } from "../settings/configuration.js";
import { unknownOption } from "../settings/settings.js";
import { defaultThresholds, mergeThresholds } from "../settings/thresholds.js";
import type { Quantity } from "../settings/units.js";
import { forCallers } from "./for-callers.js";

/** A file, a folder of runs, or documents of one or several runs on one machine. */
export type Results = string | ResultDocument | readonly ResultDocument[];

/** The drops that count as regressions, with the keys of `thresholds` in pinbench.config.json. */
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
  /** Whether to compare results that otherwise are not comparable, such as those of two GPU models. */
  allowMismatch?: boolean;
}

/**
 * Compares results as `pinbench compare` does, and returns its --json document. A regression does not reject:
 * see the document's `outcome`. Rejects with a PinbenchError if results are unreadable or share no cell.
 */
export const compare = forCallers(
  async ({ baseline, candidate, ...options }: CompareOptions): Promise<Comparison> => {
    refuseUnknown({ baseline, candidate, ...options }, compareOptions);
    const [before, after] = [
      await resultSetOf(baseline, "baseline"),
      await resultSetOf(candidate, "candidate"),
    ];
    const thresholds = await readThresholds(options.thresholds ?? {});
    return compareSets(before, after, {
      thresholds: mergeThresholds(defaultThresholds, thresholds),
      allowMismatch: options.allowMismatch ?? false,
      strict: options.strict ?? false,
    });
  },
);

const compareOptions = ["baseline", "candidate", "thresholds", "strict", "allowMismatch"];

export function refuseUnknown(options: object, known: readonly string[]): void {
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
  const all: readonly unknown[] = isList(results) ? results : [results];
  const documents = all.map((value) => checkedResult(value, `a document of the ${role}`));
  if (documents.length === 0) throw new PinbenchError("usage", `The ${role} has no runs.`);
  if (new Set(documents.map(({ run }) => run.id)).size < documents.length) {
    // The same run would count as two processes, and make their noise look too small.
    throw new PinbenchError("usage", `The ${role} has the same run twice.`);
  }
  return { path: null, runs: documents.flatMap((document) => runsOf(document, null)) };
}

function isList(results: ResultDocument | readonly ResultDocument[]): results is readonly ResultDocument[] {
  return Array.isArray(results);
}
