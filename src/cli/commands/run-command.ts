import { text as textOf } from "node:stream/consumers";
import { jsonReport } from "../../draw/json.js";
import { formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import { fileScreen } from "../../draw/screen.js";
import { ExitCode, exitCodeOf, PinbenchError } from "../../errors.js";
import { shortageHint } from "../../machine-shortage.js";
import { prepareRun, shareDevices } from "../../measure/prepare.js";
import { ProcessSeries } from "../../measure/process-series.js";
import { Run } from "../../measure/run.js";
import { notesOn, planDocument, planReport } from "../../report/plan-report.js";
import type { CellResult } from "../../results/cell-schema.js";
import { isMeasured, statsOf, wholeOf } from "../../results/naming/cell-figure.js";
import { idOfNamedCell } from "../../results/naming/named-cell.js";
import { cellNames } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { configurationNote } from "../../settings/configuration.js";
import type { FormatOf } from "../../settings/document-formats.js";
import type { RunSettings } from "../../settings/table.js";
import { parseJson } from "../../text-file.js";
import { Interruption } from "../interruption.js";
import { type ShowRunOptions, showProcesses, showRun } from "../live-run.js";
import { runMeasuringCommand } from "../measuring-command.js";
import { adviseDoctor, type Destinations, destinationsOf, isPicture } from "../output/document-output.js";
import { ProgressLine } from "../output/progress-line.js";
import { stdoutScreen } from "../output/screens.js";
import { noter, writeStdout } from "../output/terminal.js";
import { type Invocation, refuseSearch, requestedSettings } from "../requested-settings.js";

export async function runCommand(flags: CommandSettings<"run">, invocation: Invocation): Promise<ExitCode> {
  if (flags.value !== null) return runForValue(flags.value, { ...flags, value: null }, invocation);
  return runForDocument(flags, invocation);
}

/** `pinbench run --value`: measures one cell, and prints only its median in GB/s, or in µs for latency. */
async function runForValue(
  name: string,
  flags: CommandSettings<"run">,
  { flagKeys, ...invocation }: Invocation,
): Promise<ExitCode> {
  if (flags.json || flags.format !== null || flags.dryRun) {
    throw new PinbenchError("usage", "--value prints a figure, not a document.", {
      hint: "Leave out --value, or else --json, --format and --dry-run.",
    });
  }
  return runForDocument(
    { ...flags, cells: [idOfNamedCell(name)], quiet: true },
    { ...invocation, flagKeys: [...flagKeys, "cells"] },
    async ({ cells }) => {
      const [cell] = cells.filter(isMeasured);
      const stats = cell === undefined ? null : statsOf(cell, wholeOf(cell.direction));
      if (stats === null) return;
      const { latencyUs, bandwidthGBps } = stats;
      await writeStdout(
        `${latencyUs === null ? formatGBps(bandwidthGBps.median) : formatMicroseconds(latencyUs.median)}\n`,
      );
    },
  );
}

async function runForDocument(
  flags: CommandSettings<"run">,
  invocation: Invocation,
  print?: (document: ResultDocument) => Promise<void>,
): Promise<ExitCode> {
  const { dryRun, runs, labels, quiet } = flags;
  const { call } = invocation;
  const destinations = await destinationsOf("result", flags);
  const { format, files } = destinations;
  if (dryRun) refuseForDryRun(flags, format);
  const isForPrograms = (format === "json" && !dryRun) || print !== undefined;
  const { settings, configuration } = await requestedSettings(flags, invocation, { isForPrograms });
  if (runs > 1) refuseSearch(settings, "--runs");
  const notes = configuration.path === null ? [] : [configurationNote(configuration.path)];
  if (dryRun) return showPlan(settings, destinations, { notes, runs, quiet });
  const request = {
    destinations: print === undefined ? destinations : { ...destinations, format: null },
    turn: flags,
    call,
  };
  return runMeasuringCommand(request, {
    kind: "result",
    name: "run",
    prepare: () => prepareRun(settings),
    notes: (prepared) => [...notes, ...notesOn(prepared)],
    async measure({ prepared, sharing, line, signal }) {
      // Pages and pictures are drawn only at the end, because nobody views them during the run.
      const outputs = files.filter(({ format }) => !isPicture(format));
      const run = { ...call, ...prepared, sharing, labels };
      const document = await measured(run, runs, { outputs, screen: fileScreen(), line, quiet, signal });
      const finish = async () => {
        await print?.(document);
        reportFailures(document);
        if (!quiet) await adviseDoctor(document);
      };
      return { document, saysSomething: document.run.status !== "aborted" || hasFindings(document), finish };
    },
    exitCode: exitCodeOfResult,
  });
}

async function showPlan(
  settings: RunSettings,
  { format, flags }: Destinations<FormatOf<"result">>,
  { notes, runs, quiet }: { notes: readonly string[]; runs: number; quiet: boolean },
): Promise<ExitCode> {
  // Checks all settings before the first note, so that an error is the only line on stderr.
  const prepared = await prepareRun(settings);
  for (const text of [...notes, ...notesOn(prepared)]) noter({ quiet })(text);
  const { plan, devices } = prepared;
  const text =
    format === "json"
      ? jsonReport(planDocument(plan, runs))
      : planReport(plan, devices, runs, stdoutScreen(flags));
  await writeStdout(text);
  return ExitCode.ok;
}

/**
 * `pinbench measure`, started by other pinbench processes: reads settings as JSON from stdin, measures, and prints the
 * document. Returns the exit code; throws PinbenchError.
 */
export async function measureCommand(_: object, { call }: Invocation): Promise<ExitCode> {
  const settings = parseJson(await textOf(process.stdin), "stdin") as RunSettings;
  const prepared = await prepareRun(settings);
  const interruption = new Interruption();
  const screen = fileScreen();
  // The parent process has announced itself already.
  const sharing = shareDevices(prepared, { command: "measure", ownerPid: process.ppid });
  try {
    await sharing?.begin();
    const { signal } = interruption;
    const line = new ProgressLine({ quiet: true });
    const shown = { outputs: [], screen, line, quiet: true, signal };
    const document = await measured({ ...call, ...prepared, sharing }, 1, shown);
    await writeStdout(jsonReport(document)).finally(() => reportFailures(document));
    return exitCodeOf(interruption.exitCode, exitCodeOfResult(document));
  } finally {
    await sharing?.release();
    interruption.dispose();
  }
}

async function measured(
  options: ConstructorParameters<typeof Run>[0],
  runs: number,
  shown: ShowRunOptions,
): Promise<ResultDocument> {
  const { plan } = options;
  const run = runs === 1 ? new Run(options) : new ProcessSeries(options, runs);
  if (run instanceof Run) await showRun(run, plan, shown);
  else await showProcesses(run, { plan, runs }, shown);
  return run.document();
}

/** A plan has no rows for a spreadsheet, and a file of it could be mistaken for a result. */
function refuseForDryRun({ output }: { output: readonly string[] }, format: string): void {
  if (format !== "json" && format !== "table") {
    throw new PinbenchError("usage", `--dry-run shows the plan as a table or as JSON, not as ${format}.`, {
      hint: `Leave --format ${format} out, or write --json instead.`,
    });
  }
  if (output.length > 0) {
    throw new PinbenchError("usage", "--dry-run measures nothing that --output could keep.", {
      hint: "Leave --output out; to keep the plan, redirect what --dry-run --json prints.",
    });
  }
}

function hasFindings({ cells }: ResultDocument): boolean {
  return cells.some(
    ({ stats, outcome }) => stats.length > 0 || outcome === "failed" || outcome === "mismatch",
  );
}

/** Prints failures to stderr too, because stdout may be a file or a program. */
function reportFailures({ run, cells }: ResultDocument): void {
  const nameOf = cellNames(cells.map(({ id }) => id));
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

function exitCodeOfResult({ run, cells }: ResultDocument): ExitCode {
  const has = (outcome: CellResult["outcome"]) => cells.some((cell) => cell.outcome === outcome);
  return exitCodeOf(
    has("mismatch") ? ExitCode.wrongData : null,
    has("failed") || run.status === "failed" ? ExitCode.measurement : null,
  );
}
