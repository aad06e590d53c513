import { type Note, note } from "../../draw/report.js";
import type { CellResult } from "../../results/cell-schema.js";
import type { ResultDocument } from "../../results/schema.js";
import { joinDirections } from "../tables/join-directions.js";
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
import { variantFindings } from "./variant-findings.js";

/** Of what is said of plain cells. What was asked for beyond these always has its lines. */
const mostLines = 3;

/** What has been said already. */
export interface Said {
  topics: readonly Topic[];
  /** The texts of lines on cells that are not plain. */
  variants: readonly string[];
}

/**
 * The closing lines of a report: what the cells show beside what the answer above the tables has said. They claim what
 * other processes find as well: a difference only where the interval of the ratio excludes that there is none, equality
 * only where it does not and all is narrow. Cells that failed or came back wrong are no evidence.
 */
export function findings(document: ResultDocument, said: Said = { topics: [], variants: [] }): Note[] {
  return [...comparisons(document, said).slice(0, mostLines), ...ofVariants(document, said)].map((text) =>
    note(text),
  );
}

function comparisons(document: ResultDocument, { topics }: Said): string[] {
  const cells = comparableCells(document);
  const width = equalWidth(document);
  const bothWays = (topic: Topic) =>
    topics.includes(topic) ? null : joinDirections(topic(cells, "h2d", width), topic(cells, "d2h", width));
  // Which kind helps is asked where there are processes; what threads do is said of workers else.
  const ofWorkers = cells.some(({ workerKind }) => workerKind === "process")
    ? [workersOnPageable("process", "process", "processes"), workersOnPageable("thread", "thread")]
    : [workersOnPageable("thread", "worker")];
  const workerLines = ofWorkers.map(bothWays).filter((line) => line !== null);
  const lines = [
    ...[pinnedAgainstPageable, stagedAgainstPinned].map(bothWays),
    workerLines.length === 0 ? null : workerLines.join("; "),
    bothDirections(cells, width),
    ...[latencyByMemory, otherKindsAgainstPinned].map(bothWays),
  ].filter((line) => line !== null);
  const subject = subjectOf(document, cells);
  return lines.map((line) => subject + line);
}

/** The lines on cells that are not plain: of what one device does with its name, as those of plain cells. */
function ofVariants(document: ResultDocument, { variants }: Said): string[] {
  const lines = variantFindings(document, equalWidth(document)).filter(
    ({ text }) => !variants.includes(text),
  );
  return lines.map(({ text, cells }) => (cells === null ? "" : subjectOf(document, cells)) + text);
}

/** Says where the figures are those of the emulated device, or of one of several devices. */
function subjectOf(document: ResultDocument, cells: readonly CellResult[]): string {
  const ofOneDevice = new Set(cells.map(({ device }) => device)).size === 1;
  const parts = [
    ...(document.backend === "emulated" ? ["in this machine's memory"] : []),
    ...(document.devices.length > 1 && ofOneDevice ? [`on device ${cells[0]?.device}`] : []),
  ];
  return parts.length === 0 ? "" : `${parts.join(" ")}, `;
}
