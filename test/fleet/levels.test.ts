import { describe, expect, it } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import type { Cell } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import type { Memory } from "../../src/settings/choices.js";
import { judged, type NodePart, nodeResult, nodeResults, pinnedAt } from "../helpers/node-results.js";
import { buildCell, MiB } from "../helpers/result-document.js";

/** Fleets that are small, built alike, or ill together. */

const recorded = () => ({ h2d: 55, d2h: 55, together: null, tolerance: 0.05, source: "recordings" });
const named = ({ outliers }: FleetDocument) => outliers.map(({ host, device }) => `${host} ${device}`).sort();
const sentences = ({ groups }: FleetDocument) =>
  groups.flatMap(({ slowPart, slowAsAWhole, slowPlaces, notes, tooFew }) => [
    slowPart?.reason ?? "",
    slowAsAWhole ?? "",
    ...slowPlaces.map(({ reason }) => reason),
    ...notes,
    tooFew ?? "",
  ]);
const host = (node: number) => `n${String(node).padStart(2, "0")}`;
const partsOf = (count: number, partOf: (node: number) => NodePart) =>
  nodeResults(
    count,
    Object.fromEntries(Array.from({ length: count }, (_, node) => [host(node), partOf(node)])),
  );

describe("two nodes, one at half rate", () => {
  const results = partsOf(2, (node) => ({ gpus: 4, speed: pinnedAt(node === 1 ? 0.5 : 1) }));

  it("have it named, if their kind is known", () => {
    const fleet = judged(results, { referenceOf: recorded });
    expect(named(fleet)).toEqual(["n01 null"]);
    expect(sentences(fleet).join()).not.toContain("GPUs are slow");
  });

  it("are two parts, if it is not; no rate is reported that no GPU has", () => {
    const fleet = judged(results);
    expect(named(fleet)).toEqual([]);
    expect(fleet.groups[0]!.slowPart!.hosts).toEqual(["n01"]);
    expect(fleet.groups[0]!.cells[0]!.centre).toBeGreaterThan(54);
  });

  it("are not called slow together by the reference of other kinds", () => {
    const referenceOf = () => ({ ...recorded(), isOfKind: false as const });
    const fleet = judged(results, { referenceOf });
    expect(named(fleet)).toEqual([]);
    expect(sentences(fleet).join()).not.toContain("GPUs are slow");
  });
});

describe("a node that is faster than what is known of its kind, beside others that are not", () => {
  // Behind links that can carry so much.
  const link = { generation: 6, width: 16, maxGeneration: 6, maxWidth: 16 };
  const results = partsOf(8, (node) => ({
    gpus: 1,
    speed: pinnedAt(node === 1 ? 1.6 : node === 2 ? 0.9 : 1),
    device: () => ({ link: { ...link, smClockMHz: null, memoryClockMHz: null } }),
  }));

  it("makes no slow part of the others, if these are what is known of their kind", () => {
    expect(judged(results, { referenceOf: recorded }).groups[0]!.slowPart).toBeNull();
  });

  it("makes them a part, if nothing is known", () => {
    expect(judged(results).groups[0]!.slowPart!.hosts).toHaveLength(7);
  });
});

it("two levels that are both within what is known of their kind are parts, of which none is faster than all it should be", () => {
  const results = partsOf(8, (node) => ({ gpus: 1, speed: pinnedAt(node < 4 ? 0.96 : 1.04) }));
  const { slowPart } = judged(results, { referenceOf: recorded }).groups[0]!;
  expect(slowPart!.hosts).toEqual([0, 1, 2, 3].map(host));
});

