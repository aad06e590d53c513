import { noticeOf } from "../../results/device-facts.js";
import type { History } from "../../results/files/history-file.js";
import type { HistoryEntry } from "../../results/history-entry.js";
import { variantName } from "../../results/variant.js";
import { median } from "../../stats/order-statistics.js";
import { matchesPattern, refuseUnmatched } from "./cell-patterns.js";
import type { HistoryDocument, Trend } from "./history-document.js";
import { type HistorySeries, joinHistory } from "./history-series.js";
import { type LogPoint, readTrend } from "./read-trend.js";

interface HistoryRequest {
  version: string;
  path: string;
  history: History;
  /** Cell ids or patterns; null for the groups. */
  cells: readonly string[] | null;
}

/** Maximum number of checks to read: finding steps takes quadratic time. */
const mostChecks = 1000;

export function describeHistory({ version, path, history, cells }: HistoryRequest): HistoryDocument {
  const entries = history.entries.slice(-mostChecks);
  const older = history.entries.length - entries.length;
  const all = joinHistory(entries);
  const emulated = entries.find(({ backend }) => noticeOf(backend) !== null);
  if (cells !== null) {
    const ids = all.map(({ cell }) => cell.id);
    refuseUnmatched(cells, ids, path);
  }
  return {
    schemaVersion: 1,
    kind: "history",
    tool: { name: "pinbench", version },
    createdAt: new Date().toISOString(),
    path,
    notice: emulated === undefined ? null : noticeOf(emulated.backend),
    checks: entries.map(({ id, startedAt, version, outcome, backend }) => {
      return { id, startedAt, version, outcome, backend };
    }),
    trends:
      cells === null
        ? groupTrends(all, entries)
        : all
            .filter(({ cell }) => cells.some((pattern) => matchesPattern(cell.id, pattern)))
            .map((one) => trendOf([one], "cell", all, entries)),
    notes: [...(older === 0 ? [] : [`the oldest ${older} checks are left out`]), ...history.notes],
  };
}

function groupTrends(all: readonly HistorySeries[], entries: readonly HistoryEntry[]): Trend[] {
  const names = all.map((one) => [nameOf([one], "group", all), ...one.gpuUuids].join());
  return [...new Set(names)].flatMap((name) => {
    const members = all.filter((_, i) => names[i] === name);
    const group = trendOf(members, "group", all, entries);
    const own = members.length === 1 ? [] : members.map((one) => trendOf([one], "cell", all, entries));
    return [group, ...own.filter((cell) => !isCoveredBy(cell, group))];
  });
}

function trendOf(
  members: readonly HistorySeries[],
  kind: Trend["kind"],
  all: readonly HistorySeries[],
  entries: readonly HistoryEntry[],
): Trend {
  const [{ cell, moved, unit, backend, host, gpuUuids, points }] = members as [HistorySeries];
  const isAlone = members.length === 1;
  const { newest, ...facts } = readTrend(isAlone ? logPoints(members[0]!) : commonPoints(members), entries);
  return {
    name: nameOf(members, kind, all),
    kind,
    machine: hasSeveral(all, "host") ? host || "unknown host" : null,
    gpuUuids,
    backend,
    device: cell.device,
    moved,
    memory: cell.memory,
    mode: cell.mode,
    unit,
    ids: members.map((one) => one.cell.id),
    median: isAlone ? Math.exp(median(points.map(({ figure }) => Math.log(figure)))) : null,
    ...facts,
    newest: newest && { ...newest, figure: isAlone ? points.at(-1)!.figure : null },
  };
}

function hasSeveral(all: readonly HistorySeries[], key: "host" | "backend"): boolean {
  return new Set(all.map((one) => one[key])).size > 1;
}

/** A cell's id; for a group direction, memory, mode and unusual settings: "h2d pinned latency, warm". */
function nameOf(
  [first]: readonly HistorySeries[],
  kind: Trend["kind"],
  all: readonly HistorySeries[],
): string {
  const { cell, moved, backend, host } = first!;
  const { id, device, direction, memory, mode, cache } = cell;
  const isBidir = direction === "bidir";
  const group = [direction, isBidir ? moved : "", memory, mode === "throughput" ? "" : mode];
  const unusual = [
    variantName(cell),
    cache === "cold" ? "" : cache,
    all.some((one) => one.cell.device !== device) ? `device ${device}` : "",
  ];
  return [
    ...(kind === "group" ? [group.filter(Boolean).join(" "), ...unusual] : [id, isBidir ? moved : ""]),
    hasSeveral(all, "backend") ? backend : "",
    hasSeveral(all, "host") ? host || "unknown host" : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function logPoints({ points }: HistorySeries): LogPoint[] {
  return points.map(({ check, figure }) => ({ check, value: Math.log(figure) }));
}

/** Rounds of median polish: enough to settle. */
const polishing = 10;

/**
 * The common trend of a group's cells: for each check, the median distance of its cells from their own levels, by
 * median polish (J. W. Tukey, "Exploratory Data Analysis", 1977, chapter 11), so that a cell missing from some checks
 * does not distort it.
 */
function commonPoints(members: readonly HistorySeries[]): LogPoint[] {
  const cells = members.map(logPoints);
  const byCheck = new Map<number, { cell: number; value: number }[]>();
  for (const [cell, points] of cells.entries())
    for (const { check, value } of points)
      byCheck.set(check, [...(byCheck.get(check) ?? []), { cell, value }]);
  const checks = [...byCheck.keys()].sort((a, b) => a - b);
  let common = new Map(checks.map((check) => [check, 0]));
  for (let round = 0; round < polishing; ++round) {
    const levels = cells.map((points) =>
      median(points.map(({ check, value }) => value - common.get(check)!)),
    );
    const distances = (check: number) => byCheck.get(check)!.map(({ cell, value }) => value - levels[cell]!);
    common = new Map(checks.map((check) => [check, median(distances(check))]));
  }
  return [...common].map(([check, value]) => ({ check, value }));
}

/** Changes of a group and of a cell count as one if they are at most this many checks apart. */
const samePlace = 3;

function isCoveredBy(cell: Trend, group: Trend): boolean {
  const changesOf = ({ steps, outages }: Trend) => [
    ...steps.map(({ change, earliest: first, latest: last }) => ({ change, first, last })),
    ...outages,
  ];
  return changesOf(cell).every((own) =>
    changesOf(group).some(
      ({ change, first, last }) =>
        change * own.change > 0 && own.first <= last + samePlace && first <= own.last + samePlace,
    ),
  );
}
