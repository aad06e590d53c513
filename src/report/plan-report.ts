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
import { besideName, blocksText } from "../results/naming/wording.js";
import { inOrder, memories, workerKinds } from "../settings/choices.js";
import { formatDuration, formatSize, formatSizeRounded } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";

/** The output of `--dry-run --json`: the plan with its settings, and the number of runs. */
export function planDocument(
  { settings, candidates: _, ...plan }: Plan,
  runs: number,
): Record<string, unknown> {
  return { ...plan, runs, verify: settings.verify, settings };
}

export function planReport(
  plan: Plan,
  devices: readonly DeviceFacts[],
  runs: number,
  screen: Screen,
): string {
  return joinBlocks([
    paragraph("The plan (nothing was measured)", screen, { style: screen.chalk.bold }),
    factLines(printableDocument(factsOfPlan(plan, devices, runs)), indent, screen),
  ]);
}

function workerFacts({ cells, processArenas, need }: Plan): Fact[] {
  const { length } = processArenas;
  if (length === 0) return [];
  const kinds = workerKinds.filter((kind) => cells.some(({ workerKind = "thread" }) => workerKind === kind));
  const { contextBytes } = need;
  const contexts =
    contextBytes === 0
      ? ""
      : `, ${formatSizeRounded(contextBytes, Math.ceil)} of each device for their contexts`;
  return [
    ["Worker kinds", kinds.join(", ")],
    ["Worker processes", `${length} a device${contexts}`],
  ];
}

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
    ...fact("Methods", ({ blockWay }) => blockWay),
    ...(candidates.length === 0
      ? []
      : [["Search", "more block sizes between these, where the best method changes"] as const]),
  ];
}

function factsOfPlan(plan: Plan, devices: readonly DeviceFacts[], runs: number): Fact[] {
  const { cells, stopping, need } = plan;
  if (cells.length === 0) return [["Cells", "none: there are no NUMA nodes to compare"]];
  const axis = <Value>(pick: (cell: PlannedCell) => Value, format: (value: Value) => string = String) =>
    [...new Set(cells.map(pick))].map(format).join(", ");
  const skipReasons = new Set(cells.flatMap(({ skipReason }) => skipReason ?? []));
  const size = (bytes: number) => formatSizeRounded(bytes, Math.ceil);
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
    ["Timing", `${axis((cell) => cell.mode)}; cache ${axis((cell) => cell.cache)}`],
    [
      "Stopping",
      stopping.samplesPerCell === null
        ? `${formatPrecision(stopping.precision)} or ${formatDuration(stopping.budgetNs)} in all`
        : `${counted(stopping.samplesPerCell, "sample")} a cell`,
    ],
    ...(runs === 1 ? [] : [["Runs", `${runs} fresh processes, one after the other`] as const]),
    ["Host memory", `${size(need.hostBytes)}, of which ${size(need.pinnedBytes)} pinned`],
    ["On device", size(need.deviceBytes)],
    ...[...skipReasons].map((reason): Fact => ["Skipped", reason]),
  ];
}

export function notesOn({ plan, ...opened }: PreparedRun): string[] {
  return [...backendNotes(opened), ...plan.notes];
}

export function backendNotes({ backend, passedOver }: Pick<PreparedRun, "backend" | "passedOver">): string[] {
  const { fallbackReason } = backend;
  return [
    ...passedOver.map((one) => `not used: ${describeFailed(one)}.`),
    ...(fallbackReason === null ? [] : [`using the emulated device, because ${fallbackReason}.`]),
  ];
}
