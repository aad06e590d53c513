import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../../errors.js";
import { describeExit } from "../../host/child.js";
import { type TuneSettings, tuneSettings } from "../../settings/tune-settings.js";
import { doubled, formatDuration } from "../../settings/units.js";
import type { ProbeFacts } from "../loader-probe.js";
import { refuse } from "../open-probe.js";
import { LiveJob, type Member, steadyNowNs } from "./live-job.js";
import { LiveProbe, type LiveTarget, readyLoader } from "./live-probe.js";
import { firstSteps, type LoaderRecord } from "./loader-record.js";

export interface LiveOptions {
  command: readonly string[];
  settings: TuneSettings;
  signal: AbortSignal;
  /** Called once the command runs. The caller then owns the job, even after an error. */
  onStart: (job: LiveJob) => void;
}

/** Whether the loop starts an epoch for every batch: at least 20 epochs in a row had only one. */
const isLookedAt = ({ looks }: LoaderRecord) => looks >= 20;

/** Factor on --timeout for the first batch: a training may first load a model and connect its ranks. */
const startFactor = 4;
/** Maximum delay of other ranks behind the first one. */
const ranksNs = 5e9;
/** Settings that apply to a running job; the script itself chooses its data. */
const supported = new Set(["maxWorkers", "budgetNs", "timeoutNs", "go", "loader"]);

const tickMs = 50;

/**
 * Starts the command, waits until it is clear which loader takes most of the loop's time, and returns a probe
 * of it in all ranks of this node. Rejects with a PinbenchError if there is none; the command may still run.
 */
export async function openLive(options: LiveOptions): Promise<LiveProbe> {
  const unsupported = (Object.keys(tuneSettings) as (keyof TuneSettings)[]).filter(
    (key) => !supported.has(key),
  );
  refuse(options.settings, "with a command", unsupported);
  const job = await LiveJob.start(options.command);
  options.onStart(job);
  const opening = new LiveOpening(job, options);
  for (;;) {
    const target = opening.find();
    if (target !== null) return new LiveProbe(target);
    await sleep(tickMs);
  }
}

/** Observes a command from its start until a loader is chosen. */
class LiveOpening {
  #lastNewsNs = steadyNowNs();
  readonly #ownIters = new Set<string>();
  #chosen: { member: Member; loader: number; ns: number } | null = null;

  constructor(
    readonly job: LiveJob,
    readonly options: LiveOptions,
  ) {
    job.onNews = (_, message) => {
      if (message?.type === "ownIter") this.#ownIters.add(message.name);
      // Batches and epochs do not extend the time limit.
      if (message?.type !== "batches" && message?.type !== "epoch") this.#lastNewsNs = steadyNowNs();
    };
  }

  /** The loader to tune; null while undecided. Throws if there cannot be one. */
  find(): LiveTarget | null {
    const { job, options } = this;
    if (job.fault !== null) throw job.fault;
    if (options.signal.aborted) throw new PinbenchError("measurement", "The search was interrupted.");
    this.#chosen ??= this.#choose();
    if (job.over.aborted) throw this.#ended();
    const nowNs = steadyNowNs();
    if (this.#chosen === null) {
      this.#checkTime();
      return null;
    }
    const { member, loader, ns } = this.#chosen;
    const { localWorldSize, worldSize, rank } = member.hello;
    const ranksOfNode = Math.max(1, localWorldSize);
    const peers = job.members.filter(
      ({ hello, isConnected }) =>
        isConnected && worldSize > 1 && hello.worldSize === worldSize && hello.rank !== rank,
    );
    const ready = [member, ...peers].filter((one) => readyLoader(one, loader) !== null);
    if (ready.length < ranksOfNode && nowNs - ns < ranksNs) return null;
    for (const other of job.members) if (!ready.includes(other)) other.send({ type: "rest" });
    const ranks = ready.map((one) => {
      one.send({ type: "target", loader });
      return { rank: one.hello.rank, loader: readyLoader(one, loader)!, member: one };
    });
    const record = readyLoader(member, loader)!;
    const facts = factsOf(record);
    facts.waitsForRanks = worldSize > 1;
    facts.places = ranks.map(({ rank, loader }) => ({ rank, place: loader.facts!.place }));
    facts.notes.push(...ranksNotes(ranks.length, ranksOfNode, worldSize));
    return { job, facts, loader, ranks, ranksOfNode };
  }

