import { formatWholeShare } from "../draw/numbers.js";
import { type Note, note, reasonNotes, type Tone } from "../draw/report.js";
import { counted, listed, withoutFullStop } from "../draw/words.js";
import { describeUnseen } from "../host/other-programs.js";
import type { CellResult } from "../results/cell-schema.js";
import { sign } from "../results/naming/cell-figure.js";
import { cellNames, directionName, type NameOfCell } from "../results/naming/wording.js";
import type { ResultDocument } from "../results/schema.js";
import { formatDuration, formatSize } from "../settings/units.js";

export function urgentNotes(document: ResultDocument): Note[] {
  const { cells, run } = document;
  const nameOf = cellNames(cells.map(({ id }) => id));
  const byReason = (reasonsOf: (cell: CellResult) => readonly string[], label: string, tone: Tone) =>
    reasonNotes(cells, reasonsOf, (some) => describeCells(some, nameOf), label, tone);
  return [
    ...cells.filter(({ outcome }) => outcome === "mismatch").map((cell) => mismatchNote(cell, nameOf)),
    ...byReason(
      ({ outcome, error }) => (outcome === "failed" ? [describeError(error)] : []),
      "failed",
      "failure",
    ),
    ...byReason(
      ({ outcome, skipReason }) => (outcome === "skipped" ? [skipReason ?? "no reason given"] : []),
      `${sign.absent} skipped`,
      "plain",
    ),
    ...byReason(({ warnings }) => warnings, "warning", "warning"),
    ...loadNotes(run),
    ...(run.sharing ?? []).flatMap(describeUnseen).map((text) => note(text)),
  ];
}

export function otherNotes(document: ResultDocument): Note[] {
  const { plan, run, cells } = document;
  const outcomes = Object.entries(outcomeName).flatMap(([outcome, name]) => {
    const count = cells.filter((cell) => `${cell.outcome}` === outcome).length;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  const time = run.wallNs === null ? "" : ` in ${formatDuration(run.wallNs)}`;
  return [
    ...(plan?.notes ?? []).map((text) => note(text)),
    ...checkedNotes(document),
    note(`${counted(cells.length, "cell")}${time}: ${outcomes.join(", ")}`, "muted"),
  ];
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

function checkedNotes({ cells, plan }: ResultDocument): Note[] {
  const counts = cells.flatMap(({ verification }) => (verification?.copies ? [verification] : []));
  if (counts.length === 0) return [];
  if (plan?.verify === "every") {
    return [note("every copy was checked: compare only with results of --verify every")];
  }
  const copies = counts.reduce((sum, one) => sum + one.copies!, 0);
  const checked = counts.reduce((sum, one) => sum + (one.provenCopies ?? 0), 0);
  return [
    note(
      `data checked: ${formatWholeShare(checked / copies)} of the copies; --verify every checks all`,
      "muted",
    ),
  ];
}

function describeCells(cells: readonly CellResult[], nameOf: NameOfCell): string {
  const [name] = cells.map(({ id }) => nameOf(id)).sort();
  return cells.length === 1 ? name! : `${name} and ${cells.length - 1} more`;
}

/** A smaller share of other activity explains nothing. */
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

/** In the order of counting; "null" means an unfinished cell. */
const outcomeName: Readonly<Record<`${CellResult["outcome"]}`, string>> = {
  converged: "converged",
  budget: `not converged (${sign.notConverged})`,
  skipped: "skipped",
  failed: "failed",
  mismatch: "with wrong data",
  null: `not finished (${sign.unfinished})`,
};
