import { PinbenchError } from "../errors.js";
import type { Tuning } from "../results/tuning.js";
import type { Options } from "../settings/setting.js";
import { type Call, callNow, defaultsOf, readOptions } from "../settings/settings.js";
import { type TuneSettings, tuneSettings } from "../settings/tune-settings.js";
import type { LiveJob } from "../tune/live/live-job.js";
import { openLive } from "../tune/live/open-live.js";
import { machineLimits } from "../tune/machine-limits.js";
import { openProbe } from "../tune/open-probe.js";
import { tuneLoader } from "../tune/tune-loader.js";
import { forCallers, gpuAlone } from "./for-callers.js";

/** Flags of `pinbench tune`; default backend: "cuda". Give `command`, `torch`, or `sample` and/or `data`. */
export interface TuneOptions extends Omit<Options<typeof tuneSettings>, "go"> {
  /**
   * A training job, such as `["python", "train.py"]`: runs with stdin, stdout and stderr of this process while settings
   * are tried, and is then ended.
   */
  command?: readonly string[];
  /** Ends the search early: its document has the results so far, and the status "aborted". */
  signal?: AbortSignal;
}

/**
 * Tunes a loader as `pinbench tune` does, and returns the document of its --json. It prints nothing. If no setting
 * could be measured, its `recommendation` is null. Rejects with a PinbenchError if it cannot measure at all: wrong
 * options, no Python, a data set that cannot make a batch, an abort before the first trial.
 */
export const tune = forCallers(
  async ({ signal = new AbortController().signal, command, ...options }: TuneOptions): Promise<Tuning> => {
    const call = callNow();
    // After the search, the caller decides what happens to the command.
    const { go, ...known } = tuneSettings;
    const requested = readOptions(known, options);
    const settings = { ...defaultsOf(tuneSettings), ...requested, go: go.default };
    if (command !== undefined) return tuneJob(command, settings, call, signal);
    const probe = await openProbe({ ...settings, ...(requested.backend === undefined && gpuAlone) }, signal);
    const limits = machineLimits(settings.ranks);
    try {
      return await tuneLoader(probe, { ...settings, ...call, limits }, signal);
    } finally {
      await probe.close();
    }
  },
);

async function tuneJob(
  command: readonly string[],
  settings: TuneSettings,
  call: Call,
  signal: AbortSignal,
): Promise<Tuning> {
  if (!Array.isArray(command) || command.length === 0 || command.some((word) => typeof word !== "string")) {
    throw new PinbenchError("usage", "The option command must be a list of words, the program first.");
  }
  let job: LiveJob | null = null;
  const onStart = (started: LiveJob) => {
    job = started;
  };
  try {
    const probe = await openLive({ command, settings, signal, onStart });
    const limits = machineLimits(probe.ranksOfNode);
    return await tuneLoader(probe, { ...settings, ...call, limits }, signal);
  } finally {
    await (job as LiveJob | null)?.end();
  }
}
