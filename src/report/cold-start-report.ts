import type { ColdStart, ResultDocument } from "../results/schema.js";
import { formatDuration, formatSize } from "../settings/units.js";
import { absentFigure, sign } from "./cell-figure.js";
import { type Column, type Figure, figure, type Grid, numberColumn } from "./report-parts.js";
import { counted } from "./wording.js";

/** What a device costs once, before any figure of the tables: opening it, and pinning memory. */
export interface ColdStartReport {
  title: string;
  /** Driver, context and first copy in one line. */
  opening: string;
  /** The costs by size; null where no pinning was timed. */
  pinning: Grid | null;
}

/** How to read the costs of pinning. */
export const pinningExplanation =
  "pays off after: copies of that size by one worker until pinning (the cheaper way, free included) has saved " +
  `more than it cost, against pageable copies; ${sign.absent} where pinned is not faster for certain or was not measured`;

/** The cold starts of a result, one a device. */
export function coldStartReports({ coldStart, devices }: ResultDocument): ColdStartReport[] {
  return coldStart.map((costs) => {
    const suffix = devices.length > 1 ? `, device ${costs.device}` : "";
    return {
      title: `Cold start${suffix}: paid once, part of no figure above`,
      opening:
        `driver ${formatDuration(costs.initNs)}, context ${formatDuration(costs.contextNs)}, ` +
        `first copy ${formatDuration(costs.firstCopyNs)}`,
      pinning: costs.pinning.length === 0 ? null : pinningGrid(costs),
    };
  });
}

const pinningColumns: readonly Column[] = [
  ...["pinning", "cuMemHostAlloc", "free", "registered", "free"].map((head) => numberColumn(head)),
  numberColumn("H2D pays", "off after"),
  numberColumn("D2H pays", "off after"),
];

function pinningGrid({ pinning }: ColdStart): Grid {
  const rows = pinning.map(({ sizeBytes, pinned, registered, reuses }) => [
    figure(formatSize(sizeBytes)),
    ...costFigures(pinned),
    ...costFigures(registered),
    reuseFigure(reuses.h2d),
    reuseFigure(reuses.d2h),
  ]);
  return { columns: pinningColumns, rows };
}

/** Until the buffer is ready to copy from, and until it is given back. */
function costFigures(cost: ColdStart["pinning"][number]["pinned"]): Figure[] {
  return [cost?.allocateNs, cost?.freeNs].map((timeNs) =>
    timeNs === undefined ? absentFigure : figure(formatDuration(timeNs)),
  );
}

function reuseFigure(copies: number | null): Figure {
  return copies === null ? absentFigure : figure(counted(copies, "copy", "copies"));
}
