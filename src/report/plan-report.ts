import { formatPrecision } from "../draw/numbers.js";
import { printableDocument } from "../draw/printable-text.js";
import type { Fact } from "../draw/report.js";
import type { Screen } from "../draw/screen.js";
import { indent } from "../draw/terminal/terminal-grid.js";
import { factLines, joinBlocks, paragraph } from "../draw/terminal/terminal-text.js";
import { counted, listed } from "../draw/words.js";
import type { PreparedRun } from "../measure/prepare.js";
import type { DeviceFacts } from "../native/device-contract.js";
import { describeFailed } from "../native/load-failure.js";
import type { PlannedCell } from "../plan/geometry.js";
import type { Plan } from "../plan/plan.js";
import { besideName, blocksText, blockWayText } from "../results/naming/wording.js";
import { blockWayOf, compareBlockWays } from "../results/variant.js";
import { inOrder, memories, workerKinds } from "../settings/choices.js";
import { formatDuration, formatSize, formatSizeRounded } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";

/** The output of `--dry-run --json`: the plan with its basis, and the number of processes. */
export function planDocument(
  { settings, candidates: _, ...plan }: Plan,
  processes: number,
): Record<string, unknown> {
  const { stagingChunkBytes: chunkBytes, stagingSlots: slots, verify, seed } = settings;
  const estimate = { ...plan.estimate, ...wholeDuration(plan.estimate, processes) };
  return { ...plan, estimate, processes, staging: { chunkBytes, slots }, verify, seed, settings };
}

/** Several processes run one after the other, each with the whole budget, while this one waits. */
function wholeDuration(
  estimate: Plan["estimate"],
  processes: number,
): Pick<Plan["estimate"], "leastDurationNs" | "durationNs" | "mostDurationNs"> {
  const waitingNs = processes === 1 ? 0 : estimate.startNs;
  const whole = (processNs: number) => waitingNs + processes * processNs;
  return {
    leastDurationNs: whole(estimate.leastDurationNs),
    durationNs: whole(estimate.durationNs),
    mostDurationNs: whole(estimate.mostDurationNs),
  };
}

/**
 * A note if measuring takes longer than a requested budget, or far longer than the preset's, because of the first
 * samples; null otherwise.
 */
export function budgetNote({ settings, stopping, estimate, cells }: Plan): string | null {
  const isAsked = settings.budgetNs !== null;
  const { leastDurationNs, firstSamplesNs } = estimate;
  if (stopping.samplesPerCell !== null || settings.cells !== null) return null;
  if (firstSamplesNs < (isAsked ? 1.25 : 3) * stopping.budgetNs) return null;
  if (firstSamplesNs - stopping.budgetNs < noticedNs) return null;
  if (!isAsked && leastDurationNs < longNs) return null;
  const measured = cells.filter(({ skipReason }) => skipReason === null).length;
  if (stopping.isHard) {
    return `The first samples of ${counted(measured, "cell")} take about ${formatRoughly(firstSamplesNs)}: what the budget of ${formatDuration(stopping.budgetNs)} leaves no time for is skipped, kind by kind.`;
  }
  return `The first samples of ${counted(measured, "cell")} take longer than the budget of ${formatDuration(stopping.budgetNs)}: the run cannot end before about ${formatRoughly(leastDurationNs)}. Ask for fewer or smaller sizes, or fewer workers, to be done sooner.`;
}

/** Smaller excesses are not mentioned. */
const noticedNs = 1e9;

/** Without a requested budget, this long is acceptable. */
const longNs = 30e9;

/** An estimate has at most two significant digits. */
function formatRoughly(durationNs: number): string {
  const unitNs = durationNs < 120e9 ? 1 : 60e9;
  return formatDuration(Number((durationNs / unitNs).toPrecision(2)) * unitNs);
}

/** The output of `--dry-run`: the plan's cells by axis, their memory, and the estimated time of all processes. */
export function planReport(
  plan: Plan,
  devices: readonly DeviceFacts[],
  processes: number,
  screen: Screen,
): string {
  return joinBlocks([
    paragraph("The plan (nothing was measured)", screen, { style: screen.chalk.bold }),
    factLines(printableDocument(factsOfPlan(plan, devices, processes)), indent, screen),
  ]);
}

/** Empty if only threads copy. */
function workerFacts({ cells, processArenas, estimate }: Plan): Fact[] {
  const { length } = processArenas;
  if (length === 0) return [];
  const kinds = workerKinds.filter((kind) => cells.some(({ workerKind = "thread" }) => workerKind === kind));
  const { workersStartNs, contextBytes } = estimate;
  const contexts =
    contextBytes === 0
      ? ""
      : `, ${formatSizeRounded(contextBytes, Math.ceil)} of each device for their contexts`;
  const start = `about ${formatDuration(workersStartNs)} to start`;
  return [
    ["Worker kinds", kinds.join(", ")],
    ["Worker processes", `${length} a device: ${start}${contexts}`],
  ];
}

