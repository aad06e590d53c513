import type { ChartPoint, Curve, CurveChart } from "../../draw/chart/chart.js";
import { formatMilliseconds } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import { directionName } from "../../results/naming/wording.js";
import type { ColdStart, ResultDocument } from "../../results/schema.js";
import type { PinningCost } from "../../results/schema-parts.js";
import { memories } from "../../settings/choices.js";
import { formatDuration, formatSize } from "../../settings/units.js";
import { describeCurves, formatTick, sizeAxis } from "./cell-points.js";
import { devicePrefix } from "./chart-identity.js";

/**
 * What memory costs once, by size, and after how many copies pinned memory has paid for itself: charts of each device of
 * which a result has costs of two sizes or more.
 */
export function pinningCharts(document: ResultDocument): CurveChart[] {
  return document.coldStart.flatMap((costs) => [
    ...costChart(document, costs),
    ...(["h2d", "d2h"] as const).flatMap((direction) => payOffChart(document, costs, direction)),
  ]);
}

type Pinning = ColdStart["pinning"][number];

const ways = ["pageable", "pinned", "registered"] as const;

function costChart(document: ResultDocument, costs: ColdStart): CurveChart[] {
  const curves = ways.flatMap((way) =>
    curveOf(
      way,
      costs.pinning.flatMap((record) => costPoint(record, record[way])),
    ),
  );
  const sizes = sizesOf(curves);
  if (sizes.size < 2) return [];
  return [
    {
      kind: "curves",
      name: nameOf(document, costs, "cost-of-pinning-by-size"),
      title: `${devicePrefix(document, costs.device)}What memory costs once: obtaining it and giving it back, ms by size`,
      description: describeCurves(curves, "ms", (ms) => formatMilliseconds(ms * 1e6), formatSize),
      x: sizeAxis([...sizes], "size of the memory"),
      y: { label: "ms", scale: "log", format: formatTick },
      curves,
      rules: [],
    },
  ];
}

function costPoint({ sizeBytes }: Pinning, cost: PinningCost | null | undefined): ChartPoint[] {
  if (cost == null) return [];
  const { allocateNs, freeNs } = cost;
  const text = `${formatSize(sizeBytes)}: ${formatDuration(allocateNs)} obtained, ${formatDuration(freeNs)} given back`;
  return [{ x: sizeBytes, y: (allocateNs + freeNs) / 1e6, low: null, high: null, text }];
}

function payOffChart(document: ResultDocument, costs: ColdStart, direction: "h2d" | "d2h"): CurveChart[] {
  const curves = (["pinned", "registered"] as const).flatMap((way) =>
    curveOf(
      way,
      costs.pinning.flatMap((record) => payOffPoint(record, copiesOf(record, way)?.[direction])),
    ),
  );
  const sizes = sizesOf(curves);
  if (sizes.size < 2) return [];
  // Older results take pageable memory for nothing, and have the cheaper way alone.
  const isOld = costs.pinning.some(({ reuses }) => reuses != null);
  const more = isOld ? "" : " more than pageable memory";
  const missing = costs.pinning.length - sizes.size;
  const unknown =
    missing === 0
      ? ""
      : ` ${counted(missing, "size")} left out: pinned memory is not faster for certain there, or was not measured.`;
  const inCopies = (copies: number) => (copies === 0 ? "at once" : counted(copies, "copy", "copies"));
  return [
    {
      kind: "curves",
      isFolded: true,
      name: nameOf(document, costs, `${direction}-pinning-pays-off-by-size`),
      title: `${devicePrefix(document, costs.device)}After how many copies (${directionName[direction]}) pinned memory has saved what it cost${more}, by size, 1 worker`,
      description: describeCurves(curves, "", inCopies, formatSize) + unknown,
      x: sizeAxis([...sizes]),
      y: { label: "copies (0: at once)", scale: "linear", includes: [0], isWhole: true, format: formatTick },
      curves,
      rules: [],
    },
  ];
}

function copiesOf({ payOff, reuses }: Pinning, way: "pinned" | "registered") {
  return payOff?.[way] ?? (reuses?.cheapest === way ? reuses : null);
}

function payOffPoint({ sizeBytes }: Pinning, copies: number | null | undefined): ChartPoint[] {
  if (copies == null) return [];
  const after = copies === 0 ? "at once" : `after ${counted(copies, "copy", "copies")}`;
  return [
    { x: sizeBytes, y: copies, low: null, high: null, text: `${formatSize(sizeBytes)}: pays off ${after}` },
  ];
}

function curveOf(way: (typeof ways)[number], points: readonly ChartPoint[]): Curve[] {
  const ordered = [...points].sort((a, b) => a.x - b.x);
  return points.length === 0
    ? []
    : [{ name: way, style: memories.indexOf(way), isJoined: true, points: ordered }];
}

function sizesOf(curves: readonly Curve[]): Set<number> {
  return new Set(curves.flatMap(({ points }) => points.map(({ x }) => x)));
}

function nameOf({ devices }: ResultDocument, { device }: ColdStart, shows: string): string {
  return devices.length > 1 ? `gpu${device}-${shows}` : shows;
}
