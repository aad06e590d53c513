import { setTimeout as sleep } from "node:timers/promises";
import { type ExitCode, endingSignals, PinbenchError } from "../errors.js";
import { describeSetting } from "../results/loader-setting.js";
import type { Tuning } from "../results/tuning.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { documentFormats } from "../settings/document-formats.js";
import type { Call } from "../settings/settings.js";
import { describeJobExit, shellExitCode } from "../tune/live/job-process.js";
import type { LiveJob } from "../tune/live/live-job.js";
import type { LiveProbe } from "../tune/live/live-probe.js";
import { openLive } from "../tune/live/open-live.js";
import type { Trial } from "../tune/loader-probe.js";
import { machineLimits } from "../tune/machine-limits.js";
import { formatRate, perfectLoader } from "../tune/report/tuning-gain.js";
import { droppedBatches, scoreOf } from "../tune/score.js";
import { toDocument } from "../tune/search/recommend.js";
import { hasScore, tuneLoader, tuningExitCode } from "../tune/tune-loader.js";
import { aborted, Interruption, sayNothingMeasured } from "./interruption.js";
import {
  chosenFormat,
  deliver,
  destinationsOf,
  documentDrawer,
  outputFiles,
} from "./output/document-output.js";
import { stderrScreen } from "./output/screens.js";
import { noter, reportError } from "./output/terminal.js";

type TuneFlags = CommandSettings<"tune">;

/** How long an interrupted search waits for the job to end before it prints its results. */
const patienceMs = 2000;
/** How long the loop of an interrupted job has for its next batch, before the job is interrupted as well. */
const nextBatchMs = 1000;

/**
 * `pinbench tune -- COMMAND`: tunes a training job as it runs. pinbench prints to stderr in every format, because
 * stdout belongs to the command. Returns the exit code: with --go that of the command. Throws PinbenchError.
 */
export async function tuneLive(flags: TuneFlags, command: readonly string[], call: Call): Promise<ExitCode> {
  if (flags.go && flags.deadlineNs !== null) {
    throw new PinbenchError("usage", "--go and --deadline contradict each other.", {
      hint: "With --go the command runs to its own end.",
    });
  }
  const { format } = await destinationsOf("tuning", flags);
  if (format === "json" && flags.output.length === 0) {
    noter(flags)(
      "the JSON goes to stderr, with the command's own output: --output FILE.json keeps it by itself.",
    );
  }
  return flags.go ? tuneAndGo(flags, command, call) : tuneAndEnd(flags, command, call);
}

async function tuneAndEnd(flags: TuneFlags, command: readonly string[], call: Call): Promise<ExitCode> {
  const interruption = new Interruption();
  const search = new Search(flags, command, call);
  try {
    const found = await search.run(interruption.signal).catch((error: unknown) => ({ error }));
    if ("run" in found && found.run.status === "ended" && search.job !== null) {
      // Work of the command after its training must not be cut short.
      await deliverTuning(found, flags);
      const exit = await Promise.race([search.job.process.exit, aborted(interruption.signal)]);
      if (exit !== null) noter(flags)(`the command ${describeJobExit(exit)}.`);
      await search.job.end();
      return interruption.exitCode ?? tuningExitCode(found);
    }
    if ("run" in found && interruption.exitCode === null) {
      noter(flags)("the search is done, so the command is ended; with --go it would train on.");
    }
    const ending = search.end(interruption.exitCode !== null);
    // The results must not wait for a hanging job.
    await (interruption.exitCode === null ? ending : Promise.race([ending, sleep(patienceMs)]));
    if ("error" in found) {
      await ending;
      if (interruption.exitCode === null) throw found.error;
      sayNothingMeasured(filesOf(flags).map(({ path }) => path));
      return interruption.exitCode;
    }
    if (interruption.exitCode !== null && !hasScore(found)) {
      await ending;
      sayNothingMeasured(filesOf(flags).map(({ path }) => path));
      return interruption.exitCode;
    }
    await deliverTuning(found, flags);
    await ending;
    return interruption.exitCode ?? tuningExitCode(found);
  } finally {
    interruption.dispose();
  }
}

