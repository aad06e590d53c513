import { formatChange } from "../../draw/numbers.js";
import { counted, listed } from "../../draw/words.js";
import { cellNameParts, directionName } from "../../results/naming/wording.js";
import { formatSize } from "../../settings/units.js";
import { median } from "../../stats/order-statistics.js";
import { mean } from "../../stats/variance.js";
import {
  type CellComparison,
  type Comparison,
  type GroupComparison,
  isFailingGroup,
  type Verdict,
} from "../comparison.js";
import {
  changeEstimate,
  describeChange,
  failingCells,
  freshProcesses,
  groupName,
  type NameOfCompared,
  rangeOfChange,
} from "./cell-text.js";
import { type ClassedCell, findPatterns, type Pattern } from "./patterns.js";

/** A phrase on cells or groups that fail a comparison for one reason. */
export interface Failure {
  verdict: Verdict;
  /** "D2H pinned from 16 MiB on: −20.0 %, 9 of 9 cells slower". */
  text: string;
  /** Empty for a group without failing cells. */
  cells: readonly CellComparison[];
}

/** Most patterns of one kind of failure; the rest is counted. */
const mostPatterns = 8;

/** The failures of a comparison, worst first: host memory as a whole, slower cells, groups, and slow runs or copies. */
export function failuresOf(comparison: Comparison, nameOf: NameOfCompared): Failure[] {
  const failing = failingCells(comparison);
  const host = failing.filter(isHostSlower);
  const of = (...verdicts: Verdict[]) =>
    patternsOf(
      failing.filter((cell) => verdicts.includes(cell.verdict) && !isHostSlower(cell)),
      comparison,
      nameOf,
    );
  return [
    ...(host.length === 0 ? [] : [failureOfHost(host, comparison)]),
    ...of("slower", "probably slower"),
    ...failingGroups(comparison, failing),
    ...of("unsteady"),
    ...of("uneven"),
  ];
}

/** Whether a cell shows that the host's memory is slower; one phrase covers all such cells. */
function isHostSlower({ memory, verdict }: CellComparison): boolean {
  return memory === "host" && (verdict === "slower" || verdict === "probably slower");
}

/** All host cells measure the same memory: one alarm, with its effect on the others. */
function failureOfHost(host: readonly CellComparison[], { cells }: Comparison): Failure {
  const changes = host.map((cell) => cell.candidate?.change ?? 0);
  const change = mean(changes);
  const others = cells.filter(({ memory }) => memory !== "host");
  const [ofHost, ofLink] = [true, false].map((isOfHost) =>
    others.filter(({ memory }) => (memory === "pageable" || memory === "staged") === isOfHost),
  ) as [CellComparison[], CellComparison[]];
  const kinds = listed([...new Set(ofHost.map(({ memory }) => memory))]);
  const suffers = ofHost.length > 0 ? `: ${kinds} copies suffer from it` : "";
  const isWell = ({ verdict }: CellComparison) => verdict === "not slower" || verdict === "faster";
  const isLinkWell = ofLink.length > 0 && ofLink.every(isWell) ? ", the link does not" : "";
  const percent = formatChange(change, "down").replace(/^−/, "");
  const isCertain = host.some(({ verdict }) => verdict === "slower");
  return {
    verdict: isCertain ? "slower" : "probably slower",
    text: `Host memory is ${isCertain ? "" : "probably "}${percent} slower than in the baseline${suffers}${isLinkWell}`,
    cells: host,
  };
}

/** Groups that fail although no cell does by itself, or because of losses together with the host's memory. */
function failingGroups({ groups }: Comparison, failing: readonly CellComparison[]): Failure[] {
  const isSaid = (group: GroupComparison) =>
    !group.isWithHost && failing.some(({ id, moved }) => moved === group.moved && group.ids.includes(id));
  return groups
    .filter((group) => isFailingGroup(group) && !isSaid(group))
    .map((group) => {
      const together = group.isWithHost ? "with what host memory lost" : "together";
      const name = `${groupName(group, groups)}, ${counted(group.ids.length, "cell")} ${together}`;
      return {
        verdict: group.verdict,
        text: `${name}: ${rangeOfChange(group)}, ${group.verdict}`,
        cells: [],
      };
    });
}

