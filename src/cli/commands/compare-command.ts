import { compareResults } from "../../compare/compare-results.js";
import { readResultSet } from "../../compare/result-set.js";
import type { ExitCode } from "../../errors.js";
import { packageVersion } from "../../package-facts.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { configurationNote, loadConfiguration } from "../../settings/configuration.js";
import type { Invocation } from "../asked-settings.js";
import { deliverComparison, ruleOf } from "../output/comparison-delivery.js";
import { destinationsOf } from "../output/document-output.js";
import { noter } from "../output/terminal.js";

/** `pinbench compare`: returns the exit code; throws PinbenchError. */
export async function compareCommand(
  flags: CommandSettings<"compare">,
  { operands: [baseline = "", candidate = ""] }: Invocation,
): Promise<ExitCode> {
  const configuration = await loadConfiguration(flags);
  const outputs = await destinationsOf("comparison", flags, [baseline, candidate]);
  const [before, after] = [
    await readResultSet(baseline, "baseline"),
    await readResultSet(candidate, "candidate"),
  ];
  if (configuration.path !== null) noter(flags)(configurationNote(configuration.path));
  const comparison = compareResults({
    version: packageVersion(),
    command: "compare",
    baseline: before,
    candidate: after,
    fresh: [],
    suspects: [],
    rule: ruleOf(flags, configuration),
  });
  return deliverComparison(comparison, outputs);
}
