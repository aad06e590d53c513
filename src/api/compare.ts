import { compareResults } from "../compare/compare-results.js";
import type { Comparison } from "../compare/comparison.js";
import { type ResultSet, readResultSet, runFigures } from "../compare/result-set.js";
import { defaultSignificance } from "../compare/rule.js";
import { PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import type { ResultDocument } from "../results/schema.js";
import { type ThresholdOptions, toThresholds } from "./options.js";

/** A file, a folder of runs, or documents: of one run, or of several of the same machine. */
export type Results = string | ResultDocument | readonly ResultDocument[];

export interface CompareOptions {
  baseline: Results;
  candidate: Results;
  thresholds?: ThresholdOptions;
  /** The chance that any cell is called slower where none is; 0.003 unless given. */
  significance?: number;
  /** Whether what cannot be decided makes the outcome "inconclusive". */
  strict?: boolean;
  /** Compares although GPU or link width differ. */
  allowMismatch?: boolean;
}

/**
 * Compares as `pinbench compare` does, and returns the document that its --json prints. A regression does not reject:
 * see its `outcome`. Rejects with a PinbenchError where the results cannot be read or have no cell in common.
 */
export async function compare({ baseline, candidate, ...options }: CompareOptions): Promise<Comparison> {
  return compareResults({
    version: packageVersion(),
    command: "compare",
    baseline: await toSet(baseline, "baseline"),
    candidate: await toSet(candidate, "candidate"),
    fresh: [],
    suspects: [],
    rule: {
      significance: options.significance ?? defaultSignificance,
      thresholds: toThresholds(options.thresholds),
      allowMismatch: options.allowMismatch ?? false,
      strict: options.strict ?? false,
    },
  });
}

async function toSet(results: Results, role: "baseline" | "candidate"): Promise<ResultSet> {
  if (typeof results === "string") return readResultSet(results, role);
  const documents = isList(results) ? results : [results];
  if (documents.length === 0) throw new PinbenchError("usage", `The ${role} has no runs.`);
  if (new Set(documents.map(({ run }) => run.id)).size < documents.length) {
    // It would count as another process, and make the spread between them look smaller than it is.
    throw new PinbenchError("usage", `The ${role} has the same run twice.`);
  }
  return { path: null, runs: documents.map((document) => runFigures(document, null)) };
}

function isList(results: ResultDocument | readonly ResultDocument[]): results is readonly ResultDocument[] {
  return Array.isArray(results);
}
