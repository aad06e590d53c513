import { describe, expect, it } from "vitest";
import { actionOnNode, actionOnOutlier } from "../../src/fleet/judge-fleet.js";
import { keyOf, type NodeFigures } from "../../src/fleet/node-figures.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, hostOf, nodesOf, wobble } from "../helpers/plain-nodes.js";

/** Documents of fleets whose figures are given one by one. */

const fleetOf = (nodes: readonly NodeFigures[], request: Parameters<typeof judged>[1] = {}) =>
  judged([], { nodes, ...request });

describe("a fleet of two kinds", () => {
  const l4 = (name: string, figures: GpuFigures, changes: Partial<NodeFigures> = {}) =>
    fleetNode(name, [figures], { facts: { ...facts, gpu: "L4", gpuCount: "1" }, ...changes }, () => ({
      name: "L4",
    }));
  const h200 = nodesOf(
    8,
    (node) => [50 * wobble(node), { pinned: 52 * wobble(node), latency: 4 }],
    (node) => (node === 6 ? { labels: { rack: "r6" }, notice: "emulated" } : {}),
  );
  const without = fleetNode("x9", [{}, {}], { state: "failed", reason: "its result has no figures" });
  // Nodes of both kinds in turns, and the larger group's last.
  const nodes = [
    l4("a0", 25),
    h200[7]!,
    l4("a1", 26, { notes: ["of its own"] }),
    ...h200.slice(0, 7),
    without,
    l4("a2", { latency: 3 }),
  ];
  const fleet = () => fleetOf(nodes);

  it("has the larger group first, and each node with its group", () => {
    expect(fleet().groups.map((one) => [one.facts.gpu, one.nodes, one.devices])).toEqual([
      ["NVIDIA H200", 8, 16],
      ["L4", 3, 3],
    ]);
    expect(fleet().nodes.map(({ host, group }) => [host, group])).toEqual([
      ["a0", 1],
      ["n07", 0],
      ["a1", 1],
      ...[0, 1, 2, 3, 4, 5, 6].map((node) => [hostOf(node), 0]),
      ["x9", null],
      ["a2", 1],
    ]);
  });

  it("has the figures of each cell in the order of the nodes, and of their GPUs", () => {
    const [pinned, latency] = fleet().groups[0]!.cells;
    const figures = [7, 0, 1, 2, 3, 4, 5, 6].flatMap((node) => [50 * wobble(node), 52 * wobble(node)]);
    expect(pinned).toMatchObject({ unit: "GB/s", figures: 16, values: figures });
    expect(pinned!.lowest).toBeCloseTo(50 * wobble(0), 8);
    expect(pinned!.highest).toBeCloseTo(52 * wobble(2), 8);
    expect(latency).toMatchObject({
      unit: "us",
      figures: 8,
      centre: expect.closeTo(4),
      lowest: expect.closeTo(4),
      highest: expect.closeTo(4),
    });
    expect(latency!.values).toEqual(Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? null : 4)));
    expect(fleet().groups[1]!.cells.map(({ values }) => values)).toEqual([
      [25, 26, null],
      [null, null, 3],
    ]);
  });

  it("has the slow GPUs of both, the slowest first, as it has those that were cleared", () => {
    const slow = nodes.map((node) =>
      node.host === "n03"
        ? fleetNode("n03", [40, 52])
        : node.host === "a1"
          ? l4("a1", { latency: 30 })
          : node,
    );
    const others = [3, 4, 5].map((i) => l4(`a${i}`, { latency: 3 * wobble(i) }));
    const first = fleetOf([...slow, ...others]);
    expect(first.outliers.map(({ host, group }) => [host, group])).toEqual([
      ["a1", 1],
      ["n03", 0],
    ]);
    const fresh = [fleetNode("n03", [50, 52]), l4("a1", { latency: 3 })];
    const again = fleetOf([...slow, ...others], { fresh });
    expect(again.outliers).toEqual([]);
    expect(again.cleared.map(({ host, group }) => [host, group])).toEqual([
      ["a1", 1],
      ["n03", 0],
    ]);
  });

  it("has doubts on the reference of the second group too", () => {
    const referenceOf = ({ name }: { name: string }) =>
      name === "L4" ? { h2d: 20, d2h: 20, together: null, tolerance: 0.05, source: "x" } : null;
    expect(fleetOf(nodes, { referenceOf }).doubts).toEqual([
      expect.stringMatching(
        /^L4: 2\d % faster than the reference in h2d pinned 64 MiB \(x\), so it misses losses/,
      ),
    ]);
  });

  it("keeps what each node is, and the first notice", () => {
    expect(fleet().nodes[9]).toMatchObject({
      host: "n06",
      state: "measured",
      runId: "run-of-n06",
      labels: { rack: "r6" },
      devices: [
        { ordinal: 0, name: "NVIDIA H200", uuid: "GPU-n06-0", pciBusId: "0000:10:00.0", link: "gen5 x16" },
        { ordinal: 1, uuid: "GPU-n06-1" },
      ],
      action: "none",
    });
    expect(fleet().notice).toBe("emulated");
    expect(fleet().nodes[10]).toMatchObject({ state: "failed", group: null, notes: [], action: "reset" });
    expect(fleetOf(nodes.slice(0, 3)).notice).toBeNull();
  });

  it("says what a node lacks of what more than half of the most GPUs have", () => {
    const notesOf = (name: string) => fleet().nodes.find((one) => one.host === name)!.notes;
    expect(notesOf("a1")).toEqual(["of its own"]);
    expect(notesOf("a2")).toEqual(["it has no figures of 1 of its group's 1 cell"]);
    // Of a cell that half of them have, nobody lacks anything; of one that more have, the others do.
    const lacks = (count: number) =>
      fleetOf(nodesOf(8, (node) => [node < count ? { pinned: 50, latency: 4 } : 50])).nodes[7]!.notes;
    expect(lacks(4)).toEqual([]);
    expect(lacks(5)).toEqual(["it has no figures of 1 of its group's 2 cells"]);
    expect(fleetOf([fleetNode("n0", [50, {}])]).nodes[0]!.notes).toEqual([]);
  });
});

