import type { CellResult, CellStats } from "../results/schema.js";
import { formatSize } from "../settings/units.js";
import { bandwidthFigure, sign } from "./cell-figure.js";
import type { CellGroup, GroupRow } from "./cell-group.js";
import { formatRatio, formatShare } from "./format-number.js";
import { type Column, type Figure, figure, type Grid, withoutRepeats } from "./report-parts.js";
import { isMeasured, statsOf } from "./wording.js";

/** Rows size x workers, a column for each memory kind, then what pinning gains and what of the link is used. */
export function throughputGrid(group: CellGroup, precision: number): Grid {
  const direction = group.direction as CellStats["direction"];
  const derived = [pinnedOverPageable(group, direction), linkShare(group, direction)].filter(
    (column) => column !== null,
  );
  const columns: Column[] = [
    ...labelColumns,
    ...group.memories.map((memory): Column => ({ head: [memory], align: "right" })),
    ...derived.map(({ column }) => column),
  ];
  const rows = group.rows.map((row) => [
    ...rowLabels(row),
    ...group.memories.map((memory) => bandwidthFigure(row.cells.get(memory), direction, precision)),
    ...derived.map(({ of }) => of(row)),
  ]);
  return { caption: group.title, columns, rows: withoutRepeats(rows, 1) };
}

export const labelColumns: readonly Column[] = [
  { head: ["size"], align: "right" },
  { head: ["workers"], align: "right" },
];

export function rowLabels({ sizeBytes, workers }: GroupRow): Figure[] {
  return [figure(formatSize(sizeBytes)), figure(String(workers))];
}

interface DerivedColumn {
  column: Column;
  of: (row: GroupRow) => Figure;
}

function pinnedOverPageable(group: CellGroup, direction: CellStats["direction"]): DerivedColumn | null {
  if (!(group.memories.includes("pinned") && group.memories.includes("pageable"))) {
    return null;
  }
  return {
    column: { head: ["pinned/", "pageable"], align: "right" },
    of: ({ cells }) => ratioFigure(cells.get("pinned"), cells.get("pageable"), direction),
  };
}

/** Of the pinned column, which is the one that can come near the link; of the row's best where pinned is absent. */
function linkShare(group: CellGroup, direction: CellStats["direction"]): DerivedColumn | null {
  const ofPinned = group.memories.includes("pinned");
  const shareOf = ({ cells }: GroupRow): number | null => {
    const candidates = ofPinned ? [cells.get("pinned")] : [...cells.values()];
    const shares = candidates.map((cell) => measuredStats(cell, direction)?.linkShare ?? null);
    return shares.reduce(
      (best, share) => (best === null || (share !== null && share > best) ? share : best),
      null,
    );
  };
  if (group.rows.every((row) => shareOf(row) === null)) {
    return null;
  }
  const [only] = group.memories;
  const label = ofPinned ? "pinned" : group.memories.length === 1 && only !== undefined ? only : "best";
  return {
    column: { head: [`${label}/`, "link"], align: "right" },
    of: (row) => {
      const share = shareOf(row);
      return share === null ? figure(sign.absent, "", "muted") : figure(formatShare(share));
    },
  };
}

/** Median over median; absent where one of them was not measured. */
export function ratioFigure(
  of: CellResult | undefined,
  over: CellResult | undefined,
  direction: CellStats["direction"],
): Figure {
  const dividend = measuredStats(of, direction)?.bandwidthGBps.median;
  const divisor = measuredStats(over, direction)?.bandwidthGBps.median;
  return dividend === undefined || divisor === undefined || divisor === 0
    ? figure(sign.absent, "", "muted")
    : figure(formatRatio(dividend / divisor));
}

function measuredStats(cell: CellResult | undefined, direction: CellStats["direction"]): CellStats | null {
  return cell === undefined || !isMeasured(cell) ? null : statsOf(cell, direction);
}