describe("one GPU that is left beside a slow one, with nothing to show the noise of its figures", () => {
  const two = (speed: number) =>
    judged(
      partsOf(2, (node) => ({ gpus: 1, speed: pinnedAt(node === 1 ? 0.5 : speed) })),
      { referenceOf: recorded },
    );

  it("is not called slow for a loss that may be noise: the report says that it cannot tell", () => {
    const fleet = two(0.9);
    expect(named(fleet)).toEqual(["n01 0"]);
    expect(fleet.groups[0]!.slowAsAWhole).toBeNull();
    expect(fleet.doubts[0]).toMatch(
      /^n00's GPU 0 is (9\.\d|10) % below healthy machines in h2d pinned 64 MiB, which may be noise: no similar healthy GPU shows how much such figures vary\. Measure it again\.$/,
    );
    expect(fleet.suspects).toEqual(["n01", "n00"]);
  });

  it("is named if a fresh process finds it slow again", () => {
    const results = partsOf(2, (node) => ({ gpus: 1, speed: pinnedAt(node === 1 ? 0.5 : 0.9) }));
    const again = (speed: number) => [
      figuresOfNode(nodeResult("n00", { gpus: 1, seed: 99, speed: pinnedAt(speed) }), null),
    ];
    const fleet = (speed: number) => judged(results, { referenceOf: recorded, fresh: again(speed) });
    expect(named(fleet(0.9))).toEqual(["n00 0", "n01 0"]);
    expect(named(fleet(1))).toEqual(["n01 0"]);
    // A loss below the threshold is none, however clear it is.
    expect(named(fleet(0.96))).toEqual(["n01 0"]);
  });

  it("is healthy if it is fast, and slow if it lost as much as no noise takes", () => {
    const healthy = two(1);
    expect(named(healthy)).toEqual(["n01 0"]);
    expect(healthy.doubts).toEqual([]);
    expect(named(two(0.7))).toEqual(["n00 0", "n01 0"]);
  });

  it("is said to be found from the loss on at which it is", () => {
    const belowReference = (speed: number) =>
      two(speed).groups[0]!.found.find(({ memory }) => memory === "pinned")!.belowReference!;
    expect(belowReference(1)).toBeGreaterThan(0.25);
    expect(belowReference(1)).toBeLessThan(0.35);
  });

  it("has the noise that another healthy one shows", () => {
    const speed = (node: number) => pinnedAt([1, 0.5, 0.9, 1][node]!);
    const fleet = judged(
      partsOf(4, (node) => ({ gpus: 1, speed: speed(node) })),
      { referenceOf: recorded },
    );
    expect(named(fleet)).toEqual(["n01 0", "n02 0"]);
  });
});

it("of eight nodes all that are at half rate are named, though they are most, if their kind is known", () => {
  const results = partsOf(8, (node) => ({ speed: pinnedAt(node < 6 ? 0.5 : 1) }));
  expect(named(judged(results, { referenceOf: recorded }))).toEqual(
    [0, 1, 2, 3, 4, 5].map((n) => `n0${n} null`),
  );
  const { outliers, groups } = judged(results);
  expect(outliers).toEqual([]);
  expect(groups[0]!.slowPart!.hosts).toHaveLength(6);
});

describe("one slot at half rate", () => {
  const slot5 = (nodes: number, slow: number) =>
    partsOf(nodes, (node) => ({ gpus: 8, speed: pinnedAt(node < slow ? 0.5 : 1, 5) }));

  it.each([
    ["known", recorded],
    ["not known", null],
  ])("in all six nodes is a finding of its own, their kind being %s", (_, referenceOf) => {
    const fleet = judged(slot5(6, 6), { referenceOf });
    expect(fleet.groups[0]!.slowPlaces).toMatchObject([{ place: "0000:60:00.0", nodes: 6, of: 6 }]);
    expect(sentences(fleet).join()).toMatch(/Slot 5 \(0000:60:00\.0\) is slow in all 6 nodes: 50( to 51)? %/);
    expect(sentences(fleet).join()).not.toContain("so they are built");
  });

  it.each([
    ["known", recorded],
    ["not known", null],
  ])("in 4 of 8 nodes is 50 %% and not 30 %% slower, their kind being %s", (_, referenceOf) => {
    const fleet = judged(slot5(8, 4), { referenceOf });
    expect(named(fleet)).toEqual([0, 1, 2, 3].map((node) => `n0${node} 5`));
    expect(sentences(fleet).join()).toMatch(/Slot 5 \(0000:60:00\.0\) is slow in 4 of 8 nodes: 50 % slower/);
  });
});