/** Signals go to the command, as without pinbench, and its end is the end of pinbench. */
async function tuneAndGo(flags: TuneFlags, command: readonly string[], call: Call): Promise<ExitCode> {
  const search = new Search(flags, command, call);
  const passOn = (signal: NodeJS.Signals) => search.signal(signal);
  for (const signal of endingSignals) process.on(signal, passOn);
  try {
    const found = await search.run(new AbortController().signal).catch((error: unknown) => ({ error }));
    const { job } = search;
    if (job === null) throw "error" in found ? found.error : new Error("The command was not started.");
    try {
      if ("error" in found) throw found.error;
      search.probe?.rest(found.recommendation?.setting ?? null);
      await deliverTuning(found, flags);
      tuningExitCode(found);
    } catch (error) {
      // The command trains on, whatever the result of the search.
      job.stopListening();
      reportError(error);
    }
    const exit = await job.process.exit;
    job.leave();
    // Any of 256 codes.
    return shellExitCode(exit) as ExitCode;
  } finally {
    for (const signal of endingSignals) process.off(signal, passOn);
  }
}

/** A search in a job, and the job once it runs. */
class Search {
  job: LiveJob | null = null;
  probe: LiveProbe | null = null;
  /** A signal from before the job ran. */
  #early: NodeJS.Signals | null = null;

  constructor(
    readonly flags: TuneFlags,
    readonly command: readonly string[],
    readonly call: Call,
  ) {}

  /** Passes a signal on to the job, as soon as it runs. */
  signal(name: NodeJS.Signals): void {
    if (this.job === null) this.#early = name;
    else this.job.process.signal(name);
  }

  /** Ends the job: through the loop's own next() if it comes in time, so that Python prints no traceback. */
  async end(isInterrupted: boolean): Promise<void> {
    await Promise.race([this.probe?.endJob(), ...(isInterrupted ? [sleep(nextBatchMs)] : [])]);
    await this.job?.end();
  }

  async run(signal: AbortSignal): Promise<Tuning> {
    const { flags, command, call } = this;
    const note = noter(flags);
    const onStart = (job: LiveJob) => {
      this.job = job;
      if (this.#early !== null) job.process.signal(this.#early);
    };
    this.probe = await openLive({ command, settings: flags, signal, onStart });
    const { facts, ranksOfNode, budgetNs } = this.probe;
    const own =
      facts.startingPoint === null ? "" : `; the script has ${describeSetting(facts.startingPoint)}`;
    note(`tuning ${facts.source}${own}`);
    let isFirst = true;
    this.probe.onTrial = (trial) => {
      note(describeTrial(trial));
      const most = isFirst ? possibleGain(trial, facts.epochBatches) : null;
      if (most !== null) note(`${most}.`);
      isFirst = false;
    };
    return tuneLoader(
      this.probe,
      { ...flags, ...call, budgetNs, limits: machineLimits(ranksOfNode) },
      signal,
    );
  }
}

/** Many users need only this. */
function possibleGain({ setting, ...trial }: Trial, epochBatches: number | null): string | null {
  const dropped = Math.min(droppedBatches(setting, epochBatches), trial.arrivalsNs.length);
  const score = trial.failure === null ? scoreOf(trial.arrivalsNs, setting, true, dropped) : null;
  const trials = [{ ...trial, droppedBatches: dropped }];
  return perfectLoader({ setting, score: score && toDocument(score), trials });
}

/** "12 workers, pinned: 33.5 batches/s, waits 1 %". */
export function describeTrial(trial: Trial): string {
  const setting = describeSetting(trial.setting, true);
  if (trial.failure !== null) return `${setting}: ${trial.failure.message}`;
  const score = scoreOf(trial.arrivalsNs, trial.setting, true);
  if (score === null) return `${setting}: too few batches arrived`;
  const { waitNsPerBatch } = trial;
  const waitingShare = waitNsPerBatch === null ? null : (waitNsPerBatch * score.batchesPerSecond) / 1e9;
  const waiting = waitingShare === null ? "" : `, waits ${Math.round(100 * Math.min(1, waitingShare))} %`;
  return `${setting}: ${formatRate(score.batchesPerSecond)} batches/s${waiting}`;
}

const filesOf = (flags: TuneFlags) => outputFiles(documentFormats.tuning, flags.output);

async function deliverTuning(tuning: Tuning, flags: TuneFlags): Promise<void> {
  const render = await documentDrawer({ kind: "tuning", document: tuning });
  const text = await render(chosenFormat(flags), stderrScreen({}));
  await new Promise<void>((resolve) => process.stderr.write(text, () => resolve()));
  await deliver(render, { format: null, files: filesOf(flags), flags: {} });
}
