import { compareResults } from "../compare/compare-results.js";
import { readResultSet } from "../compare/result-set.js";
import type { ExitCode } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { configurationNote, loadConfiguration } from "../settings/configuration.js";
import type { Invocation } from "./asked-settings.js";
import { comparisonOutputs, deliverComparison, ruleOf } from "./comparison-delivery.js";
import { noter } from "./terminal.js";

/** `pinbench compare`: returns the exit code; throws PinbenchError. */
export async function compareCommand(
  flags: CommandSettings<"compare">,
  { operands: [baseline = "", candidate = ""] }: Invocation,
): Promise<ExitCode> {
  const configuration = await loadConfiguration(flags);
  const outputs = await comparisonOutputs(flags, [baseline, candidate]);
  const comparison = compareResults({
    version: packageVersion(),
    command: "compare",
    baseline: await readResultSet(baseline, "baseline"),
    candidate: await readResultSet(candidate, "candidate"),
    fresh: [],
    suspects: [],
    rule: ruleOf(flags, configuration),
  });
  if (configuration.path !== null) noter(flags)(configurationNote(configuration.path));
  return deliverComparison(comparison, outputs, flags);
}
