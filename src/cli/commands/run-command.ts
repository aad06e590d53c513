import { text as textOf } from "node:stream/consumers";
import { jsonReport } from "../../draw/json.js";
import { fileScreen, type Screen } from "../../draw/screen.js";
import { ExitCode, PinbenchError } from "../../errors.js";
import type { DeviceSharing } from "../../host/device-sharing.js";
import { shortageHint } from "../../machine-shortage.js";
import { type PreparedRun, prepareRun, prepareTimedRun, shareDevices } from "../../measure/prepare.js";
import { ProcessSeries } from "../../measure/process-series.js";
import { Run } from "../../measure/run.js";
import { notesOn, planDocument, planReport } from "../../report/plan-report.js";
import { checkWritable } from "../../results/files/store.js";
import { cellNames } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { configurationNote } from "../../settings/configuration.js";
import { documentFormats, type FormatOf } from "../../settings/document-formats.js";
import { type Labels, labelsOf } from "../../settings/labels.js";
import type { Call } from "../../settings/settings.js";
import type { RunSettings } from "../../settings/table.js";
import { parseJson } from "../../text-file.js";
import { askedSettings, chosenFormat, type Invocation, refuseSearch } from "../asked-settings.js";
import { beginOnDevices } from "../device-turn.js";
import { Interruption, sayNothingMeasured } from "../interruption.js";
import { type ShowRunOptions, showProcesses, showRun } from "../live-run.js";
import {
  adviseDoctor,
  deliver,
  documentDrawer,
  isPicture,
  outputFiles,
  refusePlotsNowhere,
} from "../output/document-output.js";
import { outputScreen, stdoutScreen } from "../output/screens.js";
import { noter, writeStdout } from "../output/terminal.js";

/** `pinbench run`: from the flags to the files. Returns the exit code; throws PinbenchError. */
export async function runCommand(flags: CommandSettings<"run">, invocation: Invocation): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const outputs = outputFiles(documentFormats.result, flags);
  const note = noter(flags);

  const labels = labelsOf(flags.labels);

  if (flags.dryRun) refuseForDryRun(flags, format, outputs);
  if (flags.plot) {
    const formats = [format, ...outputs.map((output) => output.format)];
    refusePlotsNowhere(formats, "Leave --plot out, or keep the tables too, with --output result.txt.");
  }
  for (const { path } of outputs) await checkWritable(path);
  const { settings, configuration } = await askedSettings(flags, invocation, {
    isForPrograms: format === "json" && !flags.dryRun,
  });
  if (flags.processes > 1) refuseSearch(settings, "--processes");
  const interruption = new Interruption();
  let sharing: DeviceSharing | null = null;
  try {
    // Only then is the whole time estimated: otherwise the run itself soon shows the time left.
    const isTimed = flags.dryRun || settings.budgetNs !== null;
    // Checks all settings before the first note, so that an error is the only line on stderr.
    const prepared = await interruption.unlessAborted(
      isTimed ? prepareTimedRun(settings) : prepareRun(settings),
    );
    if (prepared === null) {
      sayNothingMeasured(flags.output);
      return interruption.exitCode ?? ExitCode.interrupted;
    }
    if (configuration.path !== null) note(configurationNote(configuration.path));
    for (const text of notesOn(prepared, flags.dryRun)) note(text);
    if (flags.dryRun) {
      const { plan, devices } = prepared;
      const { processes } = flags;
      await writeStdout(
        format === "json"
          ? jsonReport(planDocument(plan, processes))
          : planReport(plan, devices, processes, stdoutScreen(flags)),
      );
      return ExitCode.ok;
    }
    sharing = shareDevices(prepared, { command: "run", ownerPid: null });
    if (!(await beginOnDevices(sharing, flags, interruption.signal))) {
      sayNothingMeasured(flags.output);
      return interruption.exitCode ?? ExitCode.interrupted;
    }
    const { quiet, progress, processes } = flags;
    // Pages and pictures are drawn only at the end: nobody looks at them during the run.
    const shown = {
      outputs: outputs.filter(({ format }) => !isPicture(format)),
      screen: outputScreen(flags),
      quiet,
      progress,
      processes,
    };
    const measured = { ...prepared, sharing, labels };
    return await carryOut(measured, invocation.call, interruption, shown, async (document) => {
      const draw = await documentDrawer({ kind: "result", document }, flags);
      if (document.run.status !== "aborted" || hasFindings(document)) {
        return deliver(draw, { format, files: outputs }, flags);
      }
      sayNothingMeasured(flags.output);
      // A program on stdout gets JSON; an empty table for people would say nothing.
      return deliver(draw, { format: format === "json" ? format : null, files: [] }, flags);
    });
  } finally {
    await sharing?.release();
    interruption.dispose();
  }
}

