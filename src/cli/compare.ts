import { compareResults } from "../compare/compare-results.js";
import { readResultSet } from "../compare/result-set.js";
import type { ExitCode } from "../errors.js";
import { type ComparisonFlags, ruleOf } from "./comparison-options.js";
import { configNote, loadConfig } from "./config.js";
import { comparisonOutputs, deliverComparison } from "./deliver-comparison.js";

/** `pinbench compare`: returns the exit code; throws PinbenchError. */
export async function compareFiles(
  baseline: string,
  candidate: string,
  flags: ComparisonFlags,
  version: string,
): Promise<ExitCode> {
  const config = await loadConfig(flags);
  const outputs = await comparisonOutputs(flags, [baseline, candidate]);
  const comparison = compareResults({
    version,
    command: "compare",
    baseline: await readResultSet(baseline, "baseline"),
    candidate: await readResultSet(candidate, "candidate"),
    fresh: [],
    suspects: [],
    rule: ruleOf(flags, config),
  });
  if (config.path !== null && !flags.quiet) {
    process.stderr.write(`pinbench: ${configNote(config.path)}\n`);
  }
  return deliverComparison(comparison, outputs, flags);
}
