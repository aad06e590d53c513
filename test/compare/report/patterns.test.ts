import { describe, expect, it } from "vitest";
import { type ClassedCell, findPatterns, type Place } from "../../../src/compare/report/patterns.js";
import { frozen } from "../../helpers/frozen.js";
import { KiB, MiB } from "../../helpers/result-document.js";

const plan: Place[] = ["d0", "d1"].flatMap((device) =>
  ["H2D", "D2H"].flatMap((direction) =>
    ["pageable", "pinned", "staged"].flatMap((kind) =>
      [4 * KiB, 64 * KiB, MiB, 16 * MiB, 256 * MiB].flatMap((sizeBytes) =>
        [1, 2, 8].map((workers) => ({ device, direction, kind, sizeBytes, workers })),
      ),
    ),
  ),
);

type State = ClassedCell<Place>["state"] | boolean | null;

/** The plan with the state that each place has: true if it fails, false if it holds; null leaves it out. */
const cellsOf = (stateOf: (place: Place) => State): ClassedCell<Place>[] =>
  frozen(
    plan.flatMap((place) => {
      const state = stateOf(place);
      if (state === null) return [];
      return [{ cell: place, place, state: typeof state === "string" ? state : state ? "fails" : "holds" }];
    }),
  );

const found = (cells: ClassedCell<Place>[]) =>
  findPatterns(cells, 9).patterns.map(
    ({ description, failing, of }) => `${description}: ${failing.length} of ${of}`,
  );

/** Whether a place is one of the pinned copies back from the first device. */
const isBack = ({ device, direction, kind }: Place) =>
  device === "d0" && direction === "D2H" && kind === "pinned";
const ofBack = (fails: (place: Place) => boolean) => (place: Place) => isBack(place) && fails(place);
const onlyBack = (stateOf: (place: Place) => State) => (place: Place) =>
  isBack(place) ? stateOf(place) : null;
const [smallest, largest] = [4 * KiB, 256 * MiB];
const isEnd = ({ sizeBytes }: Pick<Place, "sizeBytes">) => sizeBytes === smallest || sizeBytes === largest;

describe("failing cells are described as", () => {
  it.each<[string[], (place: Place) => State]>([
    [["d0 D2H pinned: 15 of 15"], isBack],
    [["d0 D2H pinned from 1 MiB on: 9 of 9"], ofBack(({ sizeBytes }) => sizeBytes >= MiB)],
    [["d0 D2H pinned up to 64 KiB: 6 of 6"], ofBack(({ sizeBytes }) => sizeBytes <= 64 * KiB)],
    [["d0 D2H pinned of 4 KiB: 3 of 3"], ofBack(({ sizeBytes }) => sizeBytes === smallest)],
    [["d0 D2H pinned from 64 KiB to 16 MiB: 9 of 9"], ofBack(({ sizeBytes }) => !isEnd({ sizeBytes }))],
    [["d0 D2H pinned with 8 workers: 5 of 5"], ofBack(({ workers }) => workers === 8)],
    [["d0 D2H pinned with 1 worker: 5 of 5"], ofBack(({ workers }) => workers === 1)],
    [["d0 D2H pinned with 2 workers or more: 10 of 10"], ofBack(({ workers }) => workers >= 2)],
    [["d0 H2D and D2H pinned: 30 of 30"], ({ device, kind }) => device === "d0" && kind === "pinned"],
    [
      ["d0 D2H pageable, pinned and staged: 45 of 45"],
      ({ device, direction }) => device === "d0" && direction === "D2H",
    ],
    [
      ["d1 H2D and D2H pageable and staged from 16 MiB on with 8 workers: 8 of 8"],
      ({ device, kind, sizeBytes, workers }) =>
        device === "d1" && kind !== "pinned" && sizeBytes >= 16 * MiB && workers === 8,
    ],
    [["d0 and d1 H2D and D2H pageable, pinned and staged: 180 of 180"], () => true],
    // Two that have nothing in common, the first cell's first.
    [
      ["d0 D2H pinned from 1 MiB on: 9 of 9", "d1 H2D and D2H staged with 8 workers: 10 of 10"],
      (place) =>
        (isBack(place) && place.sizeBytes >= MiB) ||
        (place.device === "d1" && place.kind === "staged" && place.workers === 8),
    ],
    // One does not grow over the cells of another.
    [
      ["d0 H2D pinned: 15 of 15", "d0 D2H pinned of 256 MiB: 3 of 3"],
      ({ device, direction, kind, sizeBytes }) =>
        device === "d0" && kind === "pinned" ? direction === "H2D" || sizeBytes === largest : null,
    ],
    // The sizes are those of its own cells.
    [["d0 D2H pinned: 9 of 9"], (at) => (at.kind !== "pinned" || at.sizeBytes >= MiB ? isBack(at) : null)],
    // One passing cell for three failing ones is included, and counted; no more.
    [["d0 D2H pinned: 14 of 15"], ofBack((at) => at.workers !== 2 || at.sizeBytes !== 16 * MiB)],
    [["d0 D2H pinned of 4 KiB: 3 of 3", "d0 D2H pinned of 256 MiB: 3 of 3"], ofBack(isEnd)],
    // Undecided ones are included, and counted.
    [["d0 D2H pinned: 10 of 15"], (place) => isBack(place) && (place.workers === 2 ? "open" : "fails")],
    [[], () => false],
  ])("%j", (expected, stateOf) => {
    expect(found(cellsOf(stateOf))).toEqual(expected);
  });

  it("a pattern without a part that all cells share", () => {
    const cells = cellsOf(onlyBack(({ sizeBytes }) => sizeBytes >= MiB)).map((one) => ({
      ...one,
      place: { ...one.place, device: "" },
    }));
    expect(found(cells)).toEqual(["D2H pinned from 1 MiB on: 9 of 9"]);
  });

  it("one with as few undecided cells as it can have", () => {
    const fails = ({ sizeBytes }: Place) => sizeBytes === largest || sizeBytes === MiB;
    const cells = cellsOf(
      onlyBack((place) => (place.workers !== 1 ? null : fails(place) ? "fails" : "open")),
    );
    for (const ordered of [cells, cells.toReversed()])
      expect(found(ordered)).toEqual(["d0 D2H pinned from 1 MiB on: 2 of 3"]);
  });

  it("at most as many patterns as asked for, and the cells beyond them", () => {
    const isAlone = ({ workers, sizeBytes, device, direction, kind }: Place) =>
      workers === 1 &&
      sizeBytes === MiB &&
      direction === "D2H" &&
      kind === (device === "d0" ? "staged" : "pageable");
    const { patterns, rest } = findPatterns(cellsOf(isAlone), 1);
    expect([patterns.length, rest.length]).toEqual([1, 1]);
  });
});