function patternsOf(
  failing: readonly CellComparison[],
  comparison: Comparison,
  nameOf: NameOfCompared,
): Failure[] {
  return (["GB/s", "us"] as const).flatMap((unit) => {
    const ofUnit = failing.filter((cell) => cell.unit === unit);
    if (ofUnit.length === 0) return [];
    const { patterns, rest } = findPatterns(placed(ofUnit, unit, comparison), mostPatterns);
    const worst = rest[0];
    return [
      ...patterns.map((pattern) => failureOf(pattern, nameOf)),
      ...(worst === undefined
        ? []
        : [
            {
              verdict: worst.verdict,
              text: `${counted(rest.length, "further cell")} ${worst.verdict}, most of all ${nameOf(worst)}`,
              cells: rest,
            },
          ]),
    ];
  });
}

/** The cells that fail, and all others of the unit that both sides have, except the host's. */
function placed(
  failing: readonly CellComparison[],
  unit: CellComparison["unit"],
  { cells }: Comparison,
): ClassedCell<CellComparison>[] {
  const partsOf = cellNameParts(cells.map(({ id }) => id));
  const others = cells.filter(
    (cell) =>
      cell.unit === unit &&
      !failing.includes(cell) &&
      cell.baseline !== null &&
      cell.candidate !== null &&
      (cell.memory !== "host" || failing.some(({ memory }) => memory === "host")),
  );
  const isWell = ({ verdict }: CellComparison) => verdict === "not slower" || verdict === "faster";
  const placeOf = (cell: CellComparison): ClassedCell<CellComparison>["place"] => {
    const { id, sizeBytes, workers, blockBytes, direction, moved } = cell;
    const parts = partsOf(id);
    if (parts === null) return { device: "", direction: "", kind: id, sizeBytes, workers };
    const isOneOfBoth = direction === "bidir" && moved !== "sum";
    // With processes, the pattern itself gives their number.
    const variant = parts.variant.replace(/^process\b/, "processes");
    const blocks = blockBytes === undefined ? "" : `in blocks of ${formatSize(blockBytes)}`;
    return {
      device: parts.device,
      direction: isOneOfBoth ? `${parts.direction} (${directionName[moved]})` : parts.direction,
      kind: [parts.memory, variant, blocks].filter((part) => part !== "").join(" "),
      sizeBytes,
      workers,
    };
  };
  return [
    ...failing.map((cell) => ({ cell, place: placeOf(cell), state: "fails" as const })),
    ...others.map((cell) => ({
      cell,
      place: placeOf(cell),
      state: isWell(cell) ? ("holds" as const) : ("open" as const),
    })),
  ];
}

/** Ratio of the largest loss to the median one from which it is mentioned. */
const notableFactor = 1.5;

function failureOf({ description, failing, of }: Pattern<CellComparison>, nameOf: NameOfCompared): Failure {
  const [first] = failing as [CellComparison];
  const verdict = failing.some((cell) => cell.verdict === "slower") ? "slower" : first.verdict;
  if (of === 1) {
    return { verdict, text: `${nameOf(first)}: ${verdict}, ${describeChange(first)}`, cells: failing };
  }
  const changes = failing.map((cell) => cell.slowRuns?.worstChange ?? changeEstimate(cell)?.figure ?? 0);
  const middle = median(changes);
  const worst = first.unit === "us" ? Math.max(...changes) : Math.min(...changes);
  const text = (change: number) => formatChange(change, first.unit === "us" ? "up" : "down");
  const upTo = Math.abs(worst) > notableFactor * Math.abs(middle) ? ` (up to ${text(worst)})` : "";
  const probable = failing.filter((cell) => cell.verdict === "probably slower").length;
  const share = `${failing.length} of ${counted(of, "cell")} ${verdict}`;
  const confirmations = failing.flatMap(({ confirmation }) => confirmation?.runs ?? []);
  const parts = [
    `${description}: ${text(middle)}${upTo}${verdict === "unsteady" ? " in single runs" : ""}, ${share}`,
    ...(verdict === "slower" && probable > 0 ? [`${probable} of them probably`] : []),
    ...(confirmations.length === failing.length
      ? [`confirmed by ${freshProcesses(Math.min(...confirmations))}`]
      : []),
  ];
  return { verdict, text: parts.join("; "), cells: failing };
}
