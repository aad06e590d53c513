import { setTimeout as sleep } from "node:timers/promises";
import { ExitCode, PinbenchError } from "../errors.js";
import { renderTuning } from "../report/tuning/tuning-formats.js";
import { describeSetting } from "../results/loader-setting.js";
import { checkWritable } from "../results/store.js";
import type { Tuning } from "../results/tuning.js";
import type { CommandSettings } from "../settings/command-settings.js";
import type { Probe } from "../tune/loader-probe.js";
import { machineLimits } from "../tune/machine-limits.js";
import { openProbe } from "../tune/open-probe.js";
import { tuneLoader } from "../tune/tune-loader.js";
import { chosenFormat, type Invocation } from "./asked-settings.js";
import { deliver } from "./delivery.js";
import { Interruption } from "./interruption.js";
import { ProgressLine } from "./terminal.js";

/** How long an interrupted search waits for its probe to close. */
const patienceMs = 1000;

/** `pinbench tune`: from the flags to the recommendation. Returns the exit code; throws PinbenchError. */
export async function tuneCommand(flags: CommandSettings<"tune">, { call }: Invocation): Promise<ExitCode> {
  const format = chosenFormat(flags);
  if (flags.save !== null) await checkWritable(flags.save);
  const interruption = new Interruption();
  const line = new ProgressLine(flags);
  let probe: Probe | null = null;
  let tuning: Tuning;
  try {
    line.update(() => "opening the data");
    probe = await openProbe(flags, interruption.signal);
    tuning = await tuneLoader(
      probe,
      { ...flags, ...call, limits: machineLimits(flags.ranks) },
      interruption.signal,
      (setting, best) => line.update((columns) => progress(setting, best).slice(0, columns)),
    );
  } catch (error) {
    if (interruption.exitCode !== null) return interruption.exitCode;
    throw error;
  } finally {
    line.clear();
    const closing = probe?.close();
    // What was found must not wait for a device that hangs.
    await (interruption.exitCode === null ? closing : Promise.race([closing, sleep(patienceMs)]));
    interruption.dispose();
  }
  const { save } = flags;
  const files = save === null ? [] : [{ path: save, format: "json" as const }];
  await deliver((format, chalk) => renderTuning(tuning, format, chalk), { format, files }, flags);
  if (interruption.exitCode !== null) return interruption.exitCode;
  if (tuning.run.error !== null) {
    throw new PinbenchError("measurement", `The search could not go on: ${tuning.run.error}`);
  }
  if (tuning.recommendation === null) throw failureOf(tuning);
  return ExitCode.ok;
}

function progress(
  setting: Parameters<typeof describeSetting>[0],
  best: { setting: typeof setting; score: { batchesPerSecond: number } } | null,
): string {
  const trying = `trying ${describeSetting(setting)}`;
  return best === null
    ? trying
    : `${trying}; best so far ${best.score.batchesPerSecond.toPrecision(3)} batches/s with ${describeSetting(best.setting)}`;
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
