import { setTimeout as sleep } from "node:timers/promises";
import { ExitCode } from "../../errors.js";
import { PinMemory } from "../../pin/pin-memory.js";
import type { Pinning } from "../../pin/pinning-document.js";
import { preparePools } from "../../pin/prepare-pools.js";
import { backendNotes } from "../../report/plan-report.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { aborted, callPatienceMs } from "../interruption.js";
import { killAfterPatience } from "../kill-after-patience.js";
import { runMeasuringCommand } from "../measuring-command.js";
import { destinationsOf } from "../output/document-output.js";
import { noter } from "../output/terminal.js";
import { backendFor, type Invocation } from "../requested-settings.js";

export async function pinCommand(flags: CommandSettings<"pin">, invocation: Invocation): Promise<ExitCode> {
  const destinations = await destinationsOf("pinning", flags);
  const backend = backendFor(flags, invocation);
  const request = { destinations, turn: flags, call: invocation.call };
  return runMeasuringCommand(request, {
    kind: "pinning",
    name: "pin",
    limitNs: flags.budgetNs,
    prepare: () => preparePools({ ...flags, backend }),
    notes: (prepared) => backendNotes(prepared),
    async measure({ signal, ...turn }) {
      const pinning = new PinMemory({ ...turn, labels: flags.labels, signal });
      const measuring = pinning.measure();
      // On an interruption a driver call may take seconds. If it returns soon, the process still frees its memory.
      await Promise.race([
        measuring,
        aborted(signal).then(() => sleep(callPatienceMs, null, { ref: false })),
      ]);
      const document = pinning.document();
      const { status, error } = document;
      const finish = async () => {
        if (signal.aborted) return killAfterPatience();
        await measuring;
        if (error !== null) noter({ quiet: false })(`The device failed: ${error.message}.`);
      };
      const saysSomething =
        status !== "aborted" || document.pools.some(({ outcome }) => outcome !== "omitted");
      return { document, saysSomething, finish };
    },
    exitCode: exitCodeOf,
  });
}

/** A refused pool is still a result, unless all pools are refused. */
function exitCodeOf({ error, pools }: Pinning): ExitCode {
  const isAnswered = error === null && pools.some(({ outcome }) => outcome === "measured");
  return isAnswered ? ExitCode.ok : ExitCode.measurement;
}
