import { PinbenchError } from "../../errors.js";
import { describeExit } from "../../host/child.js";
import {
  type TuneSettings,
  tuneSettings,
  usualBudgetNs,
  wholeSearchNs,
} from "../../settings/tune-settings.js";
import { formatDuration } from "../../settings/units.js";
import type { ProbeFacts } from "../loader-probe.js";
import { refuse } from "../open-probe.js";
import { LiveJob, type Member, steadyNowNs } from "./live-job.js";
import { LiveProbe, type LiveTarget, readyLoader } from "./live-probe.js";
import { firstSteps, type LoaderRecord } from "./loader-record.js";

/** Options for the job and the loader to look for. */
export interface LiveOptions {
  command: readonly string[];
  settings: TuneSettings;
  signal: AbortSignal;
  /** Called when the command runs: the caller ends it or leaves it running in any case. */
  onStart: (job: LiveJob) => void;
}

/** Epochs in a row of one batch each, after which a loop is known to begin one for each batch. */
const manyLooks = 20;

/** Factor on --timeout for the first batch: a training may load a model and connect its ranks before. */
const startFactor = 4;
/** Longest delay of other ranks behind the first one. */
const ranksNs = 5e9;
/** Shortest search. */
const leastBudgetNs = 30e9;
/** Settings of a search that apply to a running job: the script itself decides on its data. */
const heeded: readonly (keyof TuneSettings)[] = [
  ...(["ranks", "maxWorkers", "budgetNs", "timeoutNs", "go", "loader"] as const),
];

/** Interval of checks without messages. */
const tickMs = 100;

/**
 * Starts the command, waits until it is clear which loader the training loop spends its time on, and takes that one
 * over in all ranks of this node. Rejects with a PinbenchError if that fails; the command then still runs, or has ended
 * by itself.
 */
export async function openLive(options: LiveOptions): Promise<LiveProbe> {
  const strangers = (Object.keys(tuneSettings) as (keyof TuneSettings)[]).filter(
    (key) => !heeded.includes(key),
  );
  refuse(options.settings, "with a command", strangers);
  const job = await LiveJob.start(options.command);
  options.onStart(job);
  const opening = new LiveOpening(job, options);
  return new LiveProbe(await opening.target);
}

/** From the start of the command to the choice of a loader. */
class LiveOpening {
  readonly target: Promise<LiveTarget>;
  readonly #startedNs = steadyNowNs();
  readonly #timer: NodeJS.Timeout;
  #resolve: (target: LiveTarget) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #lastNewsNs = this.#startedNs;
  /** Types of loaders with an __iter__ of their own. */
  readonly #ownIters = new Set<string>();
  #chosen: { member: Member; loader: number; ns: number } | null = null;

