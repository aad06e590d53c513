import {
  formatHalfWidth,
  formatPrecision,
  formatWholeShare,
  saysAnything,
  widestHalfWidth,
} from "../draw/numbers.js";
import { type Note, note, reasonNotes, type Tone } from "../draw/report.js";
import { counted, listed, withoutFullStop } from "../draw/words.js";
import { describeUnseen } from "../host/other-programs.js";
import type { CellResult, CellStats } from "../results/cell-schema.js";
import { halfWidthOf, sign } from "../results/naming/cell-figure.js";
import { cellNames, directionName, type NameOfCell } from "../results/naming/wording.js";
import type { ResultDocument } from "../results/schema.js";
import { caches, memories as memoryOrder } from "../settings/choices.js";
import { formatDuration, formatSize } from "../settings/units.js";
import { variesTooMuch } from "../stats/order-statistics.js";
import { isEvidence } from "./findings/finding-evidence.js";
import { otherUnevenNotes } from "./findings/uneven-cells.js";
import { cellsAskedFor } from "./tables/cell-group.js";

/**
 * The notes below the tables of a result, each reason once: wrong data, failures, the meaning of the signs, skipped
 * cells, warnings, and the number of cells by outcome.
 */
export function cellNotes(document: ResultDocument): Note[] {
  const { cells } = document;
  const nameOf = cellNames(cells.map(({ id }) => id));
  const { wrong, skipped, disturbances } = troubles(document, nameOf);
  return [
    ...wrong,
    ...precisionNotes(document, nameOf),
    ...signNotes(document),
    ...skipped,
    ...otherUnevenNotes(document, nameOf),
    ...disturbances,
    ...(document.plan?.notes ?? []).map((text) => note(`note: ${text}`)),
    ...provedNotes(document, nameOf),
    ...claimNotes(document),
    tally(document),
  ];
}

/** The notes that are shown even without --all: failures, skipped cells, and disturbances. */
export function urgentNotes(document: ResultDocument): Note[] {
  const nameOf = cellNames(document.cells.map(({ id }) => id));
  const { wrong, skipped, disturbances } = troubles(document, nameOf);
  return [...wrong, ...signNotes(document), ...skipped, ...disturbances];
}

function troubles(document: ResultDocument, nameOf: NameOfCell) {
  const { cells } = document;
  const byReason = (reasonsOf: (cell: CellResult) => readonly string[], label: string, tone: Tone) =>
    reasonNotes(cells, reasonsOf, (some) => describeCells(some, nameOf), label, tone);
  const wrong = [
    ...cells.filter(({ outcome }) => outcome === "mismatch").map((cell) => mismatchNote(cell, nameOf)),
    ...byReason(
      ({ outcome, error }) => (outcome === "failed" ? [describeError(error)] : []),
      "failed",
      "failure",
    ),
  ];
  const skipped = [
    ...byReason(
      ({ outcome, skipReason }) => (outcome === "skipped" ? [skipReason ?? "no reason given"] : []),
      `${sign.absent} skipped`,
      "plain",
    ),
    ...byReason(({ warnings }) => warnings, "warning", "warning"),
  ];
  const disturbances = [
    ...loadNotes(document.run),
    ...(document.run.sharing ?? []).flatMap(describeUnseen).map((text) => note(`note: ${text}`)),
  ];
  return { wrong, skipped, disturbances };
}

function mismatchNote({ id, verification }: CellResult, nameOf: NameOfCell): Note {
  const mismatches = verification?.mismatches ?? [];
  const [first] = mismatches;
  const where =
    first === undefined
      ? ""
      : `: ${counted(mismatches.length, "place")}, the first ${directionName[first.direction]} of worker ` +
        `${first.worker}, ${formatSize(first.mismatchedBytes)} wrong from byte ${first.offsetBytes} of its arena`;
  return note(`MISMATCH: data came back wrong in ${nameOf(id)}${where}`, "mismatch");
}

function describeError(error: CellResult["error"]): string {
  if (error === null) return "no reason given";
  const message = withoutFullStop(error.message);
  return message.includes(error.code) ? message : `${message} (${error.code})`;
}

