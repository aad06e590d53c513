import { ExitCode } from "../../errors.js";
import type { WeightsLoad } from "../../load/load-document.js";
import { loadWeights, prepareLoad } from "../../load/load-weights.js";
import { backendNotes } from "../../report/plan-report.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { runMeasuringCommand } from "../measuring-command.js";
import { destinationsOf } from "../output/document-output.js";
import { backendFor, type Invocation } from "../requested-settings.js";

export async function loadCommand(flags: CommandSettings<"load">, invocation: Invocation): Promise<ExitCode> {
  const destinations = await destinationsOf("load", flags);
  const backend = backendFor(flags, invocation);
  const request = { destinations, turn: flags, call: invocation.call };
  return runMeasuringCommand(request, {
    kind: "load",
    name: "load",
    limitNs: flags.budgetNs,
    prepare: () => prepareLoad({ ...flags, backend, paths: invocation.operands }),
    notes: (prepared) => backendNotes(prepared),
    async measure(turn) {
      const document = await loadWeights(turn);
      return { document, saysSomething: hasPasses(document) };
    },
    exitCode(document) {
      if (document.verification.mismatchedBytes > 0) return ExitCode.wrongData;
      return hasPasses(document) ? ExitCode.ok : ExitCode.measurement;
    },
  });
}

function hasPasses({ ways }: WeightsLoad): boolean {
  return ways.some(({ passes }) => passes.length > 0);
}
