import { describe, expect, it } from "vitest";
import { type CellLevels, cellLevels, placesOf } from "../../src/fleet/cell-levels.js";
import { slowOnes, type Test } from "../../src/fleet/slow-ones.js";
import { fleetNodes, keys } from "../helpers/plain-nodes.js";

/** To whom slow figures are assigned, of drops that are given: no noise, and no chance. */

const nodes = fleetNodes([
  [50, 50, 50, 50],
  [50, 50, 50, 50],
]);
const plain = cellLevels(nodes, keys.pinned, placesOf(nodes), 0.05)!;
const least = 0.05;

/** A cell in which the first node's GPUs are below their group by these drops. */
const cell = (drops: readonly number[], more: Partial<CellLevels> = {}): CellLevels => ({
  ...plain,
  gpus: drops.map((drop, device) => ({ node: 0, device, centre: -drop, drop })),
  ...more,
});
const test = (levels: CellLevels, device: number | null, drop: number): Test => {
  const pValue = 0.001;
  return { levels, node: 0, device, centre: -drop, drop, pValue, adjustedPValue: pValue, together: null };
};
/** The tests of single GPUs whose drops are 0.1 or more. */
const testsOf = (levels: CellLevels) =>
  levels.gpus.filter(({ drop }) => drop >= 0.1).map(({ device, drop }) => test(levels, device, drop));
const found = (tests: readonly Test[], ...more: [] | [(test: Test, drop: number) => boolean]) =>
  slowOnes(nodes, tests, least, ...more).map(({ device, cells }) => [device, cells.map(({ drop }) => drop)]);

describe("slow figures are assigned", () => {
  it("to the node if three of four GPUs are, though its own figure is not, each by half of its drop", () => {
    expect(found(testsOf(cell([0.3, 0.3, 0.3, 0])))).toEqual([[null, [0.3]]]);
    expect(found(testsOf(cell([0.2, 0.2, 0.12, 0])))).toEqual([[null, [expect.closeTo(0.16)]]]);
    // Each of the three lost half as much as the node in its middle, and two of them are slow.
    const two = cell([0.2, 0.2, 0.07, 0]);
    expect(found(testsOf(two))).toEqual([
      [0, [0.2]],
      [1, [0.2]],
    ]);
    // The node's own figure shows it, but not of GPUs that are less alike.
    const middle = (levels: CellLevels, drop: number) =>
      found([test(levels, null, drop), ...testsOf(levels)]);
    expect(middle(two, 0.135)).toEqual([
      [0, [0.2]],
      [1, [0.2]],
      [null, [expect.closeTo(0.135)]],
    ]);
    expect(middle(cell([0.2, 0.2, 0.06, 0]), 0.13)).toEqual([
      [0, [0.2]],
      [1, [0.2]],
    ]);
  });

  it("to a GPU only if it is slow beside the others of a node that is itself below its group", () => {
    const beside = (against: CellLevels["against"]) => {
      const asked: number[] = [];
      slowOnes(nodes, testsOf(cell([0.3, 0.3, 0.08, 0], { against })), least, (_, drop) => {
        asked.push(+drop.toFixed(9));
        return true;
      });
      return asked;
    };
    expect(beside("like")).toEqual([0.22, 0.22]);
    // A reference shows a slow GPU whatever its node is.
    expect(beside("reference")).toEqual([0.3, 0.3]);
    expect(found(testsOf(cell([0.3, 0, 0, 0])), (_, drop) => drop > 0.3)).toEqual([]);
  });

  it("to a GPU of a slow node if it is slower by another drop that counts, in that cell or in another", () => {
    const all = testsOf(cell([0.3, 0.3, 0.3, 0.3]));
    const inAnother = (drop: number) => [...all, ...testsOf(cell([drop, 0, 0, 0], { key: "another" }))];
    expect(found(inAnother(0.34))).toEqual([[null, [0.3]]]);
    expect(found(inAnother(0.36))).toEqual([
      [0, [0.36]],
      [null, [0.3]],
    ]);
    expect(found(testsOf(cell([0.3, 0.3, 0.3, 0.34])))).toEqual([[null, [0.3]]]);
    expect(found(testsOf(cell([0.3, 0.3, 0.3, 0.36])))).toEqual([
      [3, [0.36]],
      [null, [0.3]],
    ]);
  });

  it("of cells together to those in which the GPU itself lost half as much, or to the one in which it lost most", () => {
    const together = (...drops: readonly (readonly number[])[]) => {
      const members = drops.map((ofCell, i) => cell(ofCell, { key: `${i}` }));
      return found([test(cell([0.2, 0, 0, 0], { members }), 0, 0.2)]);
    };
    expect(together([0.12, 0, 0, 0], [0.09, 0.5, 0.5, 0.5], [0.3, 0, 0, 0])).toEqual([[0, [0.3, 0.12]]]);
    expect(together([0.08, 0, 0, 0], [0.09, 0, 0, 0])).toEqual([[0, [0.09]]]);
  });
});
