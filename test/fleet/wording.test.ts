import { describe, expect, it } from "vitest";
import { type CellLevels, cellLevels, placesOf } from "../../src/fleet/cell-levels.js";
import type { FleetGroupCell } from "../../src/fleet/fleet-document.js";
import * as wording from "../../src/fleet/fleet-wording.js";
import { kindOf } from "../../src/fleet/node-figures.js";
import { fleetNode, fleetNodes, type GpuFigures, keys } from "../helpers/plain-nodes.js";

/** Sentences of a fleet document, whose figures are given one by one. */

const plain = "h2d/pinned/67108864/w1/throughput/cold";

it.each([
  ["h2d/pinned/67108864/w4/throughput/cold", "h2d pinned 64 MiB by 4 workers"],
  ["h2d/pinned/4096/w1/latency/cold", "h2d pinned 4 KiB latency"],
  ["d2d/device/67108864/w1/throughput/cold", "d2d 64 MiB"],
  ["bidir/pinned/67108864/w1/throughput/cold", "d2h of both directions pinned 64 MiB"],
  [`${plain}/together-0-1-3`, "h2d pinned 64 MiB with 3 GPUs together"],
  ["p2p/device/67108864/w1/throughput/cold/to-1/read", "p2p 64 MiB to GPU 1 (read)"],
  [`${plain}/beside-compute`, "h2d pinned 64 MiB beside compute"],
  [`${plain}/blocks-4096-kernel`, "h2d pinned 64 MiB in blocks of 4 KiB (kernel)"],
  [`${plain}/chunks-4`, "h2d pinned 64 MiB in 4 chunks"],
  [`${plain}/cpus-0-memory-1`, "h2d pinned 64 MiB with memory of node 1 and CPUs of node 0"],
])("the cell %s is called %s", (cell, name) => {
  expect(wording.cellText({ cell, moved: "d2h" })).toBe(name);
});

it("an outlier has its slow cells counted among its GPU's own, or those of its node", () => {
  const node = fleetNode("n1", [{ pinned: 50 }, { pinned: 25, back: 40, latency: 4 }]);
  const slow = (key: string, change: number) => {
    return { ...kindOf(key), figure: 50 * (1 + change), centre: 50, change, adjustedPValue: 0 };
  };
  const cells = [slow(keys.pinned, -0.4508), slow(keys.back, -0.2)];
  expect(wording.outlier(node, node.devices[1]!, cells, null)).toBe(
    "n1's GPU 1 is 45 % slower, in 2 of 3 cells; most of all h2d pinned 64 MiB: 27.5 instead of 50 GB/s.",
  );
});

describe("too few nodes", () => {
  const of = (
    figures: readonly GpuFigures[][],
    leastLosses: readonly (number | null)[],
    inAllCells = 0.9,
  ) => {
    const cells = [keys.pinned, keys.back].slice(0, leastLosses.length).map((key, i) => {
      return { ...kindOf(key), leastLoss: leastLosses[i]! };
    });
    const found = [{ memory: "pinned", cells: 2, inOneCell: 0.5, inAllCells, belowReference: null }];
    return wording.tooFew(fleetNodes(figures), cells as FleetGroupCell[], found);
  };
  const two = "2 nodes of this kind are too few to find which is slow";

  it("to tell which is slow are compared by the means of their GPUs, in the cell in which they differ most", () => {
    expect(of([[50], [50]], [null])).toBe(`${two}: they are as fast as each other.`);
    expect(
      of(
        [
          [50, 30],
          [40, 40],
        ],
        [null],
      ),
    ).toBe(`${two}: they are as fast as each other.`);
    const pair = [[{ pinned: 50, back: 20 }], [{ pinned: 45, back: 40 }]];
    expect(of(pair, [null, null])).toBe(`${two}: n00 is 50 % slower than n01 in d2h pinned 64 MiB.`);
    const apart = "; one node does not show whether a slower GPU has a fault or is slower by design.";
    expect(of([[50, 50, 50]], [0.2])).toMatch(
      new RegExp(`^1 node .* Its GPUs are .* 20 % in h2d pinned 64 MiB${apart}$`),
    );
    expect(
      of(
        [
          [50, 50],
          [50, 50],
        ],
        [0.2],
      ),
    ).toMatch(/ Their GPUs are compared with one another: .* pinned 64 MiB\.$/);
    expect(of([[50]], [null])).toBe("1 node of this kind is too few to find which is slow.");
  });

  it("find a loss from the least one of a cell on, and from less only if all cells show it", () => {
    const three = [[50], [50], [50]];
    const few = "3 nodes of this kind are few: a GPU counts as slow only if it loses";
    const range = "30 % in d2h pinned 64 MiB, and up to 50 % in h2d pinned 64 MiB";
    expect(of(three, [0.5, 0.3], 0.4)).toBe(`${few} ${range}.`);
    expect(of(three, [0.5, 0.3], 0.2)).toBe(`${few} ${range}; or 20 % in all 2 pinned cells.`);
    expect(of(three, [0.5])).toBe(`${few} 50 % in h2d pinned 64 MiB.`);
  });
});