  #choose(): { member: Member; loader: number; ns: number } | null {
    const { loader } = this.options.settings;
    for (const member of this.#byRank()) {
      const loaders = [...member.loaders.values()];
      const requested = loaders.filter(({ reported }) => loader === null || reported.loader === loader);
      const record = loader !== null && requested[0]?.isUnderWay ? requested[0] : chooseTarget(requested);
      if (record !== null) return { member, loader: record.reported.loader, ns: steadyNowNs() };
    }
    return null;
  }

  #byRank(): Member[] {
    const connected = this.job.members.filter(({ isConnected }) => isConnected);
    return connected.sort((a, b) => a.hello.rank - b.hello.rank);
  }

  get #loaders(): LoaderRecord[] {
    return this.job.members.flatMap((member) => [...member.loaders.values()]);
  }

  /** Throws if no loader can be expected any more. */
  #checkTime(): void {
    const loaders = this.#loaders;
    // While batches come without gradients, training may still begin.
    const mayCome =
      loaders.length === 0
        ? this.#ownIters.size === 0 && !this.job.pythons.isIsolated
        : loaders.some(({ delivered }) => delivered > 0);
    const patienceNs = (mayCome ? startFactor : 1) * this.options.settings.timeoutNs;
    const isLate = steadyNowNs() - this.#lastNewsNs >= patienceNs;
    if (!isLate && !loaders.some(isLookedAt)) return;
    const what =
      loaders.length === 0
        ? "The command has iterated no DataLoader"
        : "No training loop took several batches";
    throw this.#failure(
      false,
      `${what} within ${formatDuration(patienceNs)}.`,
      `Only a loop that takes several batches in each epoch can be tuned. If yours is slow or starts late, use --timeout ${doubled(this.options.settings.timeoutNs)}.`,
    );
  }

  #ended(): PinbenchError {
    const exit = this.job.process.ended;
    const how = exit === null ? "ended" : describeExit(exit);
    if (this.#loaders.length > 0) {
      const hint = "The job must train for some seconds: give it more samples or epochs.";
      return this.#failure(true, `The command ${how} before anything could be measured.`, hint);
    }
    return this.#failure(
      true,
      `The command ${how}, and has iterated no DataLoader that pinbench could see.`,
      exit?.code === 0
        ? "Only torch's DataLoader is seen, in a Python that reads PYTHONPATH."
        : "Does it run without pinbench? It is started exactly as written after --.",
    );
  }

  /** The reason why no loader can be tuned; `message` and `hint` if none is known. */
  #failure(hasEnded: boolean, message: string, hint: string): PinbenchError {
    const loaders = this.#loaders;
    const { loader } = this.options.settings;
    const [ownIter] = this.#ownIters;
    const looking = loaders.find(isLookedAt)?.reported;
    if (looking !== undefined) {
      return nothingToTune(
        `The loop begins a new epoch of loader ${looking.loader} (${looking.source}) for each batch, as next(iter(loader)) does.`,
        "Workers would start for each batch. Keep one iterator: batches = iter(loader), then next(batches).",
      );
    }
    if (loaders.length === 0) {
      const byIter =
        ownIter &&
        `A ${ownIter} was made, whose __iter__ is not torch's: pinbench tune --torch FILE:NAME measures its data set by itself.`;
      return nothingToTune(message, byIter ?? this.job.pythons.reasonUnobserved(hasEnded) ?? hint);
    }
    if (loader !== null && !loaders.some(({ reported }) => reported.loader === loader)) {
      const names = loaders.map(({ reported }) => `${reported.loader} (${reported.source})`);
      return nothingToTune(
        `There is no loader ${loader} in the job.`,
        `In order of first use there are: ${[...new Set(names)].join(", ")}.`,
      );
    }
    return nothingToTune(message, hint);
  }
}

function nothingToTune(message: string, hint: string): PinbenchError {
  return new PinbenchError("measurement", message, { hint });
}

function factsOf({ reported, facts, epochBatches }: LoaderRecord): ProbeFacts {
  const { place: _, ...known } = facts!;
  return {
    ...known,
    kind: "live",
    source: `loader ${reported.loader}: ${reported.source}`,
    framework: reported.framework,
    epochBatches,
    startingPoint: reported.setting,
    link: null,
    stepNs: null,
    checks: [],
    notes: startNotes(reported),
  };
}

/** Workers that are not forked start slowly; since Python 3.14 none are forked by default. */
function startNotes({ startMethod }: LoaderRecord["reported"]): string[] {
  if (startMethod === "fork") return [];
  return [
    `workers start by ${startMethod}: each imports torch and the script at every start, which persistent_workers=True does once`,
  ];
}

function ranksNotes(ranks: number, ranksOfNode: number, worldSize: number): string[] {
  const idle = ranksOfNode - ranks;
  return [
    ...(idle > 0 ? [`${idle} of ${ranksOfNode} ranks on this node take no batches from this loader`] : []),
    ...(worldSize > ranksOfNode
      ? [`${worldSize - ranksOfNode} ranks on other nodes are out of reach and keep their own settings`]
      : []),
  ];
}

/** How long a loop is watched after its first steps, to find the loader that it spends its time on. */
const watchedNs = 2e9;
/** Minimum number of watched batches; slow loops take longer than `watchedNs` for them. */
const watchedBatches = 3;
/** After this time without training, an evaluation loop is tuned: a script may evaluate before it trains. */
const untrainedNs = 10e9;
/** Loaders within this share of the longest time belong to one loop; the one it waits for longer is tuned. */
const sameTime = 0.9;

/** The loader that takes most of the loop's time; those iterated with gradients on go first. Null while undecided. */
export function chooseTarget(loaders: readonly LoaderRecord[]): LoaderRecord | null {
  const tunable = loaders.filter(({ isUnderWay }) => isUnderWay);
  const training = mostWaitedFor(tunable, "training");
  if (training !== null) {
    const { ns } = training.loop.training;
    return ns >= watchedNs && training.delivered >= firstSteps + watchedBatches ? training : null;
  }
  // The first training steps may be slow, so the choice waits.
  if (loaders.some(({ hasTrained }) => hasTrained)) return null;
  const other = mostWaitedFor(tunable, "other");
  return other !== null && other.loop.other.ns >= untrainedNs ? other : null;
}

function mostWaitedFor(
  loaders: readonly LoaderRecord[],
  kind: keyof LoaderRecord["loop"],
): LoaderRecord | null {
  const most = Math.max(0, ...loaders.map(({ loop }) => loop[kind].ns));
  const [longest] = loaders
    .filter(({ loop }) => loop[kind].ns > 0 && loop[kind].ns >= sameTime * most)
    .sort((a, b) => b.loop[kind].waitNs - a.loop[kind].waitNs);
  return longest ?? null;
}
