import { setTimeout as sleep } from "node:timers/promises";
import { type ExitCode, PinbenchError } from "../../errors.js";
import { shellExitCode } from "../../host/child.js";
import { hostname } from "../../host/system.js";
import { measureInFreshProcess } from "../../measure/fresh-process.js";
import { packageVersion, programPath } from "../../package-facts.js";
import { parseResult } from "../../results/parse.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { fillRunSettings } from "../../settings/settings.js";
import { KiB, MiB } from "../../settings/units.js";
import { readTextFile } from "../../text-file.js";
import { type PinnedRates, pinnedRatesOf } from "../../trace/pinned-rates.js";
import type { Trace } from "../../trace/trace-document.js";
import { lastWriteMs, TracedProgram } from "../../trace/traced-program.js";
import { Interruption } from "../interruption.js";
import { deliverToStderr, destinationsOf } from "../output/document-output.js";
import { reportError } from "../output/terminal.js";
import { passingSignals } from "../passed-signals.js";
import type { Invocation } from "../requested-settings.js";

type TraceFlags = CommandSettings<"trace">;

/**
 * `pinbench trace -- COMMAND`: runs the command unchanged, passes signals on, and reports its copies on stderr. Returns
 * the command's exit code; throws PinbenchError only before it starts.
 */
export async function traceCommand(flags: TraceFlags, { operands, call }: Invocation): Promise<ExitCode> {
  if (operands.length === 0 || !call.argv.includes("--")) {
    throw new PinbenchError("usage", "the command to trace is missing.", {
      hint: `Write it after --: pinbench trace -- ${operands.join(" ") || "python3 train.py"}.`,
    });
  }
  const destinations = await destinationsOf("trace", flags);
  const interruption = new Interruption();
  const rates = await pinnedRates(flags, interruption.signal).finally(() => interruption.dispose());
  if (interruption.exitCode !== null) return interruption.exitCode;
  let starting: Promise<TracedProgram>;
  const pass = async (signal: NodeJS.Signals) => (await starting).child.signal(signal);
  return passingSignals(pass, async () => {
    starting = TracedProgram.start(operands, flags);
    const program = await starting;
    try {
      const { exit } = program.child;
      const { skipNs, forNs } = flags;
      const reportMs = (skipNs + (forNs ?? 0)) / 1e6 + lastWriteMs;
      await (forNs === null ? exit : Promise.race([exit, sleep(reportMs, null, { ref: false })]));
      const document: Trace = {
        schemaVersion: 1,
        kind: "trace",
        tool: { name: "pinbench", version: packageVersion() },
        host: hostname(),
        createdAt: new Date().toISOString(),
        command: operands.join(" "),
        processes: program.processes(rates),
        pinnedRates: rates?.source ?? null,
        earlier: null,
      };
      await deliverToStderr({ kind: "trace", document }, destinations).catch(reportError);
      // The command may use any of 256 codes.
      return shellExitCode(await exit) as ExitCode;
    } finally {
      program.removeFolder();
    }
  });
}

const quick = { sizesBytes: [64 * KiB, MiB, 16 * MiB, 64 * MiB], budgetNs: 1e9 };

/** The rates of --reference, or else measured now; null without a GPU. */
async function pinnedRates({ reference }: TraceFlags, signal: AbortSignal): Promise<PinnedRates | null> {
  if (reference !== null) {
    const rates = pinnedRatesOf(parseResult(await readTextFile(reference), reference), reference);
    if (rates.cells.length > 0) return rates;
    throw new PinbenchError("usage", `${reference} has no pinned copies by one thread.`, {
      hint: "Give a result of `pinbench run`.",
    });
  }
  const settings = fillRunSettings({
    origin: "caller",
    values: { ...quick, backend: "cuda", memory: ["pinned"], workers: [1], directions: ["h2d", "d2h"] },
  });
  try {
    const result = await measureInFreshProcess(settings, { entry: programPath, signal });
    return pinnedRatesOf(result, `${result.devices[0]?.name}, measured before the start`);
  } catch (error) {
    if (error instanceof PinbenchError) return null;
    throw error;
  }
}
