import { ExitCode, PinbenchError } from "../errors.js";
import { renderTuning } from "../report/tuning/tuning-formats.js";
import { describeSetting } from "../results/loader-setting.js";
import { checkWritable } from "../results/store.js";
import type { Tuning } from "../results/tuning.js";
import type { Probe } from "../tune/loader-probe.js";
import { tune } from "../tune/tune-loader.js";
import { plainChalk, stdoutChalk } from "./colour.js";
import { deliver } from "./deliver.js";
import { Interruption } from "./interruption.js";
import { chosenFormat } from "./option-values.js";
import { ProgressLine } from "./progress-line.js";
import type { TuneFlags } from "./tune-options.js";
import { openProbe } from "./tune-probe.js";
import { tuneRequest } from "./tune-request.js";

/** `pinbench tune`: from the flags to the recommendation. Returns the exit code; throws PinbenchError. */
export async function tuneLoader(flags: TuneFlags, version: string): Promise<ExitCode> {
  const startedAt = new Date();
  const startedMs = performance.now();
  const format = chosenFormat(flags) ?? "table";
  if (flags.save !== undefined) await checkWritable(flags.save);
  const interruption = new Interruption();
  const line = new ProgressLine({ quiet: flags.quiet ?? false });
  let probe: Probe | null = null;
  let tuning: Tuning;
  try {
    line.update(() => "opening the data");
    probe = await openProbe(flags, interruption.signal);
    tuning = await tune(
      probe,
      tuneRequest(flags, { version, argv: process.argv.slice(2), startedAt, startedMs }),
      interruption.signal,
      (setting, best) => line.update((columns) => progress(setting, best).slice(0, columns)),
    );
  } catch (error) {
    if (interruption.exitCode !== null) return interruption.exitCode;
    throw error;
  } finally {
    line.clear();
    await probe?.close();
    interruption.dispose();
  }
  const { save } = flags;
  await deliver(
    {
      stdout: () => renderTuning(tuning, format, stdoutChalk(flags)),
      files:
        save === undefined ? [] : [{ path: save, text: () => renderTuning(tuning, "json", plainChalk()) }],
    },
    { debug: flags.debug ?? false },
  );
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
