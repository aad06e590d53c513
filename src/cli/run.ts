import { randomUUID } from "node:crypto";
import { ExitCode, PinbenchError } from "../errors.js";
import { hostRecord } from "../host/host-record.js";
import type { RunIdentity } from "../measure/document.js";
import { choosePlacement } from "../measure/placement.js";
import { planFacts } from "../measure/plan-facts.js";
import { runPlan } from "../measure/run.js";
import { openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { plan } from "../plan/plan.js";
import { formatOfPath, type ReportFormat } from "../report/formats.js";
import { jsonReport } from "../report/json.js";
import { planReport } from "../report/plan.js";
import type { HostRecord, ResultDocument } from "../results/schema.js";
import { checkWritable } from "../results/store.js";
import { stdoutChalk } from "./colour.js";
import { deliver } from "./deliver.js";
import { Interruption } from "./interruption.js";
import { liveHooks } from "./live-hooks.js";
import { type RunFlags, toPlanRequest } from "./run-options.js";
import { writeStdout } from "./stdout.js";

/** `pinbench run`: everything from the flags to the files. Returns the exit code; throws PinbenchError. */
export async function run(flags: RunFlags, version: string): Promise<ExitCode> {
  const startedAt = new Date();
  const startedMs = performance.now();
  const format = chooseFormat(flags);
  const outputs = flags.output.map((path) => ({ path, format: formatOfPath(path) }));
  const note = (text: string) => {
    if (!flags.quiet) process.stderr.write(`pinbench: ${text}\n`);
  };

  if (flags.dryRun) refuseForDryRun(format, outputs);
  for (const { path } of outputs) await checkWritable(path);
  const loaded = loadAddon();
  const backend = await openBackend(flags.backend, loaded);
  const host = { ...hostRecord(), ...statedCache(flags) };
  const { build } = loaded.addon;
  const planned = plan(toPlanRequest(flags), planFacts(backend, build, host, flags.device));
  const selected = backend.facts.devices.filter(({ ordinal }) =>
    planned.cells.some((cell) => cell.device === ordinal),
  );
  // Found now, like all that is wrong with a request: an error is the only line on stderr.
  for (const { pciBusId } of selected) choosePlacement(pciBusId, flags.numa);
  if (backend.fallbackReason !== null) {
    note(
      `${backend.fallbackReason}: ${flags.dryRun ? "planning for" : "measuring"} the emulated device instead.`,
    );
  }
  for (const text of planned.notes) note(text);
  if (flags.dryRun) {
    await writeStdout(
      format === "json" ? jsonReport(planned) : planReport(planned, selected, stdoutChalk(flags)),
    );
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
    plan: planned,
  };
  const interruption = new Interruption();
  const hooks = liveHooks(planned, outputs, { quiet: flags.quiet ?? false });
  const document = await runPlan(identity, { numa: flags.numa }, hooks, interruption.signal).finally(() =>
    hooks.clear(),
  );
  const options = { format, chalk: stdoutChalk(flags), debug: flags.debug ?? false };
  await deliver(document, outputs, options).finally(() => {
    interruption.dispose();
    reportFailures(document);
  });
  return interruption.exitCode ?? exitCodeOf(document);
}

/** A cold pool that is sized by a wrong cache is either not cold or needlessly large. */
function statedCache({ llc }: RunFlags): Partial<HostRecord> {
  return llc === undefined ? {} : { lastLevelCacheBytes: llc, lastLevelCacheSource: "--llc" };
}

function chooseFormat(flags: RunFlags): ReportFormat {
  if (flags.json && flags.format !== undefined && flags.format !== "json") {
    throw new PinbenchError("usage", `--json and --format ${flags.format} contradict each other.`, {
      hint: "Leave one of them out; --output FILE writes a second format.",
    });
  }
  return flags.json ? "json" : ((flags.format as ReportFormat | undefined) ?? "table");
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