  constructor(
    readonly job: LiveJob,
    readonly options: LiveOptions,
  ) {
    this.#timer = setInterval(() => this.#look(), tickMs);
    this.target = new Promise<LiveTarget>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    }).finally(() => clearInterval(this.#timer));
    job.onNews = (_, message) => {
      if (message?.type === "ownIter") this.#ownIters.add(message.name);
      // Further iterations and epochs of the loop are no news.
      if (message?.type !== "batches" && message?.type !== "epoch") this.#lastNewsNs = steadyNowNs();
      this.#look();
    };
    options.signal.addEventListener("abort", () => this.#look(), { once: true });
    job.over.addEventListener("abort", () => this.#look(), { once: true });
  }

  #look(): void {
    try {
      const target = this.#find();
      if (target !== null) this.#resolve(target);
    } catch (error) {
      this.#reject(error);
    }
  }

  #find(): LiveTarget | null {
    const { job, options } = this;
    if (job.fault !== null) throw job.fault;
    if (options.signal.aborted) throw new PinbenchError("measurement", "The search was interrupted.");
    this.#chosen ??= this.#choose();
    if (job.over.aborted) throw this.#ended();
    const nowNs = steadyNowNs();
    if (this.#chosen === null) {
      this.#checkTime(nowNs);
      return null;
    }
    const { member, loader, ns } = this.#chosen;
    const { localWorldSize, worldSize, rank } = member.connection.hello;
    const ranksOfNode =
      localWorldSize !== null && localWorldSize > 1 ? localWorldSize : options.settings.ranks;
    if (options.settings.ranks > 1 && options.settings.ranks !== ranksOfNode) {
      throw new PinbenchError(
        "usage",
        `--ranks ${options.settings.ranks} contradicts the job, which has ${localWorldSize} ranks on this node.`,
        { hint: "Leave it out." },
      );
    }
    const others = job.members.filter((other) => other !== member && other.isConnected);
    const peers = others.filter(({ connection: { hello } }) =>
      (worldSize ?? 1) > 1 ? hello.worldSize === worldSize && hello.rank !== rank : ranksOfNode > 1,
    );
    const ready = [member, ...peers].filter((one) => readyLoader(one, loader) !== null);
    if (ready.length < ranksOfNode && nowNs - ns < ranksNs) return null;
    for (const other of job.members) if (!ready.includes(other)) other.connection.send({ type: "rest" });
    const ranks = ready.map((one) => {
      one.connection.send({ type: "target", loader });
      const { pid, rank: number } = one.connection.hello;
      return { rank: number ?? 0, pid, loader: readyLoader(one, loader)!, member: one };
    });
    const record = readyLoader(member, loader)!;
    const budgetNs = options.settings.budgetNs ?? usualBudgetSince(member.firstBatchNs ?? nowNs, nowNs);
    const facts = factsOf(member, record);
    facts.waitsForRanks = Math.max(worldSize ?? 1, ranksOfNode) > 1;
    facts.places = ranks.flatMap((one) => {
      const place = one.loader.batch?.place;
      return place === undefined ? [] : [{ rank: one.rank, place }];
    });
    facts.notes.push(...ranksNotes(ranks.length, ranksOfNode, worldSize ?? 1));
    const setting = { ...record.told.setting, nonBlocking: false };
    return { job, facts, setting, loader, ranks, ranksOfNode, budgetNs };
  }

  #choose(): { member: Member; loader: number; ns: number } | null {
    const { loader } = this.options.settings;
    for (const member of this.#byRank()) {
      const loaders = [...member.loaders.values()];
      const asked = loaders.filter(({ told }) => loader === null || told.loader === loader);
      const record = loader !== null && asked[0]?.isUnderWay ? asked[0] : chooseTarget(asked);
      if (record !== null) return { member, loader: record.told.loader, ns: steadyNowNs() };
    }
    return null;
  }

  #byRank(): Member[] {
    const rankOf = ({ connection }: Member) => connection.hello.rank ?? 0;
    return this.job.members.filter(({ isConnected }) => isConnected).sort((a, b) => rankOf(a) - rankOf(b));
  }

  /** Throws if no loader can be expected any more. */
  #checkTime(nowNs: number): void {
    const { timeoutNs } = this.options.settings;
    const loaders = this.job.members.flatMap((member) => [...member.loaders.values()]);
    if (loaders.length === 0) {
      // A Python that keeps pinbench out, or a loader with an __iter__ of its own, is known before.
      const patience = this.#ownIters.size > 0 || this.job.pythons.isIsolated ? 1 : startFactor;
      if (nowNs - this.#startedNs < patience * timeoutNs) return;
      throw unseen(
        `The command has iterated no DataLoader within ${formatDuration(patience * timeoutNs)}.`,
        this.#whyUnseen(false) ??
          `For a training that begins slowly, raise --timeout: the wait is four times as long.`,
      );
    }
    const looking = loaders.find(({ looks }) => looks >= manyLooks);
    if (looking !== undefined) throw lookedAt(looking);
    // If batches come without gradients, the loop may still be about to train.
    const hasBatches = loaders.some(({ delivered }) => delivered > 0);
    const patienceNs = (hasBatches ? startFactor : 1) * timeoutNs;
    if (nowNs - this.#lastNewsNs < patienceNs) return;
    const within = formatDuration(patienceNs);
    throw noTarget(
      loaders,
      this.options.settings.loader,
      `No training loop took several batches within ${within}.`,
      "If a batch or a step really takes this long, raise --timeout.",
    );
  }

  /** Why no loader was seen; null if nothing is known against it. */
  #whyUnseen(hasEnded: boolean): string | null {
    const [name] = this.#ownIters;
    if (name !== undefined) {
      return `A ${name} was made, whose __iter__ is not torch's: pinbench tune --torch FILE:NAME measures its data set by itself.`;
    }
    return this.job.pythons.whyUnseen(hasEnded);
  }

  #ended(): PinbenchError {
    const exit = this.job.process.ended;
    const how = exit === null ? "ended" : describeExit(exit);
    const loaders = this.job.members.flatMap((member) => [...member.loaders.values()]);
    const looking = loaders.find(({ looks }) => looks >= manyLooks);
    if (looking !== undefined) return lookedAt(looking);
    if (loaders.length === 0 && exit?.code !== 0) {
      return unseen(
        `The command ${how} before it iterated a DataLoader.`,
        this.#whyUnseen(true) ?? "Does it run without pinbench? It is started exactly as written after --.",
      );
    }
    if (loaders.length === 0) {
      return unseen(
        `The command ${how}, and has iterated no DataLoader that pinbench could see.`,
        this.#whyUnseen(true) ?? "Only torch's DataLoader is seen, in a Python that reads PYTHONPATH.",
      );
    }
    return noTarget(
      loaders,
      this.options.settings.loader,
      `The command ${how} before anything could be measured.`,
      "The job must train for some seconds: give it more samples or epochs.",
    );
  }
}

