import type { ChalkInstance } from "chalk";
import type { DeviceFacts } from "../native/contract.js";
import type { PlannedCell } from "../plan/cells.js";
import type { Plan } from "../plan/plan.js";
import { inOrder, memories } from "../settings/choices.js";
import { formatDuration, formatSize, formatSizeRounded } from "../settings/units.js";
import { formatPrecision } from "./format-number.js";
import type { Fact } from "./report-parts.js";
import { factLines, joinBlocks } from "./terminal-text.js";
import { counted } from "./wording.js";

/** What `--dry-run --json` prints: the plan with all that it was made from. */
export function planDocument({ settings, ...plan }: Plan): Record<string, unknown> {
  const { stagingChunkBytes: chunkBytes, stagingSlots: slots, verify, seed } = settings;
  return { ...plan, staging: { chunkBytes, slots }, verify, seed, settings };
}

/** What `--dry-run` prints: the cells of the plan by axis, the memory that they need and the estimated time. */
export function planReport(plan: Plan, devices: readonly DeviceFacts[], chalk: ChalkInstance): string {
  return joinBlocks([
    [chalk.bold("The plan (nothing was measured)")],
    factLines(planFacts(plan, devices), "  ", chalk),
  ]);
}

/** Controls of host memory do not stand in the order of the axes. */
function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

function planFacts(plan: Plan, devices: readonly DeviceFacts[]): Fact[] {
  const { cells, stopping, estimate } = plan;
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
    [
      "Timing",
      `${axis((cell) => cell.mode)}; timer ${axis((cell) => cell.timer)}; cache ${axis((cell) => cell.cache)}`,
    ],
    [
      "Stopping",
      stopping.samplesPerCell === null
        ? `${formatPrecision(stopping.precision)} or ${formatDuration(stopping.budgetNs)} in all`
        : `${counted(stopping.samplesPerCell, "sample")} a cell`,
    ],
    ["Host memory", `${need(estimate.hostBytes)}, of which ${need(estimate.pinnedBytes)} pinned`],
    ["On device", need(estimate.deviceBytes)],
    [
      "Time",
      `about ${formatDuration(estimate.leastDurationNs)} to ${formatDuration(estimate.durationNs)} (an estimate)`,
    ],
    ...[...skipReasons].map((reason): Fact => ["Skipped", reason]),
  ];
}
