import type { Comparison } from "../compare/comparison.js";
import { type ResultSet, readResultSet } from "../compare/result-set.js";
import { usualCheckRuns } from "../compare/rule.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { counted } from "../report/wording.js";
import type { RepeatSettings } from "../results/repeat-settings.js";
import { checkReplaceable, createRuns, replaceRuns } from "../results/run-folder.js";
import { checkPlan } from "./check-plan.js";
import { CheckSession } from "./check-session.js";
import { type ComparisonFlags, ruleOf } from "./comparison-options.js";
import { configNote, loadConfig } from "./config.js";
import { comparisonOutputs, deliverComparison } from "./deliver-comparison.js";
import { Interruption } from "./interruption.js";
import { keepInputs } from "./keep-inputs.js";
import { ProgressLine } from "./progress-line.js";
import { reportError } from "./report-error.js";
import { checkNewFolder } from "./run-folders.js";

export interface CheckFlags extends ComparisonFlags {
  baseline?: string;
  runs?: number;
  confirmAfter?: number;
  update?: boolean;
  accept?: boolean;
  keep?: string;
}

/**
 * `pinbench check`: returns the exit code; throws PinbenchError. `override` puts what flags say over the settings of the
 * baseline.
 */
export async function check(
  flags: CheckFlags,
  override: (settings: RepeatSettings) => RepeatSettings,
  version: string,
): Promise<ExitCode> {
  const config = await loadConfig(flags);
  const path = baselinePath(flags, config.baseline);
  const note = (text: string) => {
    if (!flags.quiet) process.stderr.write(`pinbench: ${text}\n`);
  };
  const outputs = await comparisonOutputs(flags, [path]);
  const baseline = await readResultSet(path, "baseline");
  if (flags.update) await checkReplaceable(path);
  if (flags.keep !== undefined) {
    await keepInputs([flags.keep], [path]);
    await checkNewFolder(flags.keep);
  }
  const plan = await checkPlan(baseline, override, {
    runs: flags.runs ?? config.runs ?? usualCheckRuns,
    confirmAfterNs: flags.confirmAfter ?? 0,
  });
  if (config.path !== null) note(configNote(config.path));

  const interruption = new Interruption();
  const line = new ProgressLine({ quiet: flags.quiet ?? false });
  const session = new CheckSession(plan, interruption.signal, (text) =>
    line.update((columns) => text.slice(0, columns)),
  );
  try {
    const request = {
      version,
      command: "check",
      rule: ruleOf(flags, config),
      suspects: [],
      fresh: [],
    } as const;
    const comparison = await session.run(request);
    line.clear();
    if (comparison === null) {
      note("interrupted: nothing was compared, and the baseline is as it was.");
      return interruption.exitCode ?? ExitCode.interrupted;
    }
    const exitCode = await deliverComparison(comparison, outputs, flags);
    if (!flags.update) return exitCode;
    const obstacle = whyNotUpdate(comparison, flags);
    if (obstacle !== null) {
      note(`${path} was not updated: ${obstacle}.`);
      return exitCode;
    }
    await update(baseline, path, session.texts, note);
    // What was accepted is no failure any more.
    return flags.accept ? ExitCode.ok : exitCode;
  } finally {
    line.clear();
    interruption.dispose();
    await keepRuns(session.texts, flags);
  }
}

/**
 * Also what was measured before it was interrupted or failed: it cannot be had again. Runs that cannot be kept are
 * reported, and hide neither the verdict nor what else went wrong.
 */
async function keepRuns(texts: readonly string[], { keep, debug }: CheckFlags): Promise<void> {
  if (keep === undefined || texts.length === 0) return;
  await createRuns(keep, texts).catch((error: unknown) => reportError(error, { debug: debug ?? false }));
}

function baselinePath(flags: CheckFlags, configured: string | null): string {
  if (flags.accept && !flags.update) {
    throw new PinbenchError("usage", "--accept says that --update may write a slower baseline.", {
      hint: "Give --update as well.",
    });
  }
  const path = flags.baseline ?? configured;
  if (path !== null) return path;
  throw new PinbenchError("usage", "there is no baseline to check against.", {
    hint: 'Name it with --baseline PATH, or as "baseline" in the configuration.',
  });
}

/** Why a baseline must not be replaced after this comparison; null where it may. */
function whyNotUpdate({ outcome, counts }: Comparison, { accept }: CheckFlags): string | null {
  if (outcome === "failed") return "a measurement failed";
  // Measuring has ended with the first run.
  if (outcome === "not comparable") return "the machine is another one, and --allow-mismatch was not given";
  if (accept) return null;
  if (outcome === "regression") return "a regression stands, and --accept was not given";
  if (outcome === "inconclusive") return "it is inconclusive, and --accept was not given";
  if (counts.missing > 0) return "cells are missing, and --accept was not given";
  return null;
}

async function update(
  baseline: ResultSet,
  path: string,
  texts: readonly string[],
  note: (text: string) => void,
): Promise<void> {
  const oldPaths = baseline.runs.flatMap((run) => (run.path === null ? [] : [run.path]));
  await replaceRuns(path, oldPaths, texts);
  note(
    `${path} now holds the ${counted(texts.length, "run")} of this check, in place of ${counted(oldPaths.length, "run")}.`,
  );
}
