import { ExitCode, PinbenchError } from "../../errors.js";
import type { Tuning } from "../../results/tuning.js";

/** Whether a search has measured any setting. */
export function hasScore({ tried }: Tuning): boolean {
  return tried.some(({ score }) => score !== null);
}

/** The exit code that a finished search comes to. Throws a PinbenchError where it could not go on, or found nothing. */
export function tuningExitCode(tuning: Tuning): ExitCode {
  if (tuning.run.error !== null) {
    throw new PinbenchError("measurement", `The search could not go on: ${tuning.run.error}`);
  }
  if (tuning.recommendation === null) throw failureOf(tuning);
  return ExitCode.ok;
}

function failureOf({ tried, skipped }: Tuning): PinbenchError {
  const failure = tried.flatMap(({ trials }) => trials.flatMap((trial) => trial.failure ?? []))[0];
  if (failure !== undefined) {
    return new PinbenchError("measurement", `No setting could be measured: ${failure.message}`, {
      ...(failure.hint === null ? {} : { hint: failure.hint }),
      ...(failure.traceback === null ? {} : { cause: new Error(failure.traceback) }),
    });
  }
  if (tried.length === 0 && skipped[0] !== undefined) {
    return new PinbenchError("measurement", `No setting could be measured: ${skipped[0].reason}.`, {
      hint: "Take smaller batches.",
    });
  }
  return new PinbenchError(
    "measurement",
    "No setting could be measured: too few batches came within the budget.",
    { hint: "Give more time with --budget, or take smaller batches." },
  );
}
