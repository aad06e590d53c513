import {
  formatBandwidth,
  formatHalfWidth,
  formatRatio,
  formatWholeShare,
  roundDown,
  roundUp,
} from "../../draw/numbers.js";
import { capital, counted } from "../../draw/words.js";
import type { Finding } from "../../report/findings/finding.js";
import { describeSetting, settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting, Recommendation, Tried, Tuning, TuningScore } from "../../results/tuning.js";
import { mostWorkers } from "../../settings/tune-settings.js";
import { doubled } from "../../settings/units.js";
import { median, relativeHalfWidth } from "../../stats/order-statistics.js";
import { waitingShare } from "../search/rate.js";

/** Batches per second with about three digits, rounded down. */
export function formatRate(batchesPerSecond: number): string {
  return roundDown(batchesPerSecond, batchesPerSecond >= 100 ? 0 : batchesPerSecond >= 10 ? 1 : 2);
}

/** "±2.2 %", or "±?" for an open interval. */
export function halfText({ batchesPerSecond, low, high }: TuningScore): string {
  return formatHalfWidth(relativeHalfWidth({ low, high }, batchesPerSecond));
}

const rateText = (score: TuningScore) => `${formatRate(score.batchesPerSecond)} ${halfText(score)}`;

/** What the recommendation is compared with, in words. */
export function startingOwner({ probe }: Tuning): string {
  if (probe.kind === "live") return "the script's own settings";
  return probe.startingPoint === null ? "DataLoader's defaults" : "your DataLoader's own settings";
}

const limits: Readonly<Record<Recommendation["limit"], string>> = {
  step: "The training step is the limit, not the loader.",
  link: "The copy to the device is the limit.",
  epochs: "The starts of epochs are the limit.",
  workers: "The workers are the limit: all are busy making batches.",
  process: "The training process is the limit: it makes the batches itself.",
  "hand-over": "The hand-over of batches is the limit, not making them.",
  unknown: "The limit is not known, because making a batch was not timed.",
};

/** The gain of the recommended setting over the user's, and what then limits the loader. */
export function headline(tuning: Tuning): string[] {
  const { recommendation, startingScore } = tuning;
  if (recommendation === null) return [];
  const { setting, score, undecided } = recommendation;
  const owner = startingOwner(tuning);
  const named = (one: LoaderSetting) => describeSetting(one, tuning.probe.kind === "live");
  const rate = `${named(setting)}: ${rateText(score)} batches/s`;
  const [gain] = gainOf(tuning, recommendation);
  const against =
    startingScore === null ? `${owner} have no rate` : `${owner}: ${rateText(startingScore)} batches/s`;
  const answer = gain === undefined ? `${capital(owner)} stay. ${rate}.` : `${rate}. ${capital(against)}.`;
  const open = undecided && `Undecided: ${named(undecided.setting)}: ${rateText(undecided.score)}.`;
  // A job that ended or was interrupted had no more time.
  const more = open && tuning.run.status !== "ended" && tuning.run.status !== "aborted";
  const hint = more && `Use ${longerBudget(tuning)}.`;
  return [[answer, open, hint].filter(Boolean).join(" "), limitOf(tuning, recommendation)];
}

/** The flag for twice the time: of the budget, or of the search if that went on because it was undecided. */
export function longerBudget({ method, run }: Tuning): string {
  return `--budget ${doubled(Math.max(method.budgetNs, run.searchNs))}`;
}

/** Qualifies the limit if all allowed workers are in use, as more might be faster. */
function limitOf({ method: { maxWorkers }, machine }: Tuning, { limit, setting }: Recommendation): string {
  if (limit !== "workers" || setting.numWorkers !== maxWorkers) return limits[limit];
  const most = `${counted(maxWorkers, "worker")} on ${counted(machine.usableCpus, "CPU")}`;
  return `${limits[limit]} The search stopped at ${most}: if they wait for disk or network, use --max-workers ${Math.min(4 * maxWorkers, mostWorkers)}.`;
}

/** Findings other than the rates of settings, a row each. */
export function findingsOf(tuning: Tuning): Finding[] {
  const { recommendation } = tuning;
  if (recommendation === null) return [];
  return [
    ...gainOf(tuning, recommendation),
    ...waitsOf(tuning, recommendation),
    ...slowRank(tuning, recommendation),
    ...epochsOf(recommendation),
    ...stepOf(tuning, recommendation),
    ...workerTime(tuning, recommendation),
    ...pinningOf(tuning, recommendation),
    ...linkOf(tuning, recommendation),
  ];
}

