import type { CellResult, ResultDocument } from "../results/schema.js";
import { memories as memoryOrder } from "../settings/choices.js";
import { formatDuration, formatSize } from "../settings/units.js";
import { sign } from "./cell-figure.js";
import { formatPrecision } from "./format-number.js";
import type { Note, Tone } from "./report-parts.js";
import { counted, directionName, listed } from "./wording.js";

/**
 * The notes below the tables of a result, each reason once: wrong data, failures, what the signs mean, what was
 * skipped, warnings, and how many cells came to which end.
 */
export function cellNotes(document: ResultDocument): Note[] {
  const { cells } = document;
  return [
    ...cells.filter(({ outcome }) => outcome === "mismatch").map(mismatchNote),
    ...byReason(cells, (cell) => (cell.outcome === "failed" ? failureOf(cell) : []), "failed", "failure"),
    ...signNotes(document),
    ...byReason(
      cells,
      ({ outcome, skipReason }) => (outcome === "skipped" ? [skipReason ?? "no reason given"] : []),
      `${sign.absent} skipped`,
      "plain",
    ),
    ...byReason(cells, ({ warnings }) => warnings, "warning", "warning"),
    ...(document.plan?.notes ?? []).map((text): Note => ({ text: `note: ${text}`, tone: "plain" })),
    tally(document),
  ];
}

function mismatchNote({ id, verification }: CellResult): Note {
  const mismatches = verification?.mismatches ?? [];
  const [first] = mismatches;
  const where =
    first === undefined
      ? ""
      : `: ${counted(mismatches.length, "place")}, the first ${directionName[first.direction]} of worker ` +
        `${first.worker}, ${formatSize(first.mismatchedBytes)} wrong from byte ${first.offsetBytes} of its arena`;
  return { text: `MISMATCH: data came back wrong in ${id}${where}`, tone: "mismatch" };
}

function failureOf({ error }: CellResult): string[] {
  if (error === null) {
    return ["no reason given"];
  }
  const message = withoutFullStop(error.message);
  return [message.includes(error.code) ? message : `${message} (${error.code})`];
}

function withoutFullStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function signNotes({ cells, plan }: ResultDocument): Note[] {
  const measured = cells.filter(({ stats }) => stats.length > 0);
  const notes: Note[] = [];
  if (plan === null && measured.some(({ outcome }) => outcome === "budget")) {
    notes.push({
      text: `${sign.notConverged} not converged: nothing says how precise it is`,
      tone: "warning",
    });
  } else if (plan !== null && measured.some(({ outcome }) => outcome === "budget")) {
    const spent =
      plan.samplesPerCell === null
        ? `when the budget of ${formatDuration(plan.budgetNs)} was spent`
        : `after ${counted(plan.samplesPerCell, "sample")} a cell`;
    notes.push({
      text: `${sign.notConverged} not converged: its interval was still wider than ${formatPrecision(plan.precision)} ${spent}`,
      tone: "warning",
    });
  }
  if (measured.some(({ outcome }) => outcome === null)) {
    notes.push({
      text: `${sign.unfinished} not finished: what was measured until the run ended`,
      tone: "warning",
    });
  }
  if (measured.some(({ stats }) => stats.some(({ relativeHalfWidth }) => relativeHalfWidth === null))) {
    notes.push({ text: `${sign.noInterval} too few samples for an interval`, tone: "warning" });
  }
  if (cells.some(({ outcome, stats }) => outcome === null && stats.length === 0)) {
    notes.push({ text: `${sign.absent} not measured before the run ended`, tone: "plain" });
  }
  return notes;
}

/** One note for each distinct reason, with the number of cells and the memory kinds that it holds for. */
function byReason(
  cells: readonly CellResult[],
  reasonsOf: (cell: CellResult) => readonly string[],
  label: string,
  tone: Tone,
): Note[] {
  const affected = new Map<string, CellResult[]>();
  for (const cell of cells) {
    for (const reason of new Set(reasonsOf(cell))) {
      affected.set(reason, [...(affected.get(reason) ?? []), cell]);
    }
  }
  return [...affected].map(([reason, members]) => {
    const [first] = members;
    const memories = memoryOrder.filter((memory) => members.some((cell) => cell.memory === memory));
    const whom =
      members.length === 1 && first !== undefined ? first.id : `${members.length} cells, ${listed(memories)}`;
    return { text: `${label}: ${withoutFullStop(reason)} (${whom})`, tone };
  });
}

/** In the order in which they are counted; "null" is the outcome of a cell that the run did not come to. */
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
  return { text: `${counted(cells.length, "cell")}${time}: ${counts.join(", ")}`, tone: "muted" };
}