function lookedAt({ told }: LoaderRecord): PinbenchError {
  return unseen(
    `The loop begins a new epoch of loader ${told.loader} (${told.source}) for each batch, as next(iter(loader)) does.`,
    "Workers would start for each batch. Keep one iterator: batches = iter(loader), then next(batches).",
  );
}

function unseen(message: string, hint: string): PinbenchError {
  return new PinbenchError("measurement", message, { hint });
}

/** Why none of the loaders can be tuned; the text `otherwise` if nothing is wrong with them. */
function noTarget(
  loaders: readonly LoaderRecord[],
  loader: number | null,
  otherwise: string,
  hint: string,
): PinbenchError {
  const names = loaders.map(({ told }) => `${told.loader} (${told.source})`);
  if (loader !== null && !loaders.some(({ told }) => told.loader === loader)) {
    return unseen(
      `There is no loader ${loader} in the job.`,
      `In order of first use there are: ${[...new Set(names)].join(", ")}.`,
    );
  }
  return unseen(otherwise, hint);
}

function usualBudgetSince(firstBatchNs: number, nowNs: number): number {
  return Math.min(usualBudgetNs.live, Math.max(leastBudgetNs, wholeSearchNs - (nowNs - firstBatchNs)));
}

function factsOf({ connection }: Member, record: LoaderRecord): ProbeFacts {
  const { told, batch } = record;
  const { python, torch } = connection.hello;
  const { samples, bytes, description, tensors, onDevice, device, pinningOff, fileLimit, filesInUse } =
    batch!;
  return {
    kind: "live",
    source: `loader ${told.loader}: ${told.source}`,
    device,
    runtime: `torch ${torch}, Python ${python}`,
    framework: told.framework ?? null,
    batch: { samples, bytes, description },
    epochBatches: record.epochBatches,
    startingPoint: { ...told.setting, nonBlocking: false },
    pinningOff,
    workersOff: onDevice ? "the batches are on the GPU already" : null,
    link: null,
    stepNs: null,
    checks: [],
    notes: startNotes(told),
    filesPerBatch: tensors,
    fileLimit,
    filesInUse,
  };
}

/** Workers that are not forked start slowly, which is the default since Python 3.14. */
function startNotes({ startMethod }: LoaderRecord["told"]): string[] {
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

/** Time of a loop after its first steps that shows which loader it spends its time on. */
const watchedNs = 2e9;
/** Number of batches that shows it for slow loops. */
const watchedBatches = 3;
/** Time of evaluating after which a loop without training is tuned: a script may evaluate first. */
const untrainedNs = 10e9;
/** Two loaders of one loop share its time: the one that the loop waits for matters. */
const sameTime = 0.9;

/**
 * The loader whose batches take most of the loop's time, among those iterated with gradients on; null while that is
 * unclear.
 */
export function chooseTarget(loaders: readonly LoaderRecord[]): LoaderRecord | null {
  const tunable = loaders.filter(({ isUnderWay }) => isUnderWay);
  const training = mostWaitedFor(tunable, "training");
  if (training !== null) {
    const { ns } = training.loop.training;
    return ns >= watchedNs && training.delivered >= firstSteps + watchedBatches ? training : null;
  }
  // The first steps of a training may take long.
  if (loaders.some(({ hasTrained }) => hasTrained)) return null;
  const other = mostWaitedFor(tunable, "other");
  return other !== null && other.loop.other.ns >= untrainedNs ? other : null;
}

function mostWaitedFor(
  loaders: readonly LoaderRecord[],
  kind: keyof LoaderRecord["loop"],
): LoaderRecord | null {
  const most = Math.max(0, ...loaders.map(({ loop }) => loop[kind].ns));
  return loaders
    .filter(({ loop }) => loop[kind].ns > 0 && loop[kind].ns >= sameTime * most)
    .reduce<LoaderRecord | null>(
      (best, one) => (best === null || one.loop[kind].waitNs > best.loop[kind].waitNs ? one : best),
      null,
    );
}
