import { describe, expect, it } from "vitest";
import { type ClassedCell, findPatterns, type Place } from "../../../src/compare/report/patterns.js";

const KiB = 1024;
const MiB = 1024 * KiB;

const axes = {
  device: ["d0", "d1"],
  direction: ["H2D", "D2H"],
  kind: ["pageable", "pinned", "staged"],
  sizeBytes: [4 * KiB, 64 * KiB, MiB, 16 * MiB, 256 * MiB],
  workers: [1, 2, 8],
};

const plan: Place[] = axes.device.flatMap((device) =>
  axes.direction.flatMap((direction) =>
    axes.kind.flatMap((kind) =>
      axes.sizeBytes.flatMap((sizeBytes) =>
        axes.workers.map((workers) => ({ device, direction, kind, sizeBytes, workers })),
      ),
    ),
  ),
);

type State = ClassedCell<Place>["state"];

/** The plan with the state that each place has; null leaves it out. */
const cellsOf = (stateOf: (place: Place) => State | boolean | null): ClassedCell<Place>[] =>
  plan.flatMap((place) => {
    const state = stateOf(place);
    if (state === null) return [];
    return [{ cell: place, place, state: typeof state === "string" ? state : state ? "fails" : "holds" }];
  });

const found = (stateOf: Parameters<typeof cellsOf>[0], most = 9) =>
  findPatterns(cellsOf(stateOf), most).patterns.map(
    ({ description, failing, of }) => `${description}: ${failing.length} of ${of}`,
  );

const onFirst = ({ device }: Place) => device === "d0";
const isPinnedD2h = (place: Place) => onFirst(place) && place.direction === "D2H" && place.kind === "pinned";

describe("the description of cells that fail", () => {
  it.each<[string, (place: Place) => boolean]>([
    ["d0 D2H pinned: 15 of 15", isPinnedD2h],
    ["d0 D2H pinned from 1 MiB on: 9 of 9", (place) => isPinnedD2h(place) && place.sizeBytes >= MiB],
    ["d0 D2H pinned up to 64 KiB: 6 of 6", (place) => isPinnedD2h(place) && place.sizeBytes <= 64 * KiB],
    ["d0 D2H pinned of 4 KiB: 3 of 3", (place) => isPinnedD2h(place) && place.sizeBytes === 4 * KiB],
    [
      "d0 D2H pinned from 64 KiB to 16 MiB: 9 of 9",
      (place) => isPinnedD2h(place) && place.sizeBytes >= 64 * KiB && place.sizeBytes <= 16 * MiB,
    ],
    ["d0 D2H pinned with 8 workers: 5 of 5", (place) => isPinnedD2h(place) && place.workers === 8],
    ["d0 D2H pinned with 1 worker: 5 of 5", (place) => isPinnedD2h(place) && place.workers === 1],
    ["d0 D2H pinned with 2 workers or more: 10 of 10", (place) => isPinnedD2h(place) && place.workers >= 2],
    ["d0 H2D and D2H pinned: 30 of 30", (place) => onFirst(place) && place.kind === "pinned"],
    ["d0 D2H pageable, pinned and staged: 45 of 45", (place) => onFirst(place) && place.direction === "D2H"],
    [
      "d1 H2D and D2H pageable and staged from 16 MiB on with 8 workers: 8 of 8",
      (place) =>
        !onFirst(place) && place.kind !== "pinned" && place.sizeBytes >= 16 * MiB && place.workers === 8,
    ],
    ["d0 and d1 H2D and D2H pageable, pinned and staged: 180 of 180", () => true],
  ])("is %s", (expected, fails) => {
    expect(found(fails)).toEqual([expected]);
  });

  it("does not grow over the cells of another one", () => {
    const fails = ({ direction, sizeBytes }: Place) => direction === "H2D" || sizeBytes === 256 * MiB;
    expect(found((place) => (onFirst(place) && place.kind === "pinned" ? fails(place) : null))).toEqual([
      "d0 H2D pinned: 15 of 15",
      "d0 D2H pinned of 256 MiB: 3 of 3",
    ]);
  });

  it("names no part that all cells share", () => {
    const cells = cellsOf((place) => (isPinnedD2h(place) ? place.sizeBytes >= MiB : null)).map((one) => ({
      ...one,
      place: { ...one.place, device: "" },
    }));
    expect(findPatterns(cells, 9).patterns[0]!.description).toBe("D2H pinned from 1 MiB on");
  });

  it("uses the sizes of its own cells, not those of others", () => {
    const hasSize = (place: Place) => place.kind !== "pinned" || place.sizeBytes >= MiB;
    expect(found((place) => (hasSize(place) ? isPinnedD2h(place) : null))).toEqual(["d0 D2H pinned: 9 of 9"]);
  });
});

describe("patterns", () => {
  it("are several if the cells have nothing in common, the first cell's first", () => {
    const fails = (place: Place) =>
      (isPinnedD2h(place) && place.sizeBytes >= MiB) ||
      (place.device === "d1" && place.kind === "staged" && place.workers === 8);
    const reversed = cellsOf(fails).toReversed();
    expect(found(fails)).toEqual([
      "d0 D2H pinned from 1 MiB on: 9 of 9",
      "d1 H2D and D2H staged with 8 workers: 10 of 10",
    ]);
    expect(findPatterns(reversed, 9).patterns.map(({ of }) => of)).toEqual([10, 9]);
  });

  it("include one passing cell for three failing ones, and count it", () => {
    const isOut = ({ workers, sizeBytes }: Place) => workers === 2 && sizeBytes === 16 * MiB;
    expect(found((place) => isPinnedD2h(place) && !isOut(place))).toEqual(["d0 D2H pinned: 14 of 15"]);
  });

  it("do not include many passing cells to reach a few failing ones", () => {
    const isFar = ({ sizeBytes }: Place) => sizeBytes === 4 * KiB || sizeBytes === 256 * MiB;
    expect(found((place) => isPinnedD2h(place) && isFar(place))).toEqual([
      "d0 D2H pinned of 4 KiB: 3 of 3",
      "d0 D2H pinned of 256 MiB: 3 of 3",
    ]);
  });

  it("include undecided cells, and count them", () => {
    const stateOf = (place: Place) => {
      if (!isPinnedD2h(place)) return "holds";
      return place.workers === 2 ? "open" : "fails";
    };
    expect(found(stateOf)).toEqual(["d0 D2H pinned: 10 of 15"]);
  });

  it("cover as few undecided cells as they can", () => {
    const fails = ({ sizeBytes }: Place) => sizeBytes === 256 * MiB || sizeBytes === MiB;
    const cells = cellsOf((place) =>
      isPinnedD2h(place) && place.workers === 1 ? (fails(place) ? "fails" : "open") : null,
    );
    for (const ordered of [cells, cells.toReversed()])
      expect(findPatterns(ordered, 9).patterns).toMatchObject([
        { description: "d0 D2H pinned from 1 MiB on", of: 3 },
      ]);
  });

  it("are at most as many as asked for, and the cells beyond them are named", () => {
    const isAlone = (place: Place) =>
      place.workers === 1 && place.sizeBytes === MiB && place.direction === "D2H" && place.kind !== "pinned";
    const { patterns, rest } = findPatterns(
      cellsOf((place) => isAlone(place) && onFirst(place) === (place.kind === "staged")),
      1,
    );
    expect(patterns).toHaveLength(1);
    expect(rest).toHaveLength(1);
  });

  it("are none if nothing fails", () => {
    expect(
      findPatterns(
        cellsOf(() => false),
        9,
      ),
    ).toEqual({ patterns: [], rest: [] });
  });
});
