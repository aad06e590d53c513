import {
  healthCheckCodes,
  type NodeState,
  nagiosCodes,
  nhcError,
  nodeState,
} from "../../doctor/automation.js";
import { diagnoseFailedStart, diagnoseMachine, prepareExamination } from "../../doctor/diagnose-machine.js";
import type { Diagnosis } from "../../doctor/diagnosis.js";
import { ExitCode, exitCodeOf, PinbenchError } from "../../errors.js";
import { readSiteReference } from "../../reference/expectation.js";
import { notesOn } from "../../report/plan-report.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { runMeasuringCommand } from "../measuring-command.js";
import { deliverDocument, destinationsOf } from "../output/document-output.js";
import { reportError, writeStdout } from "../output/terminal.js";
import { backendFor, type Invocation } from "../requested-settings.js";

export async function doctorCommand(
  flags: CommandSettings<"doctor">,
  invocation: Invocation,
): Promise<ExitCode> {
  try {
    return await examineAndReport(flags, invocation);
  } catch (error) {
    if (!(error instanceof PinbenchError)) throw error;
    // Readers of these formats show only the first line of stdout.
    if (flags.format === "nhc") await writeStdout(nhcError(error.sentence));
    // In Nagios, exit code 2 means a broken node.
    if (flags.format !== "nagios") throw error;
    reportError(error);
    await writeStdout(`PINBENCH UNKNOWN - ${error.sentence.replaceAll("|", "/")}\n`);
    return nagiosCodes.unknown as ExitCode;
  }
}

async function examineAndReport(flags: CommandSettings<"doctor">, invocation: Invocation): Promise<ExitCode> {
  const { labels } = flags;
  const isQuick = flags.preset === "quick";
  const reference = flags.reference === null ? null : await readSiteReference(flags.reference);
  const destinations = await destinationsOf("diagnosis", flags);
  // On a node without a driver, a health check must not judge the emulated device instead.
  const backend = backendFor(flags, invocation, true);
  const request = { destinations, turn: flags, call: invocation.call };
  const exitCode = (document: Diagnosis) => exitCodeIn(document, flags.format);
  return runMeasuringCommand(request, {
    kind: "diagnosis",
    name: "doctor",
    prepare: () => prepareExamination({ ...flags, backend, isQuick }),
    notes: (prepared) => notesOn({ ...prepared, plan: { ...prepared.plan, notes: [] } }),
    async measure(turn) {
      const { interruption, signal } = turn;
      const diagnosing = diagnoseMachine({ ...turn, labels, isQuick, reference }).catch((error: unknown) => {
        if (signal.aborted) return null;
        throw error;
      });
      const document = await interruption.unlessAborted(diagnosing);
      return document === null ? null : { document, saysSomething: true };
    },
    exitCode,
  }).catch(async (error: unknown) => {
    const document = diagnoseFailedStart(error, { ...invocation.call, backend, labels });
    if (document === null) throw error;
    await deliverDocument({ kind: "diagnosis", document }, destinations);
    return exitCode(document);
  });
}

function exitCodeIn(document: Diagnosis, format: string | null | undefined): ExitCode {
  const ofState = stateCodes[format ?? ""]?.[nodeState(document)];
  if (ofState !== undefined) return ofState as ExitCode;
  const isWrong = document.findings.some(({ cause }) => cause === "wrong-data");
  return exitCodeOf(isWrong ? ExitCode.wrongData : null, exitCodes[document.verdict]);
}

const exitCodes = {
  healthy: ExitCode.ok,
  "no-reference": ExitCode.ok,
  costs: ExitCode.regression,
  faulty: ExitCode.regression,
  inconclusive: ExitCode.measurement,
} as const satisfies Record<Diagnosis["verdict"], ExitCode>;

const stateCodes: Readonly<Record<string, Readonly<Record<NodeState, number>>>> = {
  nhc: healthCheckCodes,
  nagios: nagiosCodes,
};
