import { diagnoseMachine } from "../doctor/diagnose-machine.js";
import type { Diagnosis } from "../doctor/diagnosis.js";
import { prepareExamination } from "../doctor/prepare-examination.js";
import { ExitCode } from "../errors.js";
import { shareDevices } from "../measure/prepare.js";
import { progressLine } from "../report/progress.js";
import { checkWritable } from "../results/store.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { documentFormats } from "../settings/document-formats.js";
import { labelsOf } from "../settings/labels.js";
import { chosenFormat, type Invocation } from "./asked-settings.js";
import { deliver } from "./delivery.js";
import { beginOnDevices } from "./device-turn.js";
import { documentDrawer, outputFiles } from "./document-output.js";
import { Interruption, sayNothingMeasured } from "./interruption.js";
import { ProgressLine } from "./progress-line.js";
import { notesOn } from "./run-command.js";
import { noter } from "./terminal.js";

/** `pinbench doctor`: returns the exit code; throws PinbenchError. */
export async function doctorCommand(
  flags: CommandSettings<"doctor">,
  { call }: Invocation,
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const labels = labelsOf(flags.labels);
  const files = outputFiles(documentFormats.diagnosis, flags);
  for (const { path } of files) await checkWritable(path);
  const interruption = new Interruption();
  const { signal } = interruption;
  const ended = () => {
    sayNothingMeasured(flags.output);
    return interruption.exitCode ?? ExitCode.interrupted;
  };
  let sharing: ReturnType<typeof shareDevices> = null;
  const line = new ProgressLine(flags);
  try {
    const request = { ...flags, isQuick: flags.quick };
    const prepared = await interruption.unlessAborted(prepareExamination(request));
    if (prepared === null) return ended();
    for (const text of notesOn({ ...prepared, plan: { ...prepared.plan, notes: [] } })) noter(flags)(text);
    sharing = shareDevices(prepared, { command: "doctor", ownerPid: null });
    if (!(await beginOnDevices(sharing, flags, signal))) return ended();
    const mayWait = flags.wait || flags.waitAtMostNs !== null;
    const diagnosed = diagnoseMachine({
      ...{ prepared, sharing, labels, signal },
      isQuick: flags.quick,
      startedAt: call.startedAt,
      startedMs: call.startedMs,
      countedFromMs: mayWait ? performance.now() : call.startedMs,
      onActivity: (text) =>
        line.update((columns) =>
          progressLine({ leftNs: null, done: { text }, now: null, best: null }, columns),
        ),
    }).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    const diagnosis = await interruption.unlessAborted(diagnosed);
    line.clear();
    await sharing?.release();
    if (diagnosis === null) return ended();
    const draw = await documentDrawer({ kind: "diagnosis", document: diagnosis }, flags);
    await deliver(draw, { format, files }, flags);
    return exitCodes[diagnosis.verdict];
  } finally {
    line.clear();
    await sharing?.release();
    interruption.dispose();
  }
}

const exitCodes = {
  healthy: ExitCode.ok,
  costs: ExitCode.regression,
  "cannot tell": ExitCode.measurement,
} as const satisfies Record<Diagnosis["verdict"], ExitCode>;
