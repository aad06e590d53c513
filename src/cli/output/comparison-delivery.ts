import { appendFile } from "node:fs/promises";
import { type Comparison, outcomeExitCodes } from "../../compare/comparison.js";
import type { Rule } from "../../compare/result-set.js";
import { fileScreen } from "../../draw/screen.js";
import type { ExitCode } from "../../errors.js";
import { cannotWrite } from "../../results/files/output-stream.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import type { Configuration } from "../../settings/configuration.js";
import type { FormatOf } from "../../settings/document-formats.js";
import { mergeThresholds, type Thresholds } from "../../settings/thresholds.js";
import { type Destinations, deliver, documentDrawer } from "./document-output.js";
import { reportError } from "./terminal.js";

type JudgingFlags = CommandSettings<"compare">;

export function ruleOf(flags: JudgingFlags, configuration: Configuration): Rule {
  return {
    thresholds: mergeThresholds(configuredThresholds(flags, configuration), ...flags.thresholds),
    allowMismatch: flags.allowMismatch,
    strict: flags.strict || configuration.strict,
  };
}

function configuredThresholds(flags: JudgingFlags, { thresholds }: Configuration): Thresholds {
  const isForAll = flags.thresholds.some((part) => part.default !== undefined);
  return isForAll ? { ...thresholds, memory: {} } : thresholds;
}

export async function deliverComparison(
  comparison: Comparison,
  destinations: Destinations<FormatOf<"comparison">>,
): Promise<ExitCode> {
  const { format } = destinations;
  const draw = await documentDrawer({ kind: "comparison", document: comparison });
  const summarize = async () => format === "github" && writeStepSummary(draw);
  await deliver(draw, destinations).catch(async (error: unknown) => {
    await summarize().catch(reportError);
    throw error;
  });
  await summarize();
  return outcomeExitCodes[comparison.outcome];
}

/** GitHub Actions shows the Markdown in this file on the run's page. */
async function writeStepSummary(draw: Awaited<ReturnType<typeof documentDrawer>>): Promise<void> {
  const path = process.env.GITHUB_STEP_SUMMARY;
  if (!path) return;
  await appendFile(path, await draw("markdown", fileScreen())).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
}
