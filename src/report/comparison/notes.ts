import type { CellComparison, Comparison, Verdict } from "../../compare/comparison.js";
import { sign } from "../cell-figure.js";
import type { Note } from "../report-parts.js";
import { counted } from "../wording.js";
import { cellName } from "./cell-text.js";
import { changeEstimate } from "./estimate.js";
import { describeVerdict, presentVerdicts, verdictTone } from "./outcome.js";

/** What stands below the cells: why the verdicts that matter, what each verdict means, and the comparison's notes. */
export function comparisonNotes(comparison: Comparison): Note[] {
  const { cells, notes } = comparison;
  return [
    ...verdictReasons(comparison),
    ...legend(comparison),
    ...(cells.some(hasNoInterval)
      ? [
          {
            text: `${sign.noInterval} no interval: the noise between processes is not known`,
            tone: "muted",
          } as const,
        ]
      : []),
    ...notes.map((text): Note => ({ text: `note: ${text}`, tone: "plain" })),
  ];
}

/** What the verdicts mean for which no reason is listed, in one note: who knows them passes it over. */
function legend(comparison: Comparison): Note[] {
  const meanings = presentVerdicts(comparison).filter(needsNoReason).map(describeVerdict);
  return meanings.length === 0 ? [] : [{ text: meanings.join("; "), tone: "muted" }];
}

/** Each reason once, with the cell or the number of cells that it holds for; none where nothing is wrong. */
function verdictReasons(comparison: Comparison): Note[] {
  return presentVerdicts(comparison)
    .filter((verdict) => !needsNoReason(verdict))
    .flatMap((verdict) => {
      const affected = new Map<string, CellComparison[]>();
      for (const cell of comparison.cells) {
        if (cell.verdict === verdict) {
          affected.set(cell.reason, [...(affected.get(cell.reason) ?? []), cell]);
        }
      }
      return [...affected].map(([reason, members]): Note => {
        const [first] = members;
        const whom =
          members.length === 1 && first !== undefined ? cellName(first) : counted(members.length, "cell");
        return { text: `${verdict}: ${reason.replace(/\.$/, "")} (${whom})`, tone: verdictTone[verdict] };
      });
    });
}

function needsNoReason(verdict: Verdict): boolean {
  return verdict === "same" || verdict === "faster" || verdict === "new";
}

function hasNoInterval(cell: CellComparison): boolean {
  const change = changeEstimate(cell);
  return change !== null && change.interval === null;
}
