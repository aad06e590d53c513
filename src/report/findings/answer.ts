import { type Note, note } from "../../draw/report.js";
import { capital, counted, listed } from "../../draw/words.js";
import { describeSharing } from "../../host/other-programs.js";
import type { CellResult } from "../../results/cell-schema.js";
import { isMeasured } from "../../results/naming/cell-figure.js";
import { cellNames } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { variantOf } from "../../results/variant.js";
import { namedDevices } from "../shared-topology.js";
import { answersOnCopies } from "./copy-answers.js";
import { comparableCells, equalWidth, isEvidence, whyOpen } from "./finding-evidence.js";
import {
  bothDirections,
  joinDirections,
  latencyByMemory,
  otherKindsAgainstPinned,
  pinnedAgainstPageable,
  stagedAgainstPinned,
  type Topic,
  type VariantFinding,
  workersOnPageable,
} from "./finding-topics.js";
import { preliminaryRates } from "./main-rates.js";
import { nodeSentences } from "./node-findings.js";
import { steadyUnevenNotes } from "./uneven-cells.js";
import { mainVariantFindings, variantFindings } from "./variant-findings.js";

/**
 * The answer of a result's report, never empty: wrong data and failures, conclusions, then slow copies. A
 * conclusion also holds for other processes (by the intervals), except the number of copies after which pinning pays
 * off (by medians). `isShown`: whether a table of the report has the cell's row.
 */
export function answer(
  document: ResultDocument,
  isShown: (cell: CellResult) => boolean = () => true,
): Note[] {
  const sentences = [
    ...answersOnCopies(document).map(({ text, device }) => ({ text, devices: [device] })),
    ...mainLines(document).map(({ text, cells }) => ({ text, devices: ordinalsOf(cells ?? []) })),
    ...nodeSentences(document).map((text) => ({ text, devices: [] })),
  ];
  const prefixes = sentences.map(({ devices }) => circumstances(document, devices));
  // A prefix is printed once, and holds until the next one.
  const prefixed = sentences.map(
    ({ text }, i) => (prefixes[i] === prefixes[i - 1] ? "" : prefixes[i]) + text,
  );
  const texts = prefixed.length === 0 ? [whyNoConclusion(document)] : prefixed;
  const nameOf = cellNames(document.cells.map(({ id }) => id));
  return [
    ...alarm(document),
    ...texts.map((text) => note(`${capital(text)}.`)),
    ...steadyUnevenNotes(document, nameOf, isShown),
  ];
}

/** The closing lines of a report: other conclusions than the answer. */
export function closingLines(document: ResultDocument): Note[] {
  const topics = answersOnCopies(document).flatMap(({ covers }) => covers);
  return findings(document, { topics, variants: mainLines(document).map(({ text }) => text) });
}

/** The most important line on each question about variants. */
function mainLines(document: ResultDocument): VariantFinding[] {
  return mainVariantFindings(document, equalWidth(document));
}

function ordinalsOf(cells: readonly CellResult[]): number[] {
  return [...new Set(cells.map(({ device }) => device))];
}

/** Alarms: wrong data and failures. */
function alarm({ cells }: ResultDocument): Note[] {
  const countOf = (asked: CellResult["outcome"]) => cells.filter(({ outcome }) => outcome === asked).length;
  const [wrong, failed] = [countOf("mismatch"), countOf("failed")];
  const ofAll = `of ${counted(cells.length, "cell")}`;
  return [
    ...(wrong === 0
      ? []
      : [note(`DATA CAME BACK WRONG in ${wrong} ${ofAll}: do not trust this machine`, "mismatch")]),
    ...(failed === 0 || !cells.some(isMeasured)
      ? []
      : [note(`${failed} ${ofAll} failed: the notes below the tables say why.`, "failure")]),
  ];
}