describe("an outlier", () => {
  const slowAt = (node: number, figures: readonly GpuFigures[], count = 12) =>
    nodesOf(count, (i) => (i === node ? figures : [50 * wobble(i), 50 * wobble(i)]));

  it("has its figure, its like's and the change, of each cell that shows it, the largest loss first", () => {
    const both = (pinned: number, latency: number): GpuFigures => ({ pinned, latency });
    const nodes = nodesOf(12, (node) => [
      node === 3 ? both(40, 16) : both(50 * wobble(node), 4 * wobble(node)),
    ]);
    const [outlier, ...others] = fleetOf(nodes).outliers;
    expect(others).toEqual([]);
    expect(outlier).toMatchObject({
      host: "n03",
      device: 0,
      uuid: "GPU-n03-0",
      group: 0,
      together: null,
      confirmed: null,
      action: "isolate",
      since: { startedAt: "2026-11-20T09:00:00.000Z", lastHealthy: null },
    });
    expect(outlier!.cells.map(({ unit, figure, centre, change }) => [unit, figure, centre, change])).toEqual([
      ["us", expect.closeTo(16, 6), expect.closeTo(4, 2), expect.closeTo(-0.75, 3)],
      ["GB/s", expect.closeTo(40, 6), expect.closeTo(50, 1), expect.closeTo(-0.2, 3)],
    ]);
  });

  it("is a whole node, if three quarters of its GPUs have lost half of what it has", () => {
    const ofFour = (...figures: number[]) => {
      const nodes = nodesOf(12, (node) =>
        node === 5 ? figures : [50, 50, 50, 50].map((figure) => figure * wobble(node)),
      );
      return fleetOf(nodes).outliers.map(({ device }) => device);
    };
    expect(ofFour(40, 40, 40, 40)).toEqual([null]);
    expect(ofFour(40, 40, 40, 50)).toEqual([null]);
    expect(ofFour(40, 40, 50, 50)).toEqual([0, 1]);
    // 0.2231 is the loss of 40; 45 has lost 0.1054, less than half of it.
    expect(ofFour(40, 40, 40, 45)).toEqual([null]);
    expect(ofFour(40, 40, 45, 45)).toEqual([0, 1, null]);
    // A GPU is reported in addition from a further 5 % on.
    expect(ofFour(40, 40, 40, 38.1)).toEqual([null]);
    expect(ofFour(40, 40, 40, 37.9)).toEqual([3, null]);
  });

  it("of a node with one GPU is that GPU", () => {
    const nodes = nodesOf(12, (node) => [node === 5 ? 40 : 50 * wobble(node)]);
    expect(fleetOf(nodes).outliers.map(({ host, device }) => [host, device])).toEqual([["n05", 0]]);
    // By its own number, also where only later GPUs were measured.
    const later = nodes.map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, ordinal: 4 })),
    }));
    expect(fleetOf(later).outliers.map(({ host, device }) => [host, device])).toEqual([["n05", 4]]);
    const lost = nodesOf(12, (node) => (node === 5 ? [40, {}] : [50 * wobble(node), 50 * wobble(node)]));
    expect(fleetOf(lost).outliers.map(({ device }) => device)).toEqual([0]);
  });

  it("is one from the threshold on, and its suspects follow the outliers, each once", () => {
    expect(fleetOf(slowAt(2, [47.4, 50])).outliers).toHaveLength(1);
    expect(fleetOf(slowAt(2, [47.6, 50])).outliers).toHaveLength(0);
    expect(fleetOf(slowAt(2, [30, 40])).suspects).toEqual(["n02"]);
    const two = slowAt(2, [30, 50]).map((node) => (node.host === "n09" ? fleetNode("n09", [50, 20]) : node));
    expect(fleetOf(two).outliers.map(({ host, device }) => [host, device])).toEqual([
      ["n09", 1],
      ["n02", 0],
    ]);
    expect(fleetOf(two).suspects).toEqual(["n09", "n02"]);
  });

  it("asks to be isolated from a loss of a tenth on in any cell, to be reset with a narrow link, and to be watched", () => {
    const cells = (...changes: number[]) => changes.map((change) => ({ change })) as never;
    const of = (confirmed: boolean | null, isTrainedDown: boolean, ...changes: number[]) =>
      actionOnOutlier({ cells: cells(...changes), confirmed, isTrainedDown });
    expect(of(null, false, -0.05, -0.1)).toBe("isolate");
    expect(of(true, false, -0.099, -0.05)).toBe("monitor");
    expect(of(true, true, -0.5)).toBe("reset");
    expect(of(false, true, -0.5)).toBe("none");
    const states = ["wrong data", "failed", "late", "missing", "unreadable", "measured"] as const;
    expect(states.map((state) => actionOnNode(state))).toEqual([
      "isolate",
      "reset",
      "reset",
      "reset",
      "monitor",
      "none",
    ]);
  });
});

