import type { CellResult, ResultDocument } from "../results/schema.js";
import { variantOf } from "../results/variant.js";
import { comparableCells, equalWidth, isEvidence } from "./finding-evidence.js";
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
import { type Note, note } from "./report-parts.js";
import { variantFindings } from "./variant-findings.js";
import { counted } from "./wording.js";

/** Of what is said of plain cells. What was asked for beyond these always has its lines. */
const mostLines = 3;

/**
 * The closing lines of a report: what the cells show, wrong data first. They claim what other processes find as well: a
 * difference only where the interval of the ratio excludes that there is none, equality only where it does not and all
 * is narrow. Cells that failed or came back wrong are no evidence.
 */
export function findings(document: ResultDocument): Note[] {
  const wrong = document.cells.filter(({ outcome }) => outcome === "mismatch").length;
  const share = `${wrong} of ${counted(document.cells.length, "cell")}`;
  const alarm = note(`DATA CAME BACK WRONG in ${share}: do not trust this machine`, "mismatch");
  const lines = [...comparisons(document).slice(0, mostLines), ...ofVariants(document)];
  if (lines.length === 0) lines.push(hasLatenciesAtOnce(document) ? ratesAlone : nothingMeasured);
  return [...(wrong === 0 ? [] : [alarm]), ...lines.map((text) => note(text))];
}

function comparisons(document: ResultDocument): string[] {
  const cells = comparableCells(document);
  const width = equalWidth(document);
  const bothWays = (topic: Topic) => joinDirections(topic(cells, "h2d", width), topic(cells, "d2h", width));
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

const nothingMeasured =
  "no comparison was measured: it takes two memory kinds or two worker counts, with intervals";

const ratesAlone =
  "of what is measured at once, the tables alone show latencies: with --mode throughput these lines compare rates";

function hasLatenciesAtOnce({ cells }: ResultDocument): boolean {
  return cells.some((cell) => isEvidence(cell) && cell.mode === "latency" && variantOf(cell) !== "plain");
}

/** The lines on cells that are not plain: of what one device does with its name, as those of plain cells. */
function ofVariants(document: ResultDocument): string[] {
  const lines = variantFindings(document, equalWidth(document));
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