/** The prefix of sentences: the emulated device, one device of several, or one that others also used. */
function circumstances(document: ResultDocument, devices: readonly number[]): string {
  const isEmulated = document.backend === "emulated";
  const shared = (document.run.sharing ?? []).filter((record) => describeSharing(record).length > 0);
  const one =
    devices.length === 1 && document.devices.length > 1
      ? `${isEmulated ? "emulated " : ""}device ${devices[0]}`
      : null;
  const where = one ?? (isEmulated ? "the emulated device" : null);
  const parts = [
    ...(where === null ? [] : [`on ${where}`]),
    ...(shared.length === 0
      ? []
      : [
          `with others on ${document.devices.length === 1 ? "the device" : namedDevices(shared.map(({ device }) => device))}`,
        ]),
  ];
  return parts.length === 0 ? "" : `${parts.join(", ")}, `;
}

function whyNoConclusion(document: ResultDocument): string {
  const { cells, run, importedFrom } = document;
  const counts = (outcome: CellResult["outcome"]) => cells.filter((cell) => cell.outcome === outcome).length;
  const evidence = cells.filter(isEvidence);
  if (evidence.length > 0) {
    if (evidence.some((cell) => cell.mode === "latency" && variantOf(cell) !== "plain"))
      return latenciesAtOnce;
    if (importedFrom != null) return "nothing is concluded from imported figures, which have no intervals";
    return `nothing is certain: ${
      evidence.every(({ stats }) => stats.every(({ bandwidthGBps }) => bandwidthGBps.low === null))
        ? "there are too few samples for intervals; without --samples there are enough"
        : whyOpen(evidence)
    }`;
  }
  const ends = { aborted: "was interrupted", failed: "failed", running: "has not ended" } as const;
  if (run.status !== "complete" && cells.some((cell) => cell.outcome === null)) {
    const rates = run.status === "failed" ? null : preliminaryRates(document);
    return rates === null
      ? `there is no answer: the run ${ends[run.status]} before a cell was finished`
      : `${rates.text}; the run ${ends[run.status]} before a cell was finished`;
  }
  if (cells.some((cell) => cell.memory === "host" && isMeasured(cell))) {
    return "nothing was copied to or from a device: the table shows what the CPU copies by itself";
  }
  const causes = [
    ...(counts("failed") > 0 ? [`${counted(counts("failed"), "cell")} failed`] : []),
    ...(counts("mismatch") > 0 ? [`${counted(counts("mismatch"), "cell")} came back wrong`] : []),
    ...(counts("skipped") > 0 ? [`${counted(counts("skipped"), "cell")} had to be skipped`] : []),
  ];
  return `nothing was measured${causes.length === 0 ? "" : `: ${listed(causes)}; the notes below the tables say why`}`;
}

const latenciesAtOnce =
  "the tables show how long a copy takes; with --mode throughput this answer compares rates";

/** Most lines on plain cells. Requested variants always have their lines. */
const mostLines = 3;

/** What the answer has already covered. */
interface Said {
  topics: readonly Topic[];
  /** The texts of lines on variants. */
  variants: readonly string[];
}

/**
 * The closing lines of a report: conclusions that the answer does not have. They hold for other processes too: a
 * difference only if the interval of the ratio excludes equality, equality only if it does not and all intervals are
 * narrow. Cells that failed or have wrong data do not count.
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
  // With processes, the better kind of worker is a question; otherwise only threads are described.
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

/** The lines on variants: those on one device begin with its name, like those on plain cells. */
function ofVariants(document: ResultDocument, { variants }: Said): string[] {
  const lines = variantFindings(document, equalWidth(document)).filter(
    ({ text }) => !variants.includes(text),
  );
  return lines.map(({ text, cells }) => (cells === null ? "" : subjectOf(document, cells)) + text);
}

/** Names the emulated device, or one of several devices, as the subject. */
function subjectOf(document: ResultDocument, cells: readonly CellResult[]): string {
  const ofOneDevice = new Set(cells.map(({ device }) => device)).size === 1;
  const parts = [
    ...(document.backend === "emulated" ? ["in this machine's memory"] : []),
    ...(document.devices.length > 1 && ofOneDevice ? [`on device ${cells[0]?.device}`] : []),
  ];
  return parts.length === 0 ? "" : `${parts.join(" ")}, `;
}