it.each([
  ["5.4", "6.1", /part is healthy; the slow ones alone have kernel 5\.4\.$/],
  ["5.4", "5.4", /part is healthy\.$/],
  ["5.4", null, /part is healthy\.$/],
  [null, "6.1", /part is healthy\.$/],
])(
  "a slow part with kernel %s beside one with %s is said to have it alone only if that is known",
  (slow, fast, reason) => {
    const nodes = nodesOf(
      8,
      (node) => [(node < 4 ? 25 : 50) * wobble(node)],
      (node) => ({
        facts: { ...facts, gpuCount: "1", kernel: node < 4 ? slow : node === 7 ? fast : (fast ?? "6.1") },
      }),
    );
    expect(fleetOf(nodes).groups[0]!.slowPart!.reason).toMatch(reason);
  },
);

it("of two cells whose nodes fall into two parts, the one with the clearer gap is reported", () => {
  const part = (pinned: number, back: number) =>
    fleetOf(
      nodesOf(8, (node) => [
        node < 4 ? { pinned, back } : { pinned: 50 * wobble(node), back: 50 * wobble(node) },
      ]),
    ).groups[0]!.slowPart!.reason;
  expect(part(25, 40)).toContain(
    "4 with 25 GB/s (n00, n01, n02 and 1 more) and 4 with 50 GB/s in h2d pinned 64 MiB",
  );
  expect(part(40, 25)).toContain(
    "4 with 25 GB/s (n00, n01, n02 and 1 more) and 4 with 50 GB/s in d2h pinned 64 MiB",
  );
});

