import { describe, expect, it } from "vitest";
import { cellLevels, type KnownOf, placesOf } from "../../src/fleet/cell-levels.js";
import { kindsTogether } from "../../src/fleet/cells-together.js";
import type { NodeFigures } from "../../src/fleet/node-figures.js";
import { fleetNode, fleetNodes, keys } from "../helpers/plain-nodes.js";

/** Figures without noise, whose levels can be computed by hand. */

const levelsOf = (nodes: readonly NodeFigures[], knownOf?: KnownOf, key = keys.pinned, threshold = 0.05) =>
  cellLevels(nodes, key, placesOf(nodes), threshold, knownOf)!;
const alone = (...figures: number[]) => fleetNodes(figures.map((figure) => [figure]));
const many = (count: number, figure: number) => Array.from({ length: count }, () => figure);
const ln = Math.log;
const near = (...values: number[]) => values.map((value) => expect.closeTo(value, 10));
const dropsOf = ({ gpus }: ReturnType<typeof levelsOf>) => gpus.map(({ drop }) => drop);

describe("a cell's levels", () => {
  it("of three cells together leave out a smaller slow part that any of them shows", () => {
    const together = (figures: readonly number[], more: object = {}, count = 3) => {
      const levels = { ...levelsOf(alone(...figures)), ...more };
      // Not in the first one.
      return kindsTogether([{ ...levels, parts: null }, levels, levels].slice(0, count), ["a GPU"])[0];
    };
    const fast = [50, 50.2, 49.9, 50.1];
    const smaller = together([...fast, 40, 40.1])!;
    expect(smaller.shown.map(({ node }) => node)).toEqual([0, 1, 2, 3]);
    // Each node has one GPU.
    expect(smaller.nodeNoise).toEqual(smaller.gpuNoise);
    expect(together([...fast, 40, 40.1, 40.2, 40.3])!.shown).toHaveLength(8);
    const wider = together(fast, { wider: { factor: 99, degreesOfFreedom: 2 } })!;
    expect(wider.gpuNoise.betweenMachines.degreesOfFreedom).toBe(2);
    expect(together(fast, {}, 2)).toBeUndefined();
  });

  it("leave out GPUs without a figure, and are none if nobody has one", () => {
    const nodes = fleetNodes([[50, 0], [{}], [{ pageable: 9 }, 55], [60]]);
    expect(levelsOf(nodes).gpus.map(({ node, device }) => [node, device])).toEqual([
      [0, 0],
      [2, 1],
      [3, 0],
    ]);
    expect(cellLevels(fleetNodes([[{}]]), keys.pinned, placesOf(nodes), 0.05)).toBeNull();
  });

  it("hold each GPU against those of its model", () => {
    const model = (name: string, figure: number, i: number) =>
      fleetNode(`${name}${i}`, [figure], {}, () => ({ name }));
    const nodes = [50, 50, 50, 50].map((figure, i) => model("A", figure, i));
    const others = [40, 40, 30].map((figure, i) => model("B", figure, i));
    const levels = levelsOf([...nodes, ...others]);
    expect(dropsOf(levels)).toEqual(near(0, 0, 0, 0, 0, 0, ln(4 / 3)));
    expect(levels.gpus.map(({ centre }) => centre)).toEqual(near(...many(4, ln(50)), ...many(3, ln(40))));
    // Of a model all of whose GPUs are ill, their own median is what there is.
    const knownOf: KnownOf = (node) => (node > 3 ? { speed: ln(100), tolerated: 0 } : null);
    expect(dropsOf(levelsOf([...nodes, ...others], knownOf)).slice(4)).toEqual(near(0, 0, ln(4 / 3)));
    // Of one with a healthy GPU, that is what the ill ones are compared with.
    const two = [...nodes, ...[40, 30, 30].map((figure, i) => model("B", figure, i))];
    const ofB: KnownOf = (node) => (node > 3 ? { speed: ln(40), tolerated: 0 } : null);
    expect(dropsOf(levelsOf(two, ofB)).slice(4)).toEqual(near(0, ln(4 / 3), ln(4 / 3)));
    // Nor have these a part in the centre of all.
    expect(levelsOf(two.slice(2), (node) => ofB(node + 2, 0, "")).centre).toBeCloseTo(ln(50));
  });
});