/**
 * `pinbench measure`, which other pinbench processes start: measures the settings in the JSON on stdin, and prints the
 * document. Returns the exit code; throws PinbenchError.
 */
export async function measureCommand(_: object, { call }: Invocation): Promise<ExitCode> {
  const settings = parseJson(await textOf(process.stdin), "stdin") as RunSettings;
  const prepared = await prepareRun(settings);
  const interruption = new Interruption();
  const shown = { outputs: [], screen: fileScreen(), quiet: true, progress: false, processes: 1 };
  // The parent process has announced itself to other users of the devices.
  const sharing = shareDevices(prepared, { command: "measure", ownerPid: process.ppid });
  try {
    await sharing?.begin();
    return await carryOut({ ...prepared, sharing }, call, interruption, shown, (document) =>
      writeStdout(jsonReport(document)),
    );
  } finally {
    interruption.dispose();
  }
}

/**
 * Measures in this process, or with several processes in fresh ones; delivers the document, and reports failures on
 * stderr. Returns the exit code.
 */
async function carryOut(
  prepared: PreparedRun & { sharing: DeviceSharing | null; labels?: Labels },
  call: Call,
  interruption: Interruption,
  { processes, ...shown }: Omit<ShowRunOptions, "signal"> & { processes: number },
  handOver: (document: ResultDocument) => Promise<void>,
): Promise<ExitCode> {
  const { signal } = interruption;
  const { plan } = prepared;
  const identity = { ...call, ...prepared };
  const run = processes === 1 ? new Run(identity) : new ProcessSeries(identity, processes);
  if (run instanceof Run) await showRun(run, plan, { ...shown, signal });
  else await showProcesses(run, { plan, processes }, { ...shown, signal });
  const document = run.document();
  // Others must not wait until the result has been read.
  await prepared.sharing?.release();
  await handOver(document).finally(() => reportFailures(document, shown.screen));
  if (!shown.quiet) await adviseDoctor(document);
  return interruption.exitCode ?? exitCodeOf(document);
}

/** A plan is no result: it has no rows for a spreadsheet, and its file could be mistaken for a result. */
function refuseForDryRun(
  { plot }: { plot: boolean },
  format: FormatOf<"result">,
  outputs: readonly unknown[],
): void {
  if (plot) {
    throw new PinbenchError("usage", "--dry-run measures nothing that --plot could draw.", {
      hint: "Leave one of them out.",
    });
  }
  if (format !== "json" && format !== "table") {
    throw new PinbenchError("usage", `--dry-run shows the plan as a table or as JSON, not as ${format}.`, {
      hint: `Leave --format ${format} out, or write --json instead.`,
    });
  }
  if (outputs.length > 0) {
    throw new PinbenchError("usage", "--dry-run measures nothing that --output could keep.", {
      hint: "Leave --output out; to keep the plan, redirect what --dry-run --json prints.",
    });
  }
}

/** Whether a document contains more than its plan: a figure, or a failed measurement. */
function hasFindings({ cells }: ResultDocument): boolean {
  return cells.some(
    ({ stats, outcome }) => stats.length > 0 || outcome === "failed" || outcome === "mismatch",
  );
}

/** Failures are also reported on stderr, because stdout may go to a file or a program. */
function reportFailures({ run, cells }: ResultDocument, screen: Screen): void {
  const nameOf = cellNames(
    cells.map(({ id }) => id),
    screen,
  );
  const say = noter({ quiet: false });
  const wrong = cells.filter(({ outcome }) => outcome === "mismatch");
  const failed = cells.filter(({ outcome }) => outcome === "failed");
  if (wrong.length > 0) {
    say(
      `DATA CAME BACK WRONG in ${wrong.map(({ id }) => nameOf(id)).join(", ")}: do not trust this machine's copies. Check the kernel log for PCIe, ECC and IOMMU errors.`,
    );
  }
  if (run.error !== null) {
    const hint = shortageHint(run.error.code) ?? "See the kernel log and nvidia-smi.";
    say(`The run failed: ${run.error.message}. ${hint}`);
  } else if (failed.length > 0) {
    const reasons = [...new Set(failed.map(({ error }) => error?.message))];
    say(`${failed.length} of ${cells.length} cells failed: ${reasons.join("; ")}.`);
  }
}

function exitCodeOf({ run, cells }: ResultDocument): ExitCode {
  const isBad = cells.some(({ outcome }) => outcome === "mismatch" || outcome === "failed");
  return isBad || run.status === "failed" ? ExitCode.measurement : ExitCode.ok;
}
