import { counted, listed } from "../../draw/words.js";
import { formatSize } from "../../settings/units.js";

/** Cells that fail, summarised by what they have in common: "D2H pinned from 16 MiB on". */

/** Where a cell lies among others: by labels that name it, and by what can be put in order. */
export interface Place {
  /** Empty for a label that all cells share, and that need not be named. */
  device: string;
  direction: string;
  kind: string;
  sizeBytes: number;
  workers: number;
}

/** A cell as a pattern sees it. */
export interface PlacedCell<Cell> {
  cell: Cell;
  place: Place;
  /** "open" if nothing is known of it: it neither makes a pattern nor breaks one. */
  state: "fails" | "open" | "holds";
}

/** Cells that fail and have a description in common. */
export interface Pattern<Cell> {
  description: string;
  /** In their order; other patterns may be about some of them too. */
  failing: Cell[];
  /** How many cells the description is true of, those that do not fail included. */
  of: number;
}

const labels = ["device", "direction", "kind"] as const;
const scales = ["sizeBytes", "workers"] as const;

/** The values of each part of a place that a description allows. */
interface Box {
  device: readonly string[];
  direction: readonly string[];
  kind: readonly string[];
  sizeBytes: readonly number[];
  workers: readonly number[];
}

/** A description may be true of one cell that holds for so many that fail. */
const failingForOne = 3;

/**
 * Patterns of the cells that fail, at most `most`, the first about the first of these cells; and the cells that no pattern
 * is about. Each begins with the first cell that none is about yet. It grows along one part of a place at a time, to where
 * it gains most, as long as three in four of the cells that it gains fail.
 */
export function findPatterns<Cell>(
  cells: readonly PlacedCell<Cell>[],
  most: number,
): { patterns: Pattern<Cell>[]; rest: Cell[] } {
  const everything = boxAround(cells.map(({ place }) => place));
  const patterns: Pattern<Cell>[] = [];
  let left = cells.filter(({ state }) => state === "fails");
  while (left.length > 0 && patterns.length < most) {
    // What other patterns are about is no reason to grow.
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

function asOpen<Cell>(one: PlacedCell<Cell>): PlacedCell<Cell> {
  return { ...one, state: "open" };
}

function boxAround(places: readonly Place[]): Box {
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

function isIn(place: Place, box: Box): boolean {
  return (
    labels.every((key) => box[key].includes(place[key])) &&
    scales.every((key) => box[key].includes(place[key]))
  );
}

function grown<Cell>(start: Box, everything: Box, cells: readonly PlacedCell<Cell>[]): Box {
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

/** The boxes that allow more of one part of a place: one label more or all of them, a wider range of a scale. */
function growths(box: Box, everything: Box): Box[] {
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

/** More labels than these are not listed if they are all that there are. */
const mostListed = 3;

function describe<Cell>(box: Box, cells: readonly PlacedCell<Cell>[]): string {
  /** The values that cells have which are like those of the box in all else. */
  const present = <Key extends keyof Box>(key: Key, all: Box[Key]): Box[Key] => {
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
  const size = rangeText(box.sizeBytes, present("sizeBytes", everything.sizeBytes), {
    one: (bytes) => `of ${formatSize(bytes)}`,
    upTo: (bytes) => `up to ${formatSize(bytes)}`,
    from: (bytes) => `from ${formatSize(bytes)} on`,
    between: (low, high) => `from ${formatSize(low)} to ${formatSize(high)}`,
  });
  const workers = rangeText(box.workers, present("workers", everything.workers), {
    one: (count) => `with ${counted(count, "worker")}`,
    upTo: (count) => `with up to ${count} workers`,
    from: (count) => `with ${count} workers or more`,
    between: (low, high) => `with ${low} to ${high} workers`,
  });
  return [device, direction, kind, size, workers].filter((part) => part !== "").join(" ");
}

/** A range of those values that are there; empty if it has all of them. */
function rangeText(
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