describe("a loss that may be noise", () => {
  const nodes = fleetNodes([[50], [50], [50], [50], [50]]);
  const levels = cellLevels(nodes, keys.pinned, placesOf(nodes), 0.05)!;
  const one = (node: number, isAgain = false, device: number | null = 0) => {
    const cell = { levels, centre: 0, drop: Math.log(2), adjustedPValue: 1, together: null };
    return { node, device, isAgain, cells: [cell] };
  };

  it("is told of the first node, with the names of the others, apart if it was measured again", () => {
    const ones = [one(0), one(3, true), one(0), one(1), one(2), one(4, true)];
    const vary = "such figures vary by ±\\S+ %";
    expect(wording.unclear(ones, nodes)).toEqual([
      expect.stringMatching(
        `^n00's GPU 0 is 50 % slower .*, which may be noise: ${vary}\\. Measure it again, and so n01 and n02\\.$`,
      ),
      expect.stringMatching(
        `^n03's GPU 0 .*: ${vary}\\. More nodes like it are needed to tell, and so for n04\\.$`,
      ),
    ]);
  });

  it("is that of a GPU, or of the node as a whole", () => {
    const loss = "is 50 % slower than similar ones in h2d pinned 64 MiB, which may be noise";
    expect(wording.unclearLoss(one(0), nodes)).toBe(`GPU 0 ${loss}`);
    expect(wording.unclearLoss(one(0, false, null), nodes)).toBe(`it ${loss}`);
  });
});

it("as many slow nodes as fast ones are below healthy machines only if each is named", () => {
  const nodes = fleetNodes([[25], [50], [24], [50]]);
  const levels = cellLevels(nodes, keys.pinned, placesOf(nodes), 0.05)!;
  const part = (...named: number[]) => wording.slowPart(levels, nodes, new Set(named));
  expect(part(0, 2)).toMatchObject({
    hosts: ["n00", "n02"],
    reason: expect.stringMatching(/\. The slow ones are below the rates of healthy machines\.$/),
  });
  expect(part(2)!.reason).toMatch(/\. Their figures do not show which part is healthy\.$/);
});

describe("places whose GPUs differ", () => {
  const place = (change: number, changed = 8) => ({ change, changed, gpus: 8 });
  const cellWith = (places: Record<string, ReturnType<typeof place>>) =>
    ({ kind: kindOf(keys.pinned), oddPlaces: new Map(Object.entries(places)) }) as unknown as CellLevels;
  const changesOf = (...cells: Record<string, ReturnType<typeof place>>[]) =>
    wording.oddPlaces(cells.map(cellWith)).map((one) => [one.place, +one.change.toFixed(6)]);

  it("are as slow as they are beside the fastest, which are no finding then", () => {
    expect(changesOf({ a: place(-0.2), b: place(0.1) })).toEqual([["a", -0.3]]);
    expect(changesOf({ b: place(0.1) })).toEqual([["b", 0.1]]);
  });

  it("are told once each, of the cell with the largest difference", () => {
    for (const cells of [
      [{ a: place(-0.2), b: place(-0.1) }, { a: place(-0.1) }],
      [{ a: place(-0.1), b: place(-0.1) }, { a: place(-0.2) }],
    ]) {
      expect(changesOf(...cells)).toEqual([
        ["a", -0.2],
        ["b", -0.1],
      ]);
    }
  });

  it("are called by their number or address, with the nodes that have them so", () => {
    const text = (name: string, changed: number) => {
      const [one] = wording.oddPlaces([cellWith({ [name]: place(-Math.log(2), changed) })]);
      return wording.oddPlaceText(one!, false);
    };
    expect(text("GPU 2", 7)).toMatch(/^On 7 of 8 nodes GPU 2 is 50 % slower than others in h2d pinned/);
    expect(text("0000:30:00.0", 8)).toMatch(/^On all 8 nodes the GPU at 0000:30:00\.0 is 50 % slower/);
  });
});

it("a node lacks no GPUs that nobody asked to measure", () => {
  const node = fleetNode("n1", [50]);
  const lacks = ["it has 1 GPU, and some similar nodes have 8"];
  expect([node, { ...node, choseDevices: true }].map((one) => wording.lacking(one, [], 8))).toEqual([
    lacks,
    [],
  ]);
});