const row = (subject: string, figure: string, value: string, more: Partial<Finding> = {}): Finding => ({
  ...{ subject, figure, value, interval: "", against: "", verdict: "", hint: "" },
  ...more,
});

const percent = (share: number) => (share < 0.01 ? "< 1 %" : formatWholeShare(share, roundUp));

/** "70 ms", "0.4 ms", "0.05 ms". */
function ms(ns: number): string {
  const value = Math.max(0, ns) / 1e6;
  return `${Number(roundUp(value, value >= 10 ? 0 : value >= 0.1 ? 1 : 3))} ms`;
}

function triedOf({ tried }: Tuning, setting: LoaderSetting | null): Tried | undefined {
  return tried.find((one) => setting !== null && settingKey(one.setting) === settingKey(setting));
}

function gainOf(tuning: Tuning, { setting, score, gain }: Recommendation): Finding[] {
  const { method, startingScore } = tuning;
  const own = tuning.probe.startingPoint;
  const isDefault = setting.numWorkers === 0 && !setting.pinMemory;
  if (own === null ? isDefault : settingKey(own) === settingKey(setting)) return [];
  if (startingScore === null) return [row(describeSetting(setting), "rate", rateText(score))];
  const ratio = gain?.ratio ?? score.batchesPerSecond / startingScore.batchesPerSecond;
  const against = startingOwner(tuning);
  const [low, high] = [gain?.low ?? null, gain?.high ?? null];
  const subject = describeSetting(setting, tuning.probe.kind === "live");
  if (low === null || high === null) return [row(subject, "rate", formatRatio(ratio), { against })];
  const isSame = low > 1 - 2 * method.tolerance && high < 1 + 2 * method.tolerance;
  const verdict = low > 1 ? "faster" : high < 1 ? "slower" : isSame ? "same" : "undecided";
  const interval = `${formatRatio(low)} to ${formatRatio(high, roundUp)}`;
  return [row(subject, "rate", formatRatio(ratio), { interval, against, verdict })];
}

/** Speed-up of a running job by a perfect loader, from its waits under this setting; null if unknown. */
export function perfectRatio(tried: Tried): number | null {
  const waiting = waitingShare(tried);
  if (waiting === null || tried.score === null) return null;
  const turns = tried.trials.flatMap(({ epochTurns }) => epochTurns ?? []);
  const starts = turns.map(({ firstBatchNs, batches }) => firstBatchNs / batches);
  const startShare = starts.length === 0 ? 0 : (median(starts) * tried.score.batchesPerSecond) / 1e9;
  const most = 1 / (1 - Math.min(1, waiting + startShare));
  return Number.isFinite(most) ? most : null;
}

/** For a running job: the gain from a perfect loader, and the waits before and after the change. */
function waitsOf(tuning: Tuning, { setting }: Recommendation): Finding[] {
  const { kind, startingPoint } = tuning.probe;
  if (kind !== "live") return [];
  const [own, chosen] = [triedOf(tuning, startingPoint), triedOf(tuning, setting)];
  const most = own === undefined ? null : perfectRatio(own);
  const waits = [...new Set([own, chosen])].flatMap((one) => {
    const share = one === undefined ? null : waitingShare(one);
    return share === null ? [] : [row(describeSetting(one!.setting, true), "wait for data", percent(share))];
  });
  const perfect =
    most === null
      ? []
      : [
          row("any loader", "rate", `at most ${formatRatio(most, roundUp)}`, {
            against: startingOwner(tuning),
          }),
        ];
  return [...perfect, ...waits];
}

/** Reports a rank that waits twice as long as the others, for more than 5 % of the time: it delays them. */
function slowRank(tuning: Tuning, { setting, score }: Recommendation): Finding[] {
  const trials = triedOf(tuning, setting)?.trials ?? [];
  const waits = trials.findLast(({ rankWaits }) => rankWaits !== undefined)?.rankWaits ?? [];
  if (waits.length < 2) return [];
  const share = (waitNs: number) => (waitNs * score.batchesPerSecond) / 1e9;
  const longest = waits.reduce((most, one) => (one.waitNs > most.waitNs ? one : most));
  const others = median(waits.filter((one) => one !== longest).map(({ waitNs }) => waitNs));
  if (share(longest.waitNs) < 0.05 || longest.waitNs < 2 * others) return [];
  const against = `${percent(share(others))} of the others`;
  return [
    row(`rank ${longest.rank}`, "wait for data", percent(share(longest.waitNs)), {
      against,
      verdict: "slower",
    }),
  ];
}

