import type { CellResult, ResultDocument } from "../results/schema.js";
import { comparableCells, equalWidth } from "./finding-evidence.js";
import {
  bothDirections,
  latencyByMemory,
  otherKindsAgainstPinned,
  pinnedAgainstPageable,
  stagedAgainstPinned,
  type Topic,
  workersOnPageable,
} from "./finding-topics.js";
import { joinDirections } from "./join-directions.js";
import type { Note } from "./report-parts.js";
import { counted } from "./wording.js";

const mostLines = 3;

/**
 * The closing lines: what was found, computed from the cells. A difference is claimed only where the intervals do
 * not overlap, equality only where they do and are narrow, and figures of cells that failed or came back wrong are no evidence. Wrong data is said first.
 */
export function findings(document: ResultDocument): Note[] {
  const wrong = document.cells.filter(({ outcome }) => outcome === "mismatch").length;
  const alarms: Note[] =
    wrong === 0
      ? []
      : [
          {
            text: `DATA CAME BACK WRONG in ${wrong} of ${counted(document.cells.length, "cell")}: do not trust this machine`,
            tone: "mismatch",
          },
        ];
  return [...alarms, ...comparisons(document).slice(0, mostLines)];
}

function comparisons(document: ResultDocument): Note[] {
  const cells = comparableCells(document);
  const width = equalWidth(document);
  const bothWays = (topic: Topic) => joinDirections(topic(cells, "h2d", width), topic(cells, "d2h", width));
  const lines = [
    ...[pinnedAgainstPageable, stagedAgainstPinned, workersOnPageable].map(bothWays),
    bothDirections(cells, width),
    ...[latencyByMemory, otherKindsAgainstPinned].map(bothWays),
  ].filter((line) => line !== null);
  if (lines.length === 0) {
    const text = "no comparison was measured: it takes two memory kinds or two worker counts, with intervals";
    return [{ text, tone: "plain" }];
  }
  const subject = subjectOf(document, cells);
  return lines.map((line) => ({ text: subject + line, tone: "plain" }));
}

/** Whose figures these are, where that is not plain. */
function subjectOf(document: ResultDocument, cells: readonly CellResult[]): string {
  const device = cells[0]?.device;
  const parts = [
    document.backend === "emulated" ? "in this machine's memory" : null,
    document.devices.length > 1 ? `on device ${device}` : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "" : `${parts.join(" ")}, `;
}
