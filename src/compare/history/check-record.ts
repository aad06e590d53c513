import type { HistoryEntry } from "../../results/history-entry.js";
import { median } from "../../stats/order-statistics.js";
import type { Comparison } from "../comparison.js";
import type { RunFigures } from "../result-set.js";
import { figureOf, joinRuns } from "../series.js";

/**
 * The history's record of a check with at least one run: its first runs, which have the same cells each time, but not
 * those that measured suspects again.
 */
export function checkRecord(
  runs: readonly RunFigures[],
  { outcome, tool }: Pick<Comparison, "outcome" | "tool">,
): HistoryEntry {
  const { id, startedAt, backend, fingerprint, machine, settings } = runs[0]!;
  const { series } = joinRuns({ baseline: [], first: runs, fresh: [] });
  return {
    schemaVersion: 1,
    kind: "check",
    id,
    startedAt,
    version: tool.version,
    outcome,
    backend,
    fingerprint,
    machine,
    verify: settings?.verify,
    series: series.map((one) => ({
      id: one.cell.id,
      moved: one.moved,
      unit: one.unit,
      figure: figureOf(one, median(one.first.map(({ logSpeed }) => logSpeed))),
      runs: one.first.length,
    })),
  };
}
