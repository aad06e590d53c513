import type { ComparisonRequest, ResultSet } from "./compare.js";
import type { CellComparison } from "./comparison.js";
import type { RunFigures } from "./figures.js";

/** What a reader must know besides the verdicts, a sentence each. */
export function comparisonNotes(
  { baseline, candidate, fresh, command, suspects }: ComparisonRequest,
  failures: readonly string[],
  cells: readonly CellComparison[],
): string[] {
  const runs = [...baseline.runs, ...candidate.runs, ...fresh];
  return [
    ...unfinished(runs),
    ...imported(baseline, candidate),
    ...spreadSource(cells),
    ...commonCauses(suspects, cells),
    ...(command === "compare" && cells.some(({ verdict }) => verdict === "slower")
      ? ["nothing was measured again: `pinbench check` confirms what is slower with fresh processes"]
      : []),
    ...failures,
  ];
}

/** Fewer suspects of a kind say nothing of a common cause. */
const fewestSuspects = 3;

/**
 * Most cells of a kind that look slower together have a cause in common, which may be a passing one: on a shared H200
 * all of pageable and staged memory was slower for three minutes (results/README.md), and pinned memory was not.
 */
function commonCauses(suspects: readonly string[], cells: readonly CellComparison[]): string[] {
  const kinds = [...new Set(cells.map(({ memory }) => memory))].flatMap((memory) => {
    const ofKind = cells.filter((cell) => cell.memory === memory);
    const slow = ofKind.filter(({ id }) => suspects.includes(id)).length;
    return slow >= fewestSuspects && slow >= ofKind.length / 2
      ? [`${slow} of ${ofKind.length} ${memory}`]
      : [];
  });
  if (kinds.length === 0) return [];
  return [
    `${kinds.join(" and ")} cells looked slower at the same time: another program or virtual machine that uses the host's memory does that for a while; --confirm-after 5min tells what passes from what stays`,
  ];
}

function unfinished(runs: readonly RunFigures[]): string[] {
  return runs
    .filter(({ status }) => status !== "complete")
    .map(({ path, status }) => `${path ?? "a run"} is ${status}: only its finished cells are compared`);
}

function imported(...sets: readonly ResultSet[]): string[] {
  const tools = new Set(sets.flatMap(({ runs }) => runs.map(({ importedFrom }) => importedFrom)));
  return [...tools]
    .filter((tool) => tool !== null)
    .map(
      (tool) => `a side was imported from ${tool}: what it does not record of its machine is not compared`,
    );
}

function spreadSource(cells: readonly CellComparison[]): string[] {
  const recorded = cells.filter(({ spread }) => spread?.source === "recorded");
  if (recorded.length === 0) return [];
  const kinds = [...new Set(recorded.map(({ memory }) => memory))].join(", ");
  return [
    `a side of one or two runs says too little of the spread between runs: that of ${kinds} is taken from runs recorded on an NVIDIA H200; several runs on each side say more`,
  ];
}
