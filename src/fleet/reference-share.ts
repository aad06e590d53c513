import { type Expectation, type expectationOf, leastReferenceBytes } from "../doctor/expectation.js";
import { parseCellId } from "../results/cell-id.js";
import type { Cell } from "../results/schema.js";
import { variantOf } from "../results/variant.js";
import type { FigureKind, FleetGroupCell } from "./fleet-document.js";
import { cellText } from "./fleet-wording.js";
import type { FleetRule } from "./judge-group.js";
import type { NodeGroup } from "./node-groups.js";

/** What is known of a GPU of this name behind a link that card and slot can do; null for nothing. */
export type ReferenceOf = typeof expectationOf;

/** The centre of a group's cell as a share of what healthy machines reach; null where nothing is known of such a cell. */
export function shareOfReference(
  kind: FigureKind,
  centre: number,
  group: NodeGroup,
  referenceOf: ReferenceOf | null,
): number | null {
  const reference = referenceOfGroup(group, referenceOf);
  if (reference === null || kind.unit === "us") return null;
  const cell = parseCellId(`d0/${kind.cell}`);
  if (!isReferenceCell(cell)) return null;
  const { together } = reference;
  if (cell.together !== undefined && cell.together.length !== together?.devices) return null;
  const rates = cell.together === undefined ? reference : together!;
  return centre / rates[cell.direction as "h2d" | "d2h"];
}

function isReferenceCell(cell: Cell): boolean {
  const { direction, memory, sizeBytes, workers, cache, workerKind } = cell;
  const isPlainCopy = (direction === "h2d" || direction === "d2h") && memory === "pinned";
  const variant = variantOf(cell);
  const isAlone = workerKind !== "process" && (variant === "plain" || variant === "together");
  return isPlainCopy && isAlone && workers === 1 && cache === "cold" && sizeBytes >= leastReferenceBytes;
}

/** One sentence where the group as a whole is slower than healthy machines are; null where it is not, or they are not known. */
export function slowAsAWhole(
  cells: readonly FleetGroupCell[],
  group: NodeGroup,
  rule: FleetRule,
  referenceOf: ReferenceOf | null,
): string | null {
  const reference = referenceOfGroup(group, referenceOf);
  if (reference === null) return null;
  const least = 1 - Math.max(rule.threshold, reference.tolerance);
  const slow = cells
    .filter(({ shareOfReference: share }) => share !== null && share < least)
    .sort((a, b) => a.shareOfReference! - b.shareOfReference!);
  const [most] = slow;
  if (most === undefined) return null;
  const share = `${Math.round(100 * most.shareOfReference!)} %`;
  return `All of them together are slow: ${+most.centre.toPrecision(3)} GB/s in ${cellText(most)} is ${share} of what healthy machines reach (${reference.source}).`;
}

function referenceOfGroup({ facts, nodes }: NodeGroup, referenceOf: ReferenceOf | null): Expectation | null {
  const device = nodes[0]?.devices.find(({ linkCapability }) => linkCapability !== null);
  if (referenceOf === null || device === undefined) return null;
  return referenceOf({ name: device.name, emulated: facts.backend === "emulated" }, device.linkCapability!);
}
