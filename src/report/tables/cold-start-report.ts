import {
  type Block,
  blank,
  type Column,
  type Figure,
  figure,
  type Grid,
  note,
  numberColumn,
  section,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import { absentFigure, sign } from "../../results/naming/cell-figure.js";
import type { ColdStart, PinningRecord, ResultDocument } from "../../results/schema.js";
import type { PinningCost } from "../../settings/schema-parts.js";
import { formatMeasuredTime, formatSize } from "../../settings/units.js";

/**
 * Cold starts of a result, one per device: costs that are paid once, before any table's figures. The first line has
 * driver, context and first copy. A table has costs of memory by size and kind, if measured.
 */
export function coldStartReports({ coldStart, devices }: ResultDocument): Block[] {
  return coldStart.map((costs) => {
    const suffix = devices.length > 1 ? `, device ${costs.device}` : "";
    const opening =
      `driver ${formatMeasuredTime(costs.initNs)}, context ${formatMeasuredTime(costs.contextNs)}, ` +
      `first copy ${formatMeasuredTime(costs.firstCopyNs)}`;
    const grids =
      costs.pinning.length === 0
        ? []
        : [{ ...pinningGrid(costs), name: "Costs of memory", footnote: explanationOf(costs) }];
    const title = `Cold start${suffix}: paid once, part of no figure above`;
    return section(title, [...texts("note", [note(opening)]), ...tables(grids)], true);
  });
}

function refusalsOf({ pinning }: ColdStart): string[] {
  const all = pinning.flatMap(({ refusals }) =>
    Object.entries(refusals ?? {}).map(([memory, reason]) => `; ${memory} memory was refused: ${reason}`),
  );
  return [...new Set(all)];
}

function explanationOf(costs: ColdStart): string {
  const [record] = costs.pinning;
  const unknown = `${sign.absent}: pinned is not faster for certain, or was not measured`;
  return `medians of ${record?.repetitions}; copies by one worker; ${unknown}${refusalsOf(costs).join("")}`;
}

const pinningColumns: readonly Column[] = [
  numberColumn("size"),
  wordColumn("memory"),
  numberColumn("allocate"),
  numberColumn("free"),
  numberColumn("H2D pays", "off after"),
  numberColumn("D2H pays", "off after"),
];

function pinningGrid({ pinning }: ColdStart): Grid {
  const rows = pinning.flatMap((record) => {
    const { pageable, pinned, registered } = record;
    const size = figure(formatSize(record.sizeBytes));
    return [
      [size, figure("pageable"), ...costFigures(pageable), blank, blank],
      [size, figure("pinned"), ...costFigures(pinned), ...payOffFigures(record, "pinned")],
      [size, figure("registered"), ...costFigures(registered), ...payOffFigures(record, "registered")],
    ];
  });
  return { columns: pinningColumns, rows, labels: 2 };
}

function costFigures(cost: PinningCost | null): Figure[] {
  return [cost?.allocateNs, cost?.freeNs].map((timeNs) =>
    timeNs === undefined ? absentFigure : figure(formatMeasuredTime(timeNs)),
  );
}

function payOffFigures(record: PinningRecord, memory: "pinned" | "registered"): Figure[] {
  const copies = record.payOff?.[memory];
  return [copies?.h2d, copies?.d2h].map((count) => {
    if (count == null) return absentFigure;
    return figure(count === 0 ? "at once" : counted(count, "copy", "copies"));
  });
}