function epochsOf({ epochs, score }: Recommendation): Finding[] {
  if (epochs === null) return [];
  const { batches, betweenNs, firstBatchNs, isMeasured, share } = epochs;
  const lostNs = (share * batches * 1e9) / score.batchesPerSecond;
  const subject = `start of an epoch of ${counted(batches, "batch", "batches")}`;
  return [
    row(subject, "time lost", `${ms(lostNs)}, ${percent(share)}`),
    row(subject, "first batch", `${ms(firstBatchNs)}${isMeasured ? "" : " (computed)"}`),
    row(subject, "script between epochs", ms(betweenNs)),
  ];
}

function stepOf({ probe }: Tuning, { score }: Recommendation): Finding[] {
  if (probe.stepNs === null) return [];
  const addedNs = 1e9 / score.batchesPerSecond - probe.stepNs;
  return [row(`a ${ms(probe.stepNs)} step`, "added by data", ms(addedNs))];
}

/** Mean time of a batch in a worker, at the recommended number of workers or the nearest timed one. */
function workerTime({ tried }: Tuning, { setting }: Recommendation): Finding[] {
  const known = tried.flatMap(({ setting: { numWorkers }, trials }) => {
    const timed = trials.filter((one) => one.makeNsPerBatch !== null && one.handOverNsPerBatch !== undefined);
    return numWorkers === 0 || timed.length === 0 ? [] : [{ numWorkers, timed }];
  });
  const distance = ({ numWorkers }: { numWorkers: number }) => Math.abs(numWorkers - setting.numWorkers);
  const [nearest] = known.sort((a, b) => distance(a) - distance(b));
  if (nearest === undefined) return [];
  const { numWorkers, timed } = nearest;
  const middle = (of: "makeNsPerBatch" | "collateNsPerBatch" | "handOverNsPerBatch") => {
    const figures = timed.flatMap((trial) => trial[of] ?? []);
    return figures.length === 0 ? null : median(figures);
  };
  const subject = `a batch in one of ${counted(numWorkers, "worker")}`;
  const [make, collate] = [middle("makeNsPerBatch")!, middle("collateNsPerBatch")];
  return [
    ...(collate === null
      ? [row(subject, "samples and collate", ms(make))]
      : [row(subject, "samples", ms(make - collate)), row(subject, "collate", ms(collate))]),
    row(subject, "hand-over", ms(middle("handOverNsPerBatch")!)),
  ];
}

/** How pinning changes the time of a batch. */
function pinningOf({ probe, method }: Tuning, { pinning, score }: Recommendation): Finding[] {
  if (probe.pinningOff !== null || pinning === null) return [];
  const { numWorkers, savedNsPerBatch, savedNsLow: low, savedNsHigh: high } = pinning;
  const subject = `pin_memory, ${counted(numWorkers, "worker")}`;
  const signed = (ns: number) => `${ns > 0 ? "-" : "+"}${ms(Math.abs(ns))}`;
  if (low === null || high === null) return [row(subject, "time of a batch", signed(savedNsPerBatch))];
  const notable = (method.tolerance * 1e9) / score.batchesPerSecond;
  const isSame = Math.max(Math.abs(low), Math.abs(high)) < notable;
  const verdict = isSame ? "same" : low > 0 ? "faster" : high < 0 ? "slower" : "undecided";
  const interval = `${signed(high)} to ${signed(low)}`;
  return [
    row(subject, "time of a batch", signed(savedNsPerBatch), { interval, against: "not pinned", verdict }),
  ];
}

function linkOf({ probe }: Tuning, { setting, loaderGBps }: Recommendation): Finding[] {
  if (probe.link === null) return [row("the loader", "bytes", formatBandwidth(loaderGBps))];
  const { pinnedBytesPerSecond, pageableBytesPerSecond } = probe.link;
  const link = setting.pinMemory ? pinnedBytesPerSecond : pageableBytesPerSecond;
  const against = `${formatBandwidth(link / 1e9)} of the link`;
  return [row("the loader", "bytes", formatBandwidth(loaderGBps), { against })];
}