describe("GPUs that are slow by what is known of their kind", () => {
  const known =
    (speed: number, tolerated: number): KnownOf =>
    () => ({ speed: ln(speed), tolerated });

  it("have no part in the centre, and in the noise", () => {
    const levels = levelsOf(alone(50, 45, 45), known(50, 0));
    expect(levels.centre).toBeCloseTo(ln(50));
    expect(dropsOf(levels)).toEqual(near(0, ln(50 / 45), ln(50 / 45)));
    expect(levels.residuals).toEqual(near(0));
    expect(levels.spare).toBe(0);
  });

  it("are those below the tolerance, or below the threshold if that is more", () => {
    expect(levelsOf(alone(50, 45, 45), known(50, 0.11)).centre).toBeCloseTo(ln(45));
    expect(levelsOf(alone(50, 48, 48), known(50, 0.01)).centre).toBeCloseTo(ln(48));
    expect(levelsOf(alone(50, 47.4, 47.4), known(50, 0.01)).centre).toBeCloseTo(ln(50));
  });
});

describe("two parts of the nodes", () => {
  it("are a smaller slow one, held against the fast one", () => {
    const levels = levelsOf(alone(...many(3, 40), ...many(5, 50)));
    expect(levels.parts).toEqual({
      slow: [0, 1, 2],
      fast: [3, 4, 5, 6, 7],
      slowCentre: expect.closeTo(ln(40)),
      fastCentre: expect.closeTo(ln(50)),
    });
    expect(levels.centre).toBeCloseTo(ln(50));
    expect(dropsOf(levels)).toEqual(near(...many(3, ln(5 / 4)), ...many(5, 0)));
    expect(levels.residuals).toEqual(near(...many(5, 0)));
    expect(levels.spare).toBe(4);
    const fast = [50, 50.5, 49.5, 50.2, 49.8];
    const { nodeNoise } = levelsOf(alone(...many(3, 40), ...fast));
    expect(nodeNoise).toEqual(levelsOf(alone(...fast)).nodeNoise);
  });

  it("are each held against itself, if as many are slow as fast", () => {
    const levels = levelsOf(alone(40, 40, 39, 40, 50, 50, 50, 48));
    expect(levels.parts!.slow).toEqual([2, 0, 1, 3]);
    expect(levels.centre).toBeCloseTo(ln(50));
    expect(dropsOf(levels)).toEqual(near(0, 0, ln(40 / 39), 0, 0, 0, 0, ln(50 / 48)));
    expect(levels.residuals).toHaveLength(8);
    expect(levels.spare).toBe(6);
  });

  it.each<[string, number[], number[] | null]>([
    ["none of one slow node of eight", [40, ...many(7, 50)], null],
    ["two slow ones of eight", [40, 40, ...many(6, 50)], [0, 1]],
    ["none of less than a quarter", [...many(2, 40), ...many(10, 50)], null],
    ["a quarter", [...many(3, 40), ...many(9, 50)], [0, 1, 2]],
    ["none of a single fast one of twenty", [...many(19, 40), 80], null],
    ["all but a tenth", [...many(18, 40), 80, 80], many(18, 0).map((_, node) => node)],
    ["none of two that are apart by less than a quarter", [50, 38], null],
    ["one of two", [50, 37], [1]],
    ["none of three that are apart by less than a quarter", [38, 38, 50], null],
    ["two of three", [37, 37, 50], [0, 1]],
    ["none beside a single fast one that is apart by less", [...many(5, 38), 50], null],
    ["five of six", [...many(5, 37), 50], [0, 1, 2, 3, 4]],
    ["half of many that are apart by a twelfth", [...many(4, 46), ...many(4, 50)], [0, 1, 2, 3]],
    ["none that are apart by less than the threshold", [...many(4, 48), ...many(4, 50)], null],
    ["none of those whose own figures spread as much", [30, 34, 38, 42, 46, 50, 54, 58], null],
  ])("are %s", (_, figures, slow) => {
    expect(levelsOf(alone(...figures)).parts?.slow ?? null).toEqual(slow);
    expect(levelsOf(alone(...figures), undefined, keys.pinned, 0.6).parts).toBeNull();
  });
});