/** Facts on variants; empty without any. */
function variantFacts({ cells, candidates }: Plan): Fact[] {
  const fact = (name: string, pick: (cell: PlannedCell) => string | number | undefined): Fact[] => {
    const values = new Set(cells.flatMap((cell) => pick(cell) ?? []));
    return values.size === 0 ? [] : [[name, [...values].join(", ")]];
  };
  return [
    ...fact("At once", ({ together }) => together && `devices ${listed(together.map(String))}`),
    ...fact("Memory of nodes", ({ memoryNode }) => memoryNode),
    ...fact("CPUs of nodes", ({ cpuNode }) => cpuNode),
    ...fact("Paths", ({ path }) => path),
    ...fact("Beside", ({ beside }) => beside && besideName[beside]),
    ...fact("Chunks", ({ chunks }) => chunks),
    ...fact("Blocks", ({ sizeBytes, blockBytes }) => blockBytes && blocksText(sizeBytes, blockBytes)),
    ...wayFacts(cells),
    ...(candidates.length === 0
      ? []
      : [["Search", "more block sizes between these, where the best way changes"] as const]),
  ];
}

/** The ways of copying blocks, in the order of tables; empty without any. */
function wayFacts(cells: readonly PlannedCell[]): Fact[] {
  const all = cells.flatMap((cell) => blockWayOf(cell) ?? []).sort(compareBlockWays);
  const ways = new Set(all.map(blockWayText));
  return ways.size === 0 ? [] : [["Ways", [...ways].join(", ")]];
}

/** What the budget limits, and what it does not. */
function budgetText({ stopping, estimate }: Plan): string {
  const budget = `${formatDuration(stopping.budgetNs)} in all`;
  if (estimate.firstSamplesNs <= stopping.budgetNs) return budget;
  const firstSamples = formatRoughly(estimate.firstSamplesNs);
  return stopping.isHard
    ? `${budget}; the first samples of every cell would take about ${firstSamples}`
    : `${budget}; the first samples of every cell take about ${firstSamples} in any case`;
}

/** The expected time, and its range if that is wide. */
function timeText({ leastDurationNs, durationNs, mostDurationNs }: ReturnType<typeof wholeDuration>): string {
  const [least, expected, most] = [leastDurationNs, durationNs, mostDurationNs].map(formatRoughly);
  const bounds = [
    ...(least === expected ? [] : [`${least} if samples hardly differ`]),
    ...(most === expected ? [] : [`${most} if they differ much`]),
  ];
  const range = bounds.map((bound) => `; ${bound}`).join("");
  return `about ${expected} (an estimate${range})`;
}

function factsOfPlan(plan: Plan, devices: readonly DeviceFacts[], processes: number): Fact[] {
  const { cells, stopping, estimate } = plan;
  if (cells.length === 0) return [["Cells", "none: there are no NUMA nodes to compare"]];
  const axis = <Value>(pick: (cell: PlannedCell) => Value, format: (value: Value) => string = String) =>
    [...new Set(cells.map(pick))].map(format).join(", ");
  const skipReasons = new Set(cells.flatMap(({ skipReason }) => skipReason ?? []));
  const need = (bytes: number) => formatSizeRounded(bytes, Math.ceil);
  return [
    ["Devices", devices.map(({ ordinal, name }) => `${ordinal} (${name})`).join(", ")],
    ["Cells", `${counted(cells.length, "cell")}, preset ${plan.preset ?? "none"}`],
    ["Directions", axis((cell) => cell.direction)],
    ["Memory", inOrder(memories, [...new Set(cells.map((cell) => cell.memory))]).join(", ")],
    [
      "Sizes",
      ascending(cells.map((cell) => cell.sizeBytes))
        .map(formatSize)
        .join(", "),
    ],
    ["Workers", axis((cell) => cell.workers)],
    ...workerFacts(plan),
    ...variantFacts(plan),
    [
      "Timing",
      `${axis((cell) => cell.mode)}; timer ${axis((cell) => cell.timer)}; cache ${axis((cell) => cell.cache)}`,
    ],
    [
      "Stopping",
      stopping.samplesPerCell === null
        ? `${formatPrecision(stopping.precision)} or ${budgetText(plan)}`
        : `${counted(stopping.samplesPerCell, "sample")} a cell`,
    ],
    ...(processes === 1 ? [] : [["Processes", `${processes}, one after the other`] as const]),
    ["Host memory", `${need(estimate.hostBytes)}, of which ${need(estimate.pinnedBytes)} pinned`],
    ["On device", need(estimate.deviceBytes)],
    ["Time", timeText(wholeDuration(estimate, processes))],
    ...[...skipReasons].map((reason): Fact => ["Skipped", reason]),
  ];
}

/** Notes for a run before it measures. */
export function notesOn({ plan, ...opened }: PreparedRun, doing = "measuring"): string[] {
  return [
    ...backendNotes(opened, doing),
    ...plan.notes,
    ...[budgetNote(plan)].filter((note) => note !== null),
  ];
}

/** The notes on the open driver, and on builds that do not load. */
export function backendNotes(
  { backend, passedOver }: Pick<PreparedRun, "backend" | "passedOver">,
  doing = "measuring",
): string[] {
  const { fallbackReason } = backend;
  return [
    ...passedOver.map((one) => `not used: ${describeFailed(one)}.`),
    ...(fallbackReason === null ? [] : [`${doing} the emulated device, because ${fallbackReason}.`]),
  ];
}