/** Why intervals are wider than requested: the time was too short, or the cells vary too much. */
function precisionNotes(document: ResultDocument, nameOf: NameOfCell): Note[] {
  const { plan, run } = document;
  const late = cellsAskedFor(document).filter(
    ({ outcome, stats }) => outcome === "budget" && stats.length > 0,
  );
  const varies = (cell: CellResult, stats: CellStats) =>
    plan !== null && variesTooMuch(halfWidthOf(cell, stats), plan.precision);
  const varying = late.filter((cell) => cell.stats.some((stats) => varies(cell, stats)));
  const notes: Note[] = [];
  if (late.some((cell) => cell.stats.some((stats) => !varies(cell, stats)))) {
    const where = run.runs == null ? "" : "in one of the processes ";
    notes.push(note(`${sign.notConverged} not converged: ${where}${describeImprecision(plan)}`, "warning"));
  }
  if (varying.length > 0) notes.push(varyingNote(varying, document, nameOf));
  return notes;
}

function signNotes(document: ResultDocument): Note[] {
  const { run } = document;
  const cells = cellsAskedFor(document);
  const measured = cells.filter(({ stats }) => stats.length > 0);
  const notes: Note[] = [];
  if (measured.some(({ outcome }) => outcome === null)) {
    notes.push(note(`${sign.unfinished} not finished: figures measured before the run ended`, "warning"));
  }
  notes.push(...intervalNotes(measured, run));
  if (cells.some(({ outcome, stats }) => outcome === null && stats.length === 0)) {
    notes.push(note(`${sign.absent} not measured before the run ended`));
  }
  return notes;
}

/** How much the samples of these cells vary, from the 10th to the 90th percentile. */
function varyingNote(cells: readonly CellResult[], { plan, run }: ResultDocument, nameOf: NameOfCell): Note {
  const shares = cells.flatMap(({ stats }) =>
    stats.map(({ bandwidthGBps: { p10, p90, median } }) => (p90 - p10) / median),
  );
  const between = run.runs == null ? "from sample to sample" : "between processes";
  const share = formatWholeShare(Math.max(...shares));
  return note(
    `${describeCells(cells, nameOf)}: varies by up to ${share} ${between}, too much for ${formatPrecision(plan!.precision)} in the time`,
  );
}

/** Why a figure has no useful interval. */
function intervalNotes(measured: readonly CellResult[], run: ResultDocument["run"]): Note[] {
  const unknown = measured
    .flatMap((cell) => cell.stats.map((stats) => halfWidthOf(cell, stats)))
    .filter((halfWidth) => !saysAnything(halfWidth));
  if (unknown.length === 0) return [];
  const few = `too few ${run.runs == null ? "samples" : "processes"} for an interval`;
  const wide = `an interval wider than ${formatHalfWidth(widestHalfWidth)}, too wide to be of use`;
  const isWide = unknown.some((halfWidth) => halfWidth !== null);
  const reason = !isWide ? few : unknown.includes(null) ? `${few}, or ${wide}` : wide;
  return [note(`${sign.noInterval} ${reason}`, "warning")];
}

/** Below this share of checked copies there is a note: most copies could be wrong unnoticed. */
const leastProvenShare = 0.5;

/** The share of checked copies if it is small; if all are checked, a note that this has a price. */
function provedNotes({ cells, plan }: ResultDocument, nameOf: NameOfCell): Note[] {
  if (plan?.verify === "every") return everyCopyNotes(cells, nameOf);
  const shareOf = (kind: CellResult["cache"]) => {
    const counts = cells.flatMap(({ cache, verification }) =>
      cache === kind && verification?.copies ? [verification] : [],
    );
    const sum = (key: "copies" | "provenCopies") =>
      counts.reduce((total, verification) => total + (verification[key] ?? 0), 0);
    return counts.length === 0 ? 1 : sum("provenCopies") / sum("copies");
  };
  const parts = caches
    .map((kind) => ({ kind, share: shareOf(kind) }))
    .filter(({ share }) => share < leastProvenShare)
    .map(
      ({ kind, share }) => `${share === 0 ? "none" : formatWholeShare(share)} of the copies of ${kind} cells`,
    );
  return parts.length === 0
    ? []
    : [note(`data checked: ${listed(parts)}; --verify every checks all`, "muted")];
}

