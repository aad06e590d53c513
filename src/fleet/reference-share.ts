import type { Expectation, expectationOf } from "../doctor/expectation.js";
import type { Cell } from "../results/cell-schema.js";
import { isReferenceCell } from "../results/reference-cell.js";
import type { CellLevels, KnownOf } from "./cell-levels.js";
import { chanceOfDrop } from "./figure-noise.js";
import type { FleetGroupCell } from "./fleet-document.js";
import { cellText, percent } from "./fleet-wording.js";
import { cellOfKey, kindOf, type NodeGroup } from "./node-figures.js";

/** The reference for a GPU of this name over the best link of card and slot; null without one. */
export type ReferenceOf = typeof expectationOf;

/** The reference for each GPU of a group: for its kind, or, for unrecorded kinds, for links like its own. */
export interface GroupReference {
  of: (node: number, device: number, key: string) => { rate: number; expectation: Expectation } | null;
  /** Only for recorded kinds: GPUs are judged by this. */
  knownOf: KnownOf;
}

/** The reference for a group's GPUs, each by its own name and link. */
export function groupReference(group: NodeGroup, referenceOf: ReferenceOf | null): GroupReference {
  const emulated = group.facts.backend === "emulated";
  const usual = group.nodes.flatMap(({ devices }) => devices).find((one) => one.linkCapability !== null);
  const expectations = new Map<string, Expectation | null>();
  const of: GroupReference["of"] = (node, device, key) => {
    const { name, linkCapability } = group.nodes[node]!.devices[device]!;
    // A GPU with a worse link than its group's is compared with their link.
    const link = usual?.linkCapability ?? linkCapability;
    if (referenceOf === null || link === null) return null;
    const about = `${name} gen${link.generation} x${link.width}`;
    let expectation = expectations.get(about);
    if (expectation === undefined) {
      expectation = referenceOf({ name, emulated }, link);
      expectations.set(about, expectation);
    }
    const rate = expectation === null ? null : rateOf(expectation, key);
    return rate === null ? null : { rate, expectation: expectation! };
  };
  const knownOf: KnownOf = (node, device, key) => {
    const reference = of(node, device, key);
    if (reference === null || reference.expectation.isOfKind === false) return null;
    const { rate, expectation } = reference;
    return { speed: Math.log(rate), tolerated: -Math.log1p(-expectation.tolerance) };
  };
  return { of, knownOf };
}

/** The expected rate in a cell, in GB/s; null if there is no reference for such a cell. */
function rateOf(expectation: Expectation, key: string): number | null {
  const cell = referenceCell(key);
  if (cell === null) return null;
  const { together } = expectation;
  if (cell.together !== undefined && cell.together.length !== together?.devices) return null;
  const rates = cell.together === undefined ? expectation : together!;
  return rates[cell.direction as "h2d" | "d2h"];
}

/** The cell of figures with this key, if references cover such cells: large plain pinned copies; otherwise null. */
export function referenceCell(key: string): Cell | null {
  const cell = cellOfKey(key);
  return kindOf(key).unit !== "us" && isReferenceCell(cell) ? cell : null;
}

/** The first GPU of a group's cell with a reference. */
export function referenceOfCell(
  levels: CellLevels,
  reference: GroupReference,
): ReturnType<GroupReference["of"]> {
  for (const { node, device } of levels.gpus) {
    const one = reference.of(node, device, levels.key);
    if (one !== null) return one;
  }
  return null;
}

/** Largest chance that the fastest of all GPUs is this far below the reference. */
const mostChance = 1e-3;

/** One sentence if all GPUs of a group are slower than healthy ones; null if one is not, or there is no reference. */
export function slowAsAWhole(
  cells: readonly { cell: FleetGroupCell; levels: CellLevels }[],
  reference: GroupReference,
): string | null {
  const slow = cells
    .flatMap(({ cell, levels }) => {
      const known = referenceOfCell(levels, reference);
      if (known === null) return [];
      const drop = Math.log(known.rate / cell.highest);
      const isFarBelow = drop > Math.max(levels.namedFrom, -Math.log1p(-known.expectation.tolerance));
      return isFarBelow && chanceOfDrop(drop, levels.gpuNoise) < mostChance ? [{ cell, known, drop }] : [];
    })
    .sort((a, b) => b.drop - a.drop);
  const [most] = slow;
  if (most === undefined) return null;
  const { cell, known } = most;
  const { rate, expectation } = known;
  const digits = (figure: number) => String(+figure.toPrecision(3));
  const [low, high] = [digits(cell.lowest), digits(cell.highest)];
  const reached = low === high ? low : `${low} to ${high}`;
  const rates = `${reached} GB/s in ${cellText(cell)}`;
  const [from, to] = [cell.lowest, cell.highest].map((figure) => Math.round((100 * figure) / rate));
  const share = `${from === to ? from : `${from} to ${to}`} %`;
  const who = cell.figures === 1 ? "Its only GPU" : `All ${cell.figures} GPUs`;
  // No machine of this kind was recorded, so "slow" would be a guess.
  if (expectation.isOfKind === false) {
    const verb = cell.figures === 1 ? "reaches" : "reach";
    return `${who} ${verb} ${rates}, ${share} of other GPUs' rates over such a link; there is no reference for this kind.`;
  }
  const verb = cell.figures === 1 ? "is" : "are";
  return `${who} ${verb} slow: ${rates}, ${share} of healthy machines' rates (${expectation.source}).`;
}

/**
 * Sentences on a reference that does not fit a group any more: its driver is another one, or the group is faster than it
 * by more than the tolerance, so losses up to that are not found.
 */
export function outdatedReference(
  group: NodeGroup,
  levels: readonly CellLevels[],
  reference: GroupReference,
): string[] {
  const isEmulated = group.facts.backend === "emulated";
  const known = (isEmulated ? [] : levels).flatMap((one) => {
    const found = referenceOfCell(one, reference);
    return found === null || found.expectation.isOfKind === false ? [] : [{ ...found, levels: one }];
  });
  const again = "If the nodes are healthy, make it again with --format reference";
  const driver = known.find(({ expectation }) => expectation.driver !== undefined)?.expectation.driver;
  const own = group.facts.driver ?? null;
  const [most] = known
    .map((one) => ({ ...one, gain: Math.exp(one.levels.centre) / one.rate - 1 }))
    .filter(({ gain, expectation }) => gain > expectation.tolerance)
    .sort((a, b) => b.gain - a.gain);
  return [
    ...(driver === undefined || own === null || own === driver
      ? []
      : [`The reference was written with driver ${driver}, and these nodes have ${own}. ${again}.`]),
    ...(most === undefined
      ? []
      : [
          `${group.facts.gpu ?? "GPUs"}: ${percent(most.gain)} faster than the reference in ${cellText(most.levels.kind)} (${most.expectation.source}), so it misses losses. ${again}.`,
        ]),
  ];
}
