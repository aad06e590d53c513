import { runFigures } from "../compare/figures.js";
import { defaultSignificance, usualCheckRuns } from "../compare/rule.js";
import { sensitivityOf } from "../compare/sensitivity.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { repeatInFreshProcesses } from "../measure/repeat.js";
import { baselineReport } from "../report/baseline.js";
import { jsonReport } from "../report/json.js";
import { noticeOf } from "../results/device-facts.js";
import type { RepeatSettings } from "../results/repeat-settings.js";
import { createRuns } from "../results/run-folder.js";
import type { ResultDocument } from "../results/schema.js";
import { stdoutChalk } from "./colour.js";
import { configNote, type LoadedConfig } from "./config.js";
import { entry } from "./entry.js";
import { Interruption } from "./interruption.js";
import { type PreparedPlan, preparePlan } from "./prepare-plan.js";
import { ProgressLine } from "./progress-line.js";
import { checkNewFolder } from "./run-folders.js";
import type { RunFlags } from "./run-options.js";
import { writeStdout } from "./stdout.js";

export interface BaselineFlags extends RunFlags {
  runs?: number | undefined;
}

const usualRuns = 10;

/** `pinbench baseline`: returns the exit code; throws PinbenchError. All runs are kept, or none. */
export async function makeBaseline(
  folder: string,
  flags: BaselineFlags,
  config: LoadedConfig,
): Promise<ExitCode> {
  const note = (text: string) => {
    if (!flags.quiet) process.stderr.write(`pinbench: ${text}\n`);
  };
  await checkNewFolder(folder);
  const prepared = await preparePlan(flags, config);
  if (config.path !== null) note(configNote(config.path));
  if (prepared.backend.fallbackReason !== null) {
    note(`${prepared.backend.fallbackReason}: measuring the emulated device instead.`);
  }
  for (const text of prepared.plan.notes) note(text);

  const cellIds = prepared.plan.cells.filter(({ skipReason }) => skipReason === null).map(({ id }) => id);
  const runs = flags.runs ?? usualRuns;
  const interruption = new Interruption();
  const line = new ProgressLine({ quiet: flags.quiet ?? false });
  const documents: ResultDocument[] = [];
  try {
    await repeatInFreshProcesses(
      { cellIds, settings: settingsOf(prepared, flags), runs, entry },
      (document) => {
        checkWhole(document);
        documents.push(document);
        return undefined;
      },
      (run) =>
        line.update((columns) => `run ${run + 1} of ${runs}, ${cellIds.length} cells`.slice(0, columns)),
      interruption.signal,
    );
    line.clear();
    if (interruption.exitCode !== null) {
      note(`interrupted after ${documents.length} of ${runs} runs: no baseline was written.`);
      return interruption.exitCode;
    }
    await createRuns(folder, documents.map(jsonReport));
  } finally {
    line.clear();
    interruption.dispose();
  }
  const checkRuns = config.runs ?? usualCheckRuns;
  const report = {
    path: folder,
    runs: documents.length,
    cells: cellIds.length,
    notice: noticeOf(prepared.backend.name),
    checkRuns,
    sensitivity: sensitivityOf(
      documents.map((document) => runFigures(document, null)),
      checkRuns,
      { thresholds: config.thresholds, significance: config.significance ?? defaultSignificance },
    ),
  };
  await writeStdout(baselineReport(report, stdoutChalk(flags)));
  return ExitCode.ok;
}

function settingsOf({ plan, backend }: PreparedPlan, flags: BaselineFlags): RepeatSettings {
  return {
    backend: backend.name,
    precision: plan.stopping.precision,
    budgetNs: plan.stopping.budgetNs,
    samplesPerCell: plan.stopping.samplesPerCell,
    staging: plan.staging,
    verify: plan.verify,
    seed: plan.seed,
    lastLevelCacheBytes: flags.llc ?? null,
    numa: flags.numa,
    maxPinnedBytes: flags.maxPinned ?? null,
  };
}

/** What is measured badly today would be what every check is held against. */
function checkWhole({ cells, run }: ResultDocument): void {
  const bad = cells.find(({ outcome }) => outcome === "failed" || outcome === "mismatch");
  if (bad === undefined && run.status === "complete") return;
  const reason =
    bad === undefined
      ? (run.error?.message ?? `the run is ${run.status}`)
      : `${bad.id}: ${bad.outcome === "mismatch" ? "the data came back wrong" : bad.error?.message}`;
  throw new PinbenchError("measurement", `no baseline was written, for a measurement failed (${reason}).`, {
    hint: "`pinbench run` shows all of it.",
  });
}
