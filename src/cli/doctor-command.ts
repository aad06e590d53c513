import { diagnose } from "../doctor/diagnose.js";
import type { Diagnosis } from "../doctor/diagnosis.js";
import { examine } from "../doctor/examine.js";
import { prepareExamination } from "../doctor/prepare-examination.js";
import { ExitCode } from "../errors.js";
import { type PreparedRun, shareDevices } from "../measure/prepare.js";
import { diagnosisFormatOfPath, renderDiagnosis } from "../report/doctor/diagnosis-report.js";
import { progressLine } from "../report/progress.js";
import { checkWritable } from "../results/store.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { labelsOf } from "../settings/labels.js";
import { chosenFormat, type Invocation } from "./asked-settings.js";
import { deliver } from "./delivery.js";
import { beginOnDevices } from "./device-turn.js";
import { Interruption, sayNothingMeasured } from "./interruption.js";
import { ProgressLine } from "./progress-line.js";
import { notesOn } from "./run-command.js";
import { noter } from "./terminal.js";

/** From the start of the process on nothing is begun that would end later: with what is over by itself, 20 s. */
const budgetMs = 17_000;

/** `pinbench doctor`: returns the exit code; throws PinbenchError. */
export async function doctorCommand(
  flags: CommandSettings<"doctor">,
  { call }: Invocation,
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  const labels = labelsOf(flags.labels);
  const files = flags.output.map((path) => ({ path, format: diagnosisFormatOfPath(path) }));
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
    const startedMs = flags.wait || flags.waitAtMostNs !== null ? performance.now() : call.startedMs;
    const examined = examine({
      prepared,
      sharing,
      root: rootOf(prepared),
      isQuick: flags.quick,
      endMs: startedMs + budgetMs,
      signal,
      onActivity: (text) =>
        line.update((columns) =>
          progressLine({ leftNs: null, done: { text }, now: null, best: null }, columns),
        ),
    }).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    const examination = await interruption.unlessAborted(examined);
    line.clear();
    await sharing?.release();
    if (examination === null) return ended();
    const [cell] = prepared.plan.cells;
    const diagnosis = diagnose(examination, {
      backend: prepared.backend.name,
      sizeBytes: cell!.sizeBytes,
      createdAt: call.startedAt,
      wallNs: (performance.now() - call.startedMs) * 1e6,
      labels,
    });
    await deliver((asked, screen) => renderDiagnosis(diagnosis, asked, screen), { format, files }, flags);
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

/** Of an emulated device the rest of the machine can be made up as well: a folder with its /proc and /sys. */
function rootOf({ backend }: PreparedRun): string {
  return (backend.facts.emulated && process.env.PINBENCH_EMULATED_ROOT) || "/";
}