it("slots whose GPUs are all named are not said to be perhaps so by design", () => {
  const slow = (gpu: number) => (gpu >= 4 ? 0.7 : 1);
  const together = Array.from({ length: 8 }, (_, gpu) => gpu);
  const results = partsOf(4, () => ({ gpus: 8, speed: (gpu, cell) => pinnedAt(slow(gpu))(gpu, cell) })).map(
    (result, node) => ({
      ...result,
      cells: [
        ...result.cells,
        ...together.map((device) =>
          buildCell({ device, sizeBytes: 64 * MiB, together, GBps: 50 * slow(device) * (1 + 1e-4 * node) }),
        ),
      ],
    }),
  );
  const reasons = (referenceOf: typeof recorded | null) =>
    judged(results, { referenceOf }).groups[0]!.slowPlaces.map(({ reason }) => reason);
  expect(reasons(recorded)).toHaveLength(4);
  for (const reason of reasons(recorded))
    expect(reason).toMatch(/ slow in all 4 nodes: .* Each is named as slow\.$/);
  for (const reason of reasons(null)) expect(reason).toContain("do not show whether this is by design");
});

describe("a slot that several slow GPUs are in", () => {
  const slowAt = (nodes: number, places: readonly string[], gpus = 8) =>
    judged(
      partsOf(nodes, (node) => ({
        gpus,
        speed: (gpu, cell) => pinnedAt(places.includes(`${node} ${gpu}`) ? 0.5 : 1)(gpu, cell),
      })),
    ).groups[0]!.slowPlaces;

  it("is no finding if chance puts two of two there now and then", () => {
    expect(slowAt(8, ["1 5", "6 5"])).toEqual([]);
  });

  it("is one with four of eight nodes, and with three if one of four lies elsewhere is none", () => {
    const [first, ...others] = ["1 5", "3 5", "6 5", "7 5"];
    expect(slowAt(8, [first!, ...others])).toMatchObject([{ place: "0000:60:00.0", nodes: 4, of: 8 }]);
    expect(slowAt(8, ["1 2", ...others])).toEqual([]);
  });

  it("is none of nodes with one slot", () => {
    expect(slowAt(12, ["1 0", "3 0", "6 0", "7 0"], 1)).toEqual([]);
  });
});

describe("machines whose GPUs lie on two levels by their place", () => {
  const built = (gpu: number) => (gpu < 4 ? 1 : 0.7);
  it.each([2, 3, 4])("have one that is 30 %% slower yet found in %d nodes", (count) => {
    for (const slow of [1, 6]) {
      const speed = (node: number) => (gpu: number, cell: Parameters<ReturnType<typeof pinnedAt>>[1]) =>
        pinnedAt(built(gpu) * (node === 1 && gpu === slow ? 0.7 : 1))(gpu, cell);
      const fleet = judged(partsOf(count, (node) => ({ gpus: 8, speed: speed(node) })));
      expect(named(fleet)).toEqual([`n01 ${slow}`]);
      expect(fleet.outliers[0]!.cells[0]!.change).toBeCloseTo(-0.3, 1);
      expect(fleet.groups[0]!.slowPart).toBeNull();
    }
  });
});