describe("a loss over all cells of a kind", () => {
  /** 32 pinned cells a GPU of which each is a little off, in turns. */
  const name = (cell: number) => `h2d/pinned/${(cell + 64) * 2 ** 20}/w1/throughput/wall/cold`;

  it("is reported with its kind and number of cells, and needs a smaller loss in all than in one", () => {
    const off = (node: number, cell: number) => 1 + 0.006 * Math.sin(12.9898 * node + 78.233 * cell);
    const figures = (node: number) =>
      new Map(
        Array.from({ length: 32 }, (_, cell) => [
          keyOf({ cell: name(cell), moved: "h2d", unit: "GB/s" }),
          50 * off(node, cell) * (node === 4 ? 0.93 : 1),
        ]),
      );
    const nodes = Array.from({ length: 8 }, (_, node) =>
      fleetNode(hostOf(node), [{}], {}, () => ({ figures: figures(node) })),
    );
    const fleet = fleetOf(nodes);
    expect(fleet.outliers.map(({ host }) => host)).toEqual(["n04"]);
    const found = fleet.groups[0]!.found;
    expect(found).toMatchObject([{ memory: "pinned", cells: 32, belowReference: null }]);
    expect(found[0]!.inAllCells!).toBeLessThan(found[0]!.inOneCell!);
    expect(fleet.groups[0]!.cells).toHaveLength(32);
    expect(found[0]!.inOneCell).toBe(Math.max(...fleet.groups[0]!.cells.map(({ leastLoss }) => leastLoss!)));
  });

  /** Of six nodes, n04 loses as much in each cell of these memories, and half in one cell if it is to. */
  const outlierOf = (losses: Readonly<Record<string, number>>, half = false) => {
    const figures = (node: number) =>
      new Map(
        Object.entries(losses).flatMap(([memory, loss]) =>
          Array.from({ length: 32 }, (_, cell) => {
            const off = 1 + 0.006 * Math.sin(12.9898 * node + 78.233 * cell);
            const left = node === 4 ? (half && cell === 7 ? 0.5 : 1 - loss) : 1;
            const id = name(cell).replace("pinned", memory);
            return [keyOf({ cell: id, moved: "h2d", unit: "GB/s" }), 50 * off * left] as const;
          }),
        ),
      );
    const nodes = Array.from({ length: 8 }, (_, node) =>
      fleetNode(hostOf(node), [{}], {}, () => ({ figures: figures(node) })),
    );
    return fleetOf(nodes).outliers[0];
  };

  it("is that of the kind that lost most, and none beside a cell that shows it alone", () => {
    expect(outlierOf({ pinned: 0.06, pageable: 0.14 })!.together).toMatchObject({
      memory: "pageable",
      cells: 32,
    });
    expect(outlierOf({ pinned: 0.06 })!.together).toMatchObject({ memory: "pinned", cells: 32 });
    expect(outlierOf({ pinned: 0.06 }, true)).toMatchObject({ host: "n04", together: null });
  });
});

it("no loss is said to be found in any cell if one of them has too few figures, nor in each of a single one", () => {
  const foundIn = (count: number, ...figures: GpuFigures[]) =>
    fleetOf(nodesOf(count, (node) => [figures[node] ?? figures[0]!])).groups[0]!.found;
  expect(foundIn(4, 50, { pinned: 50, back: 50 })[0]).toMatchObject({ cells: 2, inOneCell: null });
  expect(foundIn(4, 55, 51.2, 47.3, 50)[0]).toMatchObject({ cells: 1, inAllCells: null });
  // Of other copies, whose machines differ, each cell speaks for itself.
  const pageable = [55, 51.2, 47.3, 50].map((figure, i) => {
    const ways = (["h2d", "d2h"] as const).map((moved) => {
      const kind = {
        cell: `${moved}/pageable/67108864/w1/throughput/wall/cold`,
        moved,
        unit: "GB/s",
      } as const;
      return [keyOf(kind), figure] as const;
    });
    return fleetNode(hostOf(i), [{}], {}, () => ({ figures: new Map(ways) }));
  });
  expect(fleetOf(pageable).groups[0]!.found[0]).toMatchObject({
    memory: "pageable",
    cells: 2,
    inAllCells: null,
  });
  const steady = foundIn(12, { pinned: 50, back: 50 })[0]!;
  expect(steady.inOneCell).toBeGreaterThan(0);
  expect(steady.inAllCells).toBeNull();
});

it("of two nodes alone the one whose copies take longer is the slower one", () => {
  const two = fleetOf([fleetNode("a", [{ latency: 4 }]), fleetNode("b", [{ latency: 8 }])]);
  expect(two.groups[0]!.tooFew).toContain("b is 50 % slower than a");
});