/**
 * A note that every copy was compared, which changes figures; except copies of the host that are larger than its slots.
 */
function everyCopyNotes(cells: readonly CellResult[], nameOf: NameOfCell): Note[] {
  const compared = cells.filter(({ verification }) => verification?.copies);
  if (compared.length === 0) return [];
  const partly = compared.filter(
    ({ verification }) => (verification?.provenCopies ?? 0) < verification!.copies!,
  );
  const except = partly.length === 0 ? "" : ` (except in ${describeCells(partly, nameOf)})`;
  const text = `note: every copy was checked${except}, so samples have few copies: compare with results of --verify every`;
  return [note(`${text} alone`)];
}

/**
 * The basis of the answer and the findings, if there are figures for any: one process does not show how others differ.
 */
function claimNotes({ cells, run: { runs } }: ResultDocument): Note[] {
  const withInterval = cells.filter(
    (cell) => isEvidence(cell) && cell.stats.some(({ bandwidthGBps }) => bandwidthGBps.low !== null),
  );
  const recorded =
    "the conclusions allow for the spread between processes that was recorded on an NVIDIA H200";
  if (runs != null) {
    const basis =
      withInterval.length > 0
        ? "the conclusions rest on the intervals between the processes"
        : `${recorded}; 3 processes measure it`;
    return [note(`note: ${basis}`)];
  }
  return withInterval.length > 0 ? [note(`note: ${recorded}; --runs 5 measures it`)] : [];
}

function describeImprecision(plan: ResultDocument["plan"]): string {
  if (plan === null) return "its precision is not known";
  const spent =
    plan.samplesPerCell === null
      ? `when the budget of ${formatDuration(plan.budgetNs)} was spent`
      : `after ${counted(plan.samplesPerCell, "sample")} a cell`;
  return `its interval was still wider than ${formatPrecision(plan.precision)} ${spent}`;
}

/** The name of a single cell; for several cells their number and kinds of memory. */
function describeCells(cells: readonly CellResult[], nameOf: NameOfCell): string {
  if (cells.length === 1) return nameOf(cells[0]!.id);
  const memories = memoryOrder.filter((memory) => cells.some((cell) => cell.memory === memory));
  return `${cells.length} cells, ${listed(memories)}`;
}

/** Smaller shares of other activity explain nothing. */
const shownStealShare = 0.01;
const shownOtherCpuShare = 0.1;

function loadNotes({ load }: ResultDocument["run"]): Note[] {
  const { stealShare, otherCpuShare } = load ?? {};
  const clauses = [
    ...(otherCpuShare != null && otherCpuShare > shownOtherCpuShare
      ? [`other programs used ${formatWholeShare(otherCpuShare)} of the CPUs`]
      : []),
    ...(stealShare != null && stealShare > shownStealShare
      ? [`the hypervisor took ${formatWholeShare(stealShare)} of the CPUs' time for others`]
      : []),
  ];
  return clauses.length === 0 ? [] : [note(`during the run ${listed(clauses)}`, "warning")];
}

/** In the order in which they are counted; "null" is the outcome of a cell that was not reached. */
const outcomeName: Readonly<Record<`${CellResult["outcome"]}`, string>> = {
  converged: "converged",
  budget: "not converged",
  skipped: "skipped",
  failed: "failed",
  mismatch: "with wrong data",
  null: "not finished",
};

function tally({ cells, run, plan }: ResultDocument): Note {
  const counts = Object.entries(outcomeName).flatMap(([outcome, name]) => {
    const count = cells.filter((cell) => `${cell.outcome}` === outcome).length;
    const target = outcome === "converged" && plan !== null ? ` to ${formatPrecision(plan.precision)}` : "";
    return count === 0 ? [] : [`${count} ${name}${target}`];
  });
  const time = run.wallNs === null ? "" : ` in ${formatDuration(run.wallNs)}`;
  return note(`${counted(cells.length, "cell")}${time}: ${counts.join(", ")}`, "muted");
}