describe("a small loss in all cells", () => {
  /** Each GPU with 30 pinned cells, that vary by so much. */
  const manyCells = (
    name: string,
    speed: number,
    {
      gpus = 4,
      memories = ["pageable"],
      spread = 0.01,
    }: { gpus?: number; memories?: Memory[]; spread?: number } = {},
  ): ResultDocument => {
    const result = nodeResult(name, { gpus });
    const random = (gpu: number, cell: number) =>
      Math.sin(12.9898 * (gpu + 7 * cell) + 78.233 * Number(name.slice(1)));
    const cells = result.devices.flatMap(({ ordinal }) =>
      memories.flatMap((memory, kind) =>
        Array.from({ length: 30 }, (_, cell) =>
          buildCell({
            device: ordinal,
            sizeBytes: (cell + 32) * MiB,
            memory,
            GBps: 10 * speed * (1 + spread * random(ordinal, cell + 31 * kind)),
          }),
        ),
      ),
    );
    return { ...result, cells };
  };
  const fleet = (slow: number) => Array.from({ length: 6 }, (_, n) => manyCells(host(n), n === 2 ? slow : 1));

  it("is found, though no cell shows it by itself", () => {
    const { outliers } = judged(fleet(0.85));
    expect(outliers.map(({ host, device }) => [host, device])).toEqual([["n02", null]]);
    expect(outliers[0]!.cells).toHaveLength(30);
    const oneCell = fleet(0.85).map((result) => ({
      ...result,
      cells: result.cells.filter(({ sizeBytes }) => sizeBytes === 40 * MiB),
    }));
    expect(judged(oneCell).outliers).toEqual([]);
  });

  it("of 6 % in all 60 pinned and staged cells of one of four nodes is found, with a spread of 0.5 %", () => {
    const results = Array.from({ length: 4 }, (_, n) =>
      manyCells(host(n), n === 2 ? 0.94 : 1, { gpus: 1, memories: ["pinned", "staged"], spread: 0.005 }),
    );
    const { outliers } = judged(results);
    expect(outliers.map(({ host, device }) => [host, device])).toEqual([["n02", 0]]);
    expect(outliers[0]!.reason).toMatch(/^n02's GPU 0 is (5\.\d|6(\.\d)?) % slower over all 30 pinned cells/);
  });

  it("of 3 % is found with --threshold 2%, and not with 5 %", () => {
    const results = Array.from({ length: 8 }, (_, n) =>
      manyCells(host(n), n === 2 ? 0.97 : 1, { memories: ["pinned"], spread: 0.002 }),
    );
    expect(judged(results).outliers).toEqual([]);
    const finer = judged(results, { rule: { significance: 0.01, threshold: 0.02 } });
    expect(finer.outliers.map(({ host, device }) => [host, device])).toEqual([["n02", null]]);
  });

  it("is none if all are healthy, or if only single cells are slow", () => {
    expect(judged(fleet(1)).outliers).toEqual([]);
  });

  it("is counted in the cells that have lost it, and not in others", () => {
    const results = fleet(1);
    const isSlow = ({ device, sizeBytes }: Cell) => device === 1 && sizeBytes >= 40 * MiB;
    results[2]!.cells = results[2]!.cells.map((cell, i) =>
      isSlow(cell) ? buildCell({ ...cell, GBps: 7 + 0.01 * (i % 3) }) : cell,
    );
    const [one] = judged(results).outliers;
    expect(one).toMatchObject({ host: "n02", device: 1 });
    expect(one!.cells).toHaveLength(22);
  });

  it("is confirmed by all cells of a fresh process, and cleared by them", () => {
    const again = (speed: number) =>
      judged(fleet(0.85), { fresh: [figuresOfNode(manyCells("n02", speed), null)] });
    expect(again(0.85).outliers).toMatchObject([{ host: "n02", confirmed: true }]);
    expect(again(1).cleared).toMatchObject([{ host: "n02", confirmed: false }]);
  });
});

it("a loss below the threshold is not measured again, although the reference tolerates less", () => {
  const suspectsWith = (threshold: number) =>
    judged(nodeResults(12, { n07: { speed: pinnedAt(0.92, 1) } }), {
      referenceOf: recorded,
      rule: { significance: 0.01, threshold },
    }).suspects;
  expect(suspectsWith(0.05)).toEqual(["n07"]);
  expect(suspectsWith(0.1)).toEqual([]);
});
