import { randomUUID } from "node:crypto";
import { ExitCode, PinbenchError } from "../errors.js";
import type { RunIdentity } from "../measure/document.js";
import { runPlan } from "../measure/run.js";
import { describeFailed } from "../native/load-failure.js";
import { formatOfPath, type ReportFormat, renderReport } from "../report/formats.js";
import { jsonReport } from "../report/json.js";
import { planReport } from "../report/plan.js";
import type { ResultDocument } from "../results/schema.js";
import { checkWritable } from "../results/store.js";
import { plainChalk, stdoutChalk } from "./colour.js";
import { configNote, type LoadedConfig } from "./config.js";
import { deliver } from "./deliver.js";
import { Interruption } from "./interruption.js";
import { liveHooks } from "./live-hooks.js";
import { chosenFormat } from "./option-values.js";
import { preparePlan } from "./prepare-plan.js";
import type { RunFlags } from "./run-options.js";
import { writeStdout } from "./stdout.js";

/**
 * `pinbench run`: everything from the flags, which already hold what `config` says, to the files. Returns the exit
 * code; throws PinbenchError.
 */
export async function run(flags: RunFlags, version: string, config: LoadedConfig): Promise<ExitCode> {
  const startedAt = new Date();
  const startedMs = performance.now();
  const format = chosenFormat(flags) ?? "table";
  const outputs = flags.output.map((path) => ({ path, format: formatOfPath(path) }));
  const note = (text: string) => {
    if (!flags.quiet) process.stderr.write(`pinbench: ${text}\n`);
  };

  if (flags.dryRun) refuseForDryRun(format, outputs);
  for (const { path } of outputs) await checkWritable(path);
  // Finds all that is wrong with a request before anything is said: an error is the only line on stderr.
  const { plan, backend, build, host, passedOver, devices } = await preparePlan(flags, config);
  if (config.path !== null) note(configNote(config.path));
  for (const one of passedOver) note(`not used: ${describeFailed(one)}.`);
  if (backend.fallbackReason !== null) {
    note(
      `${backend.fallbackReason}: ${flags.dryRun ? "planning for" : "measuring"} the emulated device instead.`,
    );
  }
  for (const text of plan.notes) note(text);
  if (flags.dryRun) {
    await writeStdout(format === "json" ? jsonReport(plan) : planReport(plan, devices, stdoutChalk(flags)));
    return ExitCode.ok;
  }
  const identity: RunIdentity = {
    id: randomUUID(),
    startedAt,
    startedMs,
    argv: process.argv.slice(2),
    version,
    build,
    host,
    backend,
    plan,
  };
  const interruption = new Interruption();
  const hooks = liveHooks(plan, outputs, { quiet: flags.quiet ?? false });
  const document = await runPlan(identity, { numa: flags.numa }, hooks, interruption.signal).finally(() =>
    hooks.clear(),
  );
  const delivery = {
    stdout:
      format === "json" || isWorthShowing(document)
        ? () => renderReport(document, format, stdoutChalk(flags))
        : null,
    files: outputs.map(({ path, format }) => ({
      path,
      text: () => renderReport(document, format, plainChalk()),
    })),
  };
  await deliver(delivery, { debug: flags.debug ?? false }).finally(() => {
    interruption.dispose();
    reportFailures(document);
  });
  return interruption.exitCode ?? exitCodeOf(document);
}

/** A plan is no result: it has no rows for a spreadsheet, and a file of it would pass for one. */
function refuseForDryRun(format: ReportFormat, outputs: readonly unknown[]): void {
  if (format === "csv" || format === "markdown") {
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

/** Tables for people are left out where a signal came before the first figure. */
function isWorthShowing({ cells }: ResultDocument): boolean {
  return cells.some(({ stats, outcome }) => stats.length > 0 || outcome !== null);
}

/** What went wrong is said on stderr too: stdout may have gone to a file or a program. */
function reportFailures({ run, cells }: ResultDocument): void {
  const say = (text: string) => process.stderr.write(`pinbench: ${text}\n`);
  const wrong = cells.filter(({ outcome }) => outcome === "mismatch");
  const failed = cells.filter(({ outcome }) => outcome === "failed");
  if (wrong.length > 0) {
    say(
      `DATA CAME BACK WRONG in ${wrong.map(({ id }) => id).join(", ")}: do not trust this machine's copies. Check the kernel log for PCIe, ECC and IOMMU errors.`,
    );
  }
  if (run.error !== null) {
    say(`The run failed: ${run.error.message}. See the kernel log and nvidia-smi.`);
  } else if (failed.length > 0) {
    const reasons = [...new Set(failed.map(({ error }) => error?.message))];
    say(`${failed.length} of ${cells.length} cells failed: ${reasons.join("; ")}.`);
  }
}

function exitCodeOf({ run, cells }: ResultDocument): ExitCode {
  const isBad = cells.some(({ outcome }) => outcome === "mismatch" || outcome === "failed");
  return isBad || run.status === "failed" ? ExitCode.measurement : ExitCode.ok;
}
