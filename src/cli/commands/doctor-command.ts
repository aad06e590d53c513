import { diagnoseMachine } from "../../doctor/diagnose-machine.js";
import type { Diagnosis } from "../../doctor/diagnosis.js";
import { prepareExamination } from "../../doctor/prepare-examination.js";
import { ExitCode } from "../../errors.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { labelsOf } from "../../settings/labels.js";
import type { Invocation } from "../asked-settings.js";
import { runMeasuringCommand } from "../measuring-command.js";
import { notesOn } from "./run-command.js";

/** `pinbench doctor`: returns the exit code; throws PinbenchError. */
export async function doctorCommand(
  flags: CommandSettings<"doctor">,
  invocation: Invocation,
): Promise<ExitCode> {
  const labels = labelsOf(flags.labels);
  const isQuick = flags.quick;
  return runMeasuringCommand(flags, invocation, {
    kind: "diagnosis",
    name: "doctor",
    prepare: (backend) => prepareExamination({ ...flags, backend, isQuick }),
    notes: (prepared) => notesOn({ ...prepared, plan: { ...prepared.plan, notes: [] } }),
    async measure(turn) {
      const { interruption, signal } = turn;
      const diagnosing = diagnoseMachine({ ...turn, labels, isQuick }).catch((error: unknown) => {
        if (signal.aborted) return null;
        throw error;
      });
      const document = await interruption.unlessAborted(diagnosing);
      return document === null ? null : { document, saysSomething: true };
    },
    exitCode: ({ verdict }) => exitCodes[verdict],
  });
}

const exitCodes = {
  healthy: ExitCode.ok,
  costs: ExitCode.regression,
  "cannot tell": ExitCode.measurement,
} as const satisfies Record<Diagnosis["verdict"], ExitCode>;
