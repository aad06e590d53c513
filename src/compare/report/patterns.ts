import { counted, listed } from "../../draw/words.js";
import { formatSize } from "../../settings/units.js";

/** Summaries of failing cells by common properties: "D2H pinned from 16 MiB on". */

/** A cell's place among others: labels, and ordered values. */
export interface Place {
  /** Empty for a label that all cells share, and that needs no name. */
  device: string;
  direction: string;
  kind: string;
  sizeBytes: number;
  workers: number;
}

/** A cell as a pattern sees it. */
export interface ClassedCell<Cell> {
  cell: Cell;
  place: Place;
  /** "open" if unknown: it neither makes a pattern nor breaks one. */
  state: "fails" | "open" | "holds";
}

/** Failing cells with a common description. */
export interface Pattern<Cell> {
  description: string;
  /** In order; other patterns may include some of them. */
  failing: Cell[];
  /** Number of cells that the description covers, including passing ones. */
  of: number;
}

const labels = ["device", "direction", "kind"] as const;
const scales = ["sizeBytes", "workers"] as const;

/** The values that a description allows in each part of a place. */
interface AllowedValues {
  device: readonly string[];
  direction: readonly string[];
  kind: readonly string[];
  sizeBytes: readonly number[];
  workers: readonly number[];
}

/** Failing cells for each passing one that a description may cover. */
const failingForOne = 3;

/**
 * At most `most` patterns of the failing cells, the first with the first cell; and the remaining cells. Each begins
 * with the first cell that no pattern covers yet. It grows along one part of a place at a time, in the direction of the
 * largest gain, as long as three in four of the new cells fail.
 */
export function findPatterns<Cell>(
  cells: readonly ClassedCell<Cell>[],
  most: number,
): { patterns: Pattern<Cell>[]; rest: Cell[] } {
  const everything = boxAround(cells.map(({ place }) => place));
  const patterns: Pattern<Cell>[] = [];
  let left = cells.filter(({ state }) => state === "fails");
  while (left.length > 0 && patterns.length < most) {
    // Cells of other patterns are no reason to grow.
    const asked = cells.map((one) => (one.state === "holds" || left.includes(one) ? one : asOpen(one)));
    const box = grown(boxAround([left[0]!.place]), everything, asked);
    const within = cells.filter(({ place }) => isIn(place, box));
    patterns.push({
      description: describe(box, cells),
      failing: within.filter(({ state }) => state === "fails").map(({ cell }) => cell),
      of: within.length,
    });
    left = left.filter(({ place }) => !isIn(place, box));
  }
  return { patterns, rest: left.map(({ cell }) => cell) };
}

function asOpen<Cell>(one: ClassedCell<Cell>): ClassedCell<Cell> {
  return { ...one, state: "open" };
}

function boxAround(places: readonly Place[]): AllowedValues {
  const valuesOf = <Key extends keyof Place>(key: Key) => [...new Set(places.map((place) => place[key]))];
  const inOrder = (values: number[]) => values.sort((a, b) => a - b);
  return {
    device: valuesOf("device"),
    direction: valuesOf("direction"),
    kind: valuesOf("kind"),
    sizeBytes: inOrder(valuesOf("sizeBytes")),
    workers: inOrder(valuesOf("workers")),
  };
}

function isIn(place: Place, box: AllowedValues): boolean {
  return (
    labels.every((key) => box[key].includes(place[key])) &&
    scales.every((key) => box[key].includes(place[key]))
  );
}

function grown<Cell>(
  start: AllowedValues,
  everything: AllowedValues,
  cells: readonly ClassedCell<Cell>[],
): AllowedValues {
  let box = start;
  for (;;) {
    const outside = cells.filter(({ place }) => !isIn(place, box));
    const gains = growths(box, everything)
      .map((larger) => {
        const gained = outside.filter(({ place }) => isIn(place, larger));
        const count = (state: string) => gained.filter((one) => one.state === state).length;
        return { larger, fails: count("fails"), holds: count("holds"), all: gained.length };
      })
      .filter(({ fails, holds }) => fails > 0 && fails >= failingForOne * holds)
      .sort((a, b) => b.fails - a.fails || a.holds - b.holds || a.all - b.all);
    if (gains.length === 0) return box;
    box = gains[0]!.larger;
  }
}

/** The boxes with one part of a place extended: one more label or all of them, or a wider range. */
function growths(box: AllowedValues, everything: AllowedValues): AllowedValues[] {
  const byLabel = labels.flatMap((key) => {
    const others = everything[key].filter((label) => !box[key].includes(label));
    const wider = others.map((label) => [...box[key], label]);
    return (others.length > 1 ? [...wider, everything[key]] : wider).map((values) => ({
      ...box,
      [key]: values,
    }));
  });
  const byScale = scales.flatMap((key) => {
    const all = everything[key];
    const [low, high] = [all.indexOf(box[key][0]!), all.indexOf(box[key].at(-1)!)];
    const ranges = all
      .slice(0, low + 1)
      .flatMap((_, from) => all.slice(high).map((_one, i) => all.slice(from, high + i + 1)));
    return ranges
      .filter(({ length }) => length > box[key].length)
      .map((values) => ({ ...box, [key]: values }));
  });
  return [...byLabel, ...byScale];
}

/** Most labels that are listed if they are all there are. */
const mostListed = 3;

function describe<Cell>(box: AllowedValues, cells: readonly ClassedCell<Cell>[]): string {
  /** The values of cells that match the box in all other parts. */
  const present = <Key extends keyof AllowedValues>(
    key: Key,
    all: AllowedValues[Key],
  ): AllowedValues[Key] => {
    const free = { ...box, [key]: all };
    return boxAround(cells.map(({ place }) => place).filter((place) => isIn(place, free)))[key];
  };
  const everything = boxAround(cells.map(({ place }) => place));
  const named = (key: (typeof labels)[number]) => {
    const isAll = box[key].length >= present(key, everything[key]).length;
    return isAll && box[key].length > mostListed ? "" : listed(box[key].filter((label) => label !== ""));
  };
  const [device, direction] = [named("device"), named("direction")];
  const kind = named("kind") || (direction === "" ? "all copies" : "");
  const size = valuesText(box.sizeBytes, present("sizeBytes", everything.sizeBytes), {
    one: (bytes) => `of ${formatSize(bytes)}`,
    upTo: (bytes) => `up to ${formatSize(bytes)}`,
    from: (bytes) => `from ${formatSize(bytes)} on`,
    between: (low, high) => `from ${formatSize(low)} to ${formatSize(high)}`,
  });
  const workers = valuesText(box.workers, present("workers", everything.workers), {
    one: (count) => `with ${counted(count, "worker")}`,
    upTo: (count) => `with up to ${count} workers`,
    from: (count) => `with ${count} workers or more`,
    between: (low, high) => `with ${low} to ${high} workers`,
  });
  return [device, direction, kind, size, workers].filter((part) => part !== "").join(" ");
}

/** A range of the existing values; empty if it has all of them. */
function valuesText(
  range: readonly number[],
  present: readonly number[],
  texts: {
    one: (value: number) => string;
    upTo: (high: number) => string;
    from: (low: number) => string;
    between: (low: number, high: number) => string;
  },
): string {
  const inRange = present.filter((value) => range.includes(value));
  const [low, high] = [inRange[0]!, inRange.at(-1)!];
  if (inRange.length === present.length) return "";
  if (low === high) return texts.one(low);
  if (low === present[0]) return texts.upTo(high);
  return high === present.at(-1) ? texts.from(low) : texts.between(low, high);
}
