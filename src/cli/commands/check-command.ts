import { readBegunRuns, readResultSet } from "../../compare/result-set.js";
import { ExitCode, exitCodeOf, PinbenchError } from "../../errors.js";
import type { DeviceSharing } from "../../host/device-sharing.js";
import { shareDevicesOfCells } from "../../measure/prepare.js";
import { packageVersion } from "../../package-facts.js";
import { progressLine } from "../../report/progress.js";
import {
  appendToHistory,
  checkHistoryWritable,
  historyPath,
  readHistoryIfAny,
} from "../../results/files/history-file.js";
import { checkChangeable } from "../../results/files/run-folder.js";
import type { HistoryEntry } from "../../results/history-entry.js";
import type { ResultDocument } from "../../results/schema.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { configurationNote, loadConfiguration } from "../../settings/configuration.js";
import { defaultCheckRuns } from "../../settings/table.js";
import { settingsOfBaseline } from "../baseline-settings.js";
import { updateBaseline } from "../baseline-update.js";
import { CheckMeasuring } from "../check-measuring.js";
import { beginOnDevices } from "../device-turn.js";
import { Interruption } from "../interruption.js";
import { deliverComparison, ruleOf } from "../output/comparison-delivery.js";
import { adviseDoctor, destinationsOf } from "../output/document-output.js";
import { keepInputs } from "../output/output-paths.js";
import { ProgressLine } from "../output/progress-line.js";
import { noter, reportError } from "../output/terminal.js";
import { type Invocation, requestedFlags } from "../requested-settings.js";

type CheckFlags = CommandSettings<"check">;

export async function checkCommand(flags: CheckFlags, invocation: Invocation): Promise<ExitCode> {
  const configuration = await loadConfiguration(flags);
  const path = baselinePath(flags, configuration.baseline);
  const note = noter(flags);
  const outputs = await destinationsOf("comparison", flags, [path]);
  const baseline = await readResultSet(path, "baseline");
  if (flags.update) await checkChangeable(path);
  const begun = flags.update ? await readBegunRuns(path) : null;
  if (flags.history !== null) {
    await keepInputs([historyPath(flags.history)], [path]);
    await checkHistoryWritable(flags.history);
  }
  const past = flags.history === null ? null : await readHistoryIfAny(flags.history);
  for (const text of past?.notes ?? []) note(text);
  const settings = await settingsOfBaseline(baseline, requestedFlags(flags, invocation));
  if (configuration.path !== null) note(configurationNote(configuration.path));

  const interruption = new Interruption();
  const line = new ProgressLine(flags);
  const measuring = new CheckMeasuring({
    baseline,
    settings,
    runs: flags.runs ?? configuration.runs ?? defaultCheckRuns,
    confirmAfterNs: flags.confirmAfterNs,
    signal: interruption.signal,
    onProgress: (state) => line.update((columns) => progressLine(state(), columns)),
  });
  let sharing: DeviceSharing | null = null;
  try {
    sharing = await shareDevicesOfCells(settings, { command: "check", ownerPid: null });
    if (!(await beginOnDevices(sharing, flags, interruption.signal))) {
      note("interrupted: nothing was compared, and the baseline is unchanged.");
      return interruption.exitCode ?? ExitCode.interrupted;
    }
    const request = {
      version: packageVersion(),
      command: "check",
      rule: ruleOf(flags, configuration),
    } as const;
    const comparison = await measuring.compare(request);
    // Releases the devices before the user reads the result, so that others need not wait.
    await sharing?.release();
    line.clear();
    if (comparison === null) {
      const { exitCode } = interruption;
      const soFar = exitCode === ExitCode.measurement ? measuring.compareSoFar(request) : null;
      if (soFar !== null) return deliverComparison(soFar, outputs);
      note("interrupted: nothing was compared, and the baseline is unchanged.");
      return exitCode ?? ExitCode.interrupted;
    }
    const sinceBegun = begun === null ? null : measuring.compareWith(begun);
    // Losses that each pass an update add up: a check that is slower than the first runs fails by that comparison.
    const hasAddedUp = comparison.outcome === "pass" && sinceBegun?.outcome === "regression";
    const decisive = hasAddedUp ? sinceBegun : comparison;
    const isRecorded = await appendRecord(measuring.record(decisive), flags);
    const verdict = await deliverComparison(decisive, outputs);
    const exitCode = exitCodeOf(verdict, isRecorded ? null : ExitCode.usage);
    const [first] = measuring.texts;
    if (first !== undefined && !flags.quiet) await adviseDoctor(JSON.parse(first) as ResultDocument);
    const update = { path, baseline, comparison, sinceBegun, texts: measuring.texts };
    if (flags.update) await updateBaseline(update, note);
    return exitCode;
  } finally {
    line.clear();
    await sharing?.release();
    interruption.dispose();
  }
}

function baselinePath(flags: CheckFlags, configured: string | null): string {
  const path = flags.baseline ?? configured;
  if (path !== null) return path;
  throw new PinbenchError("usage", "there is no baseline to check against.", {
    hint: 'Name it with --baseline PATH, or as "baseline" in the configuration.',
  });
}

/** Returns false, after reporting it, if the history cannot be written. This affects only a passing exit code. */
async function appendRecord(record: HistoryEntry | null, { history }: CheckFlags): Promise<boolean> {
  if (history === null || record === null) return true;
  return appendToHistory(history, record).then(
    () => true,
    (error: unknown) => {
      reportError(error);
      return false;
    },
  );
}
