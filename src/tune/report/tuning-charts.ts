import type { ChartPoint, Curve, CurveChart, RuleLine } from "../../draw/chart/chart.js";
import { counted } from "../../draw/words.js";
import { defaultPrefetchFactor, describeSetting, settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting, Tried, Tuning } from "../../results/tuning.js";
import { memories } from "../../settings/choices.js";
import { groupBy } from "../../stats/group-by.js";
import { formatRate, halfText, startingOwner } from "./tuning-findings.js";

/** Rate by number of workers; no charts if no setting has a rate. */
export function rateCharts(tuning: Tuning): CurveChart[] {
  const { method, tried, probe } = tuning;
  const rated = tried.filter(({ score }) => score !== null);
  if (rated.length === 0) return [];
  const curves = [...groupBy(distinct(rated, tuning), curveName)].map(
    ([name, members], index): Curve => ({
      name,
      style: styleOf(members[0]!.setting, index),
      isJoined: true,
      points: members.map((one) => pointOf(one)),
    }),
  );
  const counts = curves.flatMap(({ points }) => points.map(({ x }) => x));
  return [
    {
      kind: "curves",
      name: "rate-by-workers",
      title: `Batches a second, by workers (${counted(probe.batch.samples, "sample")} a batch)`,
      description: describe(tuning, rated),
      x: {
        label: "workers (num_workers)",
        scale: "linear",
        includes: [0, method.maxWorkers],
        ...ticksOf(Math.max(method.maxWorkers, ...counts)),
        format: String,
      },
      y: { label: "batches/s", scale: "linear", includes: [0], format: String },
      curves,
      rules: rulesOf(tuning),
    },
  ];
}

function ticksOf(most: number): { ticks?: number[] } {
  return most > 12 ? {} : { ticks: Array.from({ length: most + 1 }, (_, count) => count) };
}

/** Drops the user's setting if another one has the same point in this chart; a line marks it anyway. */
function distinct(rated: readonly Tried[], { probe }: Tuning): Tried[] {
  const place = ({ setting }: Tried) => `${curveName({ setting })}, ${setting.numWorkers}`;
  const isOwn = ({ setting }: Tried) =>
    probe.startingPoint !== null && settingKey(setting) === settingKey(probe.startingPoint);
  return rated.filter(
    (one) => !isOwn(one) || !rated.some((other) => other !== one && place(other) === place(one)),
  );
}

/** "pinned", "not pinned, prefetch 4". */
function curveName({ setting: { pinMemory, prefetchFactor } }: Pick<Tried, "setting">): string {
  const prefetch =
    prefetchFactor === null || prefetchFactor === defaultPrefetchFactor ? "" : `, prefetch ${prefetchFactor}`;
  return `${pinMemory ? "pinned" : "not pinned"}${prefetch}`;
}

/** Pinned and pageable memory have the same styles as in other charts; other prefetch factors get further styles. */
function styleOf({ pinMemory, prefetchFactor }: LoaderSetting, index: number): number {
  if (prefetchFactor !== null && prefetchFactor !== defaultPrefetchFactor) return 6 + (index % 2);
  return memories.indexOf(pinMemory ? "pinned" : "pageable");
}

function pointOf({ setting, score }: Tried): ChartPoint {
  const { batchesPerSecond, low, high, isSettled } = score!;
  // A wider interval would compress the rates.
  const isNarrow = low !== null && high !== null && high - low <= 2 * batchesPerSecond;
  return {
    x: setting.numWorkers,
    y: batchesPerSecond,
    low: isNarrow ? low : null,
    high: isNarrow ? high : null,
    text: `${counted(setting.numWorkers, "worker")}: ${formatRate(batchesPerSecond)} batches/s ${halfText(score!)}${isSettled ? "" : ", a rough figure"}`,
    ...(isSettled ? {} : { isOpen: true }),
    // Without workers, the training process makes the batches, so this is no point of the curve.
    ...(setting.numWorkers === 0 ? { isApart: true } : {}),
  };
}

/** Lines for the user's setting and the recommended one. */
function rulesOf(tuning: Tuning): RuleLine[] {
  const { startingScore, recommendation } = tuning;
  const now = startingScore?.batchesPerSecond;
  return [
    ...(now === undefined
      ? []
      : [{ axis: "y", value: now, label: `${startingOwner(tuning)}: ${formatRate(now)}` } as const]),
    ...(recommendation === null
      ? []
      : [
          {
            axis: "x",
            value: recommendation.setting.numWorkers,
            label: `recommended: ${describeSetting(recommendation.setting)}, ${formatRate(recommendation.score.batchesPerSecond)} batches/s`,
          } as const,
        ]),
  ];
}

function describe({ recommendation }: Tuning, rated: readonly Tried[]): string {
  const best = rated.reduce((a, b) => (b.score!.batchesPerSecond > a.score!.batchesPerSecond ? b : a));
  const highest = `The highest rate is ${formatRate(best.score!.batchesPerSecond)} batches/s with ${describeSetting(best.setting)}`;
  return recommendation === null
    ? `${highest}.`
    : `${highest}; recommended: ${describeSetting(recommendation.setting)}, ${formatRate(recommendation.score.batchesPerSecond)} batches/s. Hollow marks are rough figures.`;
}