describe("places whose GPUs lie elsewhere", () => {
  const placed = (nodes: number, gpusOf: (node: number) => number[]) =>
    levelsOf(fleetNodes(Array.from({ length: nodes }, (_, node) => gpusOf(node))));
  const third = "0000:30:00.0";

  it("are reported with their loss and number of nodes, and each GPU is compared with its place", () => {
    const levels = placed(6, () => [50, 50, 40]);
    expect([...levels.oddPlaces]).toEqual([
      [third, { change: expect.closeTo(ln(4 / 5)), changed: 6, gpus: 6 }],
    ]);
    expect(levels.centre).toBeCloseTo(ln(50));
    expect(dropsOf(levels)).toEqual(near(...many(18, 0)));
    const faster = placed(6, () => [50, 50, 60]);
    expect(faster.oddPlaces.get(third)).toEqual({ change: expect.closeTo(ln(6 / 5)), changed: 6, gpus: 6 });
  });

  it("leave the median of all others for a centre", () => {
    const levels = placed(6, () => [50, 50.4, 40]);
    expect(levels.centre).toBeCloseTo((ln(50) + ln(50.4)) / 2, 10);
  });

  it("differ by half of the threshold at least", () => {
    expect(placed(6, () => [50, 50, 48.5]).oddPlaces.size).toBe(1);
    expect(placed(6, () => [50, 50, 49]).oddPlaces.size).toBe(0);
  });

  it("of few nodes differ by as much as the nearest GPU, if all lie on one side", () => {
    const change = (...there: number[]) =>
      placed(there.length, (node) => [50, 50, there[node]!]).oddPlaces.get(third)?.change ?? null;
    expect(change(40, 41, 42, 43)).toBeCloseTo(ln(43 / 50));
    expect(change(60, 61, 62, 63)).toBeCloseTo(ln(60 / 50));
    expect(change(40, 40, 51)).toBeNull();
    expect(change(40)).toBeNull();
    expect(change(40, 40)).toBeCloseTo(ln(4 / 5));
    // With five there, their median is the place's.
    expect(change(40, 41, 42, 43, 44)).toBeCloseTo(ln(42 / 50));
  });

  it("are known if five nodes have a GPU there, or as many as at any place", () => {
    const levels = (with3: number) => placed(7, (node) => (node < with3 ? [50, 50, 40] : [50, 50]));
    expect(levels(5).oddPlaces.size).toBe(1);
    expect(levels(4).oddPlaces.size).toBe(0);
    expect(levels(4).gpus[2]!.drop).toBeCloseTo(ln(5 / 4));
  });
});

describe("places whose GPUs are slower on most nodes, of noisy pageable copies", () => {
  /** Nodes with four GPUs, of which the last has this many times the rate; `spread` is their range of log rates. */
  const oddPlaces = (times: number, { count = 12, spread = 0 } = {}) => {
    const nodes = Array.from({ length: count }, (_, node) =>
      [1, 1, 1, times].map((one, gpu) => {
        // In another order at each place, about none.
        const rank = ((7 * node + 11 * gpu) % count) - (count - 1) / 2;
        return { pageable: 10 * one * Math.exp((spread * rank) / count) };
      }),
    );
    return [...levelsOf(fleetNodes(nodes), undefined, keys.pageable).oddPlaces.keys()];
  };

  it.each([
    ["far more than such copies differ by", 0.7, {}, ["0000:40:00.0"]],
    ["not of less than five errors of the place's median", 0.94, {}, []],
    ["not of less than five errors of a noisy one's", 0.875, { count: 40, spread: 0.4 }, []],
    [
      "of more, which falls with the root of the number of GPUs",
      0.8,
      { count: 40, spread: 0.4 },
      ["0000:40:00.0"],
    ],
  ])("are built so %s", (_, times, noise, places) => {
    expect(oddPlaces(times, noise)).toEqual(places);
  });
});

describe("the name of a place", () => {
  const placesIn = (...addresses: (string | null)[][]) => {
    const nodes = addresses.map((ofNode, i) =>
      fleetNode(
        `n${i}`,
        ofNode.map(() => 50),
        {},
        (gpu) => ({ pciBusId: ofNode[gpu]!, ordinal: gpu + 4 }),
      ),
    );
    const placeOf = placesOf(nodes);
    return nodes.flatMap(({ devices }, node) => devices.map((_, device) => placeOf(node, device)));
  };

  it("is an address if there are at most twice as many as a machine has GPUs, of the machine with most", () => {
    expect(placesIn(["a", "b"], ["c", "d"])).toEqual(["a", "b", "c", "d"]);
    expect(placesIn(["a", "b"], ["c", "d"], ["e"])).toEqual(["GPU 4", "GPU 5", "GPU 4", "GPU 5", "GPU 4"]);
    expect(placesIn(["a"], ["b", "c"], ["d"])).toEqual(["a", "b", "c", "d"]);
    expect(placesIn(["a", null])).toEqual(["GPU 4", "GPU 5"]);
    expect(placesIn(["a", "b"], ["a", "z"], ["b"])).toEqual(["a", "b", "a", "z", "b"]);
  });
});
