import { describe, expect, it } from "vitest";
import { keyOf, kindOf, type Link, type NodeFigures } from "../../src/fleet/node-figures.js";
import { evidenceOf, isTrainedDown } from "../../src/fleet/outlier-evidence.js";
import { sharedTraits } from "../../src/fleet/slow-places.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, keys, nodesOf, wobble } from "../helpers/plain-nodes.js";

/** What may be the reason of a slow GPU or node, and what slow ones have in common. */

const link = (generation: number, width: number): Link => ({ generation, width });
const [full, narrow, older] = [link(5, 16), link(5, 8), link(4, 16)];
/** A node whose GPUs have these links now, and can have those. */
const linked = (
  host: string,
  now: readonly (Link | null)[],
  best: readonly (Link | null)[] = now.map(() => full),
  more: Record<string, string> = {},
) =>
  fleetNode(
    host,
    now.map(() => 50),
    { facts: { ...facts, ...more } },
    (gpu) => ({ link: now[gpu]!, linkCapability: best[gpu]! }),
  );
const usual = [0, 1, 2].map((i) => linked(`n${i}`, [full, full]));
const evidence = (node: NodeFigures, gpu: number | null, others: readonly NodeFigures[] = usual) =>
  evidenceOf(node, gpu === null ? null : node.devices[gpu]!, {
    facts: {},
    nodes: [...others, node],
    notes: [],
  });

const half = "ran at gen5 x8 under load, and can do gen5 x16.";
const slower = "Its link ran at gen4 x16 under load, slower than most of its group.";
it.each<[string, NodeFigures, number | null, string[], NodeFigures[]?]>([
  ["a GPU whose link ran at less than it can", linked("x", [narrow, full]), 0, [`Its link ${half}`]],
  ["another GPU", linked("x", [narrow, full]), 1, []],
  ["a node with such a GPU", linked("x", [narrow, full]), null, [`The links of 1 of its 2 GPUs ${half}`]],
  [
    "a node with two such GPUs",
    linked("x", [narrow, older, null]),
    null,
    ["The links of 2 of its 2 GPUs ran at gen5 x8, gen4 x16 under load, and can do gen5 x16."],
  ],
  [
    "a node with a GPU that can do more",
    linked("x", [narrow, link(6, 16)], [full, link(6, 16)]),
    null,
    [`The links of 1 of its 2 GPUs ${half}`],
  ],
  ["twice the lanes of one generation less", linked("x", [older], [narrow]), 0, [], [linked("n", [narrow])]],
  ["a link that can do no more, beside faster ones", linked("x", [older], [older]), 0, [slower]],
  ["a link of unknown capability beside faster ones", linked("x", [older], [null]), 0, [slower]],
  [
    "one beside as many that are as slow",
    linked("x", [older], [null]),
    0,
    [],
    [linked("a", [older]), linked("b", [full])],
  ],
  ["an unknown link", linked("x", [null], [full]), 0, []],
  ["a link beside unknown ones", linked("x", [link(3, 4)], [null]), 0, [], [linked("a", [null])]],
])("the evidence of %s", (_, node, gpu, expected, others) => {
  expect(evidence(node, gpu, others)).toEqual(expected);
});

it("a link has trained down, of the GPU or of any of the node", () => {
  const node = linked("x", [full, narrow, null]);
  const of = (one: NodeFigures, gpu: number | null) =>
    isTrainedDown(one, gpu === null ? null : one.devices[gpu]!);
  expect([0, 1, 2, null].map((gpu) => of(node, gpu))).toEqual([false, true, false, true]);
  expect(of(linked("x", [link(3, 4)], [null]), 0)).toBe(false);
  expect(of(usual[0]!, null)).toBe(false);
});

const most = Array.from({ length: 6 }, () => "6.1");
it.each<[string | null, (string | null)[], string[]]>([
  ["5.4", ["6.1", "6.1", "6.1"], ["Its kernel: 5.4; 3 of 4 nodes have 6.1."]],
  ["5.4", ["6.1", "6.1", "6.2"], []],
  ["6.1", ["6.1", "6.1", "6.1"], []],
  ["5.4", ["6.2", ...most], ["Its kernel: 5.4; 6 of 8 nodes have 6.1."]],
  ["5.4", ["6.2", "6.2", ...most], []],
  [null, ["6.1", "6.1", "6.1"], []],
  ["5.4", [null, null, null], []],
])(
  "a node's kernel %s is evidence if three quarters of its group have another one: %j",
  (own, others, expected) => {
    const withKernel = (host: string, kernel: string | null) =>
      linked(host, [full], undefined, kernel === null ? {} : { kernel });
    const nodes = others.map((kernel, i) => withKernel(`n${i}`, kernel));
    expect(evidence(withKernel("x", own), 0, nodes)).toEqual(expected);
    // The link itself is no fact of this kind.
    const other = linked("x", [full], undefined, { linkUnderLoad: "gen1 x1", driver: "535" });
    expect(evidence(other, 0)).toEqual(["Its driver: 535; 3 of 4 nodes have 580."]);
  },
);

describe("what slow nodes share", () => {
  type Labels = (node: number) => Record<string, string>;
  const fleet = (
    count: number,
    labelsOf: Labels,
    factsOf: Labels = () => ({}),
    figureOf: (node: number) => GpuFigures = () => 50,
  ) =>
    Array.from({ length: count }, (_, i) =>
      fleetNode(`n${i}`, [figureOf(i)], { labels: labelsOf(i), facts: { ...facts, ...factsOf(i) } }),
    );
  const rack =
    (count: number): Labels =>
    (node) => ({ rack: node < count ? "r3" : `r1${node % 2}` });
  const of20 = fleet(20, rack(3));
  const of60 = fleet(60, rack(5));

  it.each<[string, NodeFigures[], number[], string[]]>([
    ["a rack that chance fills once in 220", fleet(12, rack(3)), [0, 1, 2], []],
    [
      "one that it fills once in 1140",
      of20,
      [0, 1, 2],
      ["All 3 slow nodes have rack r3, and no healthy node does."],
    ],
    [
      "one with a healthy node",
      of60,
      [0, 1, 2, 3],
      ["All 4 slow nodes have rack r3, and so has 1 healthy node."],
    ],
    [
      "one that another is not in",
      of60,
      [0, 1, 2, 7],
      ["3 of 4 slow nodes have rack r3, and so have 2 healthy nodes."],
    ],
    [
      "one that all of it are in",
      of60,
      [0, 1, 2, 3, 4, 7],
      ["5 of 6 slow nodes have rack r3, and no healthy node does."],
    ],
    [
      "two nodes of 40",
      fleet(40, rack(2)),
      [0, 1],
      ["All 2 slow nodes have rack r3, and no healthy node does."],
    ],
    ["a single node", of20, [0], []],
    ["no slow node", of20, [], []],
    ["the whole fleet", of20, [...of20.keys()], []],
    [
      "values that one or all nodes have",
      fleet(20, (node) => ({ serial: `s${node}`, site: "one" })),
      [0, 1],
      [],
    ],
    // Nodes without figures are not judged.
    [
      "a rack of twelve measured nodes",
      fleet(300, rack(3), undefined, (node) => (node < 12 ? 50 : {})),
      [0, 1, 2],
      [],
    ],
  ])("is found by Fisher's chance for all values: %s", (_, nodes, slow, reasons) => {
    const shared = sharedTraits(
      nodes,
      slow.map((node) => ({ host: `n${node}` })),
    );
    expect(shared.map(({ reason }) => reason)).toEqual(reasons);
    if (nodes === of20) for (const { chance } of shared) expect(chance).toBeCloseTo(3 / 1140, 10);
  });

  it("is the most telling first, and one trait of the very same nodes", () => {
    const nodes = fleet(40, rack(6), (node) =>
      node < 5 ? { kernel: "5.4", governor: "powersave" } : { kernel: "6.1", governor: "performance" },
    );
    const shared = sharedTraits(
      nodes,
      [0, 1, 2, 3, 4].map((node) => ({ host: `n${node}` })),
    );
    expect(shared.map(({ trait, value }) => `${trait} ${value}`)).toEqual(["kernel 5.4", "rack r3"]);
  });

  it("is in the document of the fleet", () => {
    const nodes = nodesOf(
      24,
      (node) => [(node < 4 ? 25 : 50) * wobble(node)],
      (node) => ({ labels: { rack: node < 4 ? "r3" : `r${4 + (node % 4)}` } }),
    );
    expect(judged([], { nodes }).shared).toMatchObject([{ trait: "rack", value: "r3", slow: 4, nodes: 4 }]);
  });
});

describe("slots of slow GPUs", () => {
  const fleet = (
    figureOf: (node: number, gpu: number) => GpuFigures,
    device: (gpu: number, node: number) => object = () => ({}),
  ) =>
    Array.from({ length: 8 }, (_, node) =>
      fleetNode(
        `n${node}`,
        [0, 1, 2, 3].map((gpu) => figureOf(node, gpu)),
        {},
        (gpu) => device(gpu, node),
      ),
    );
  const groupOf = (nodes: readonly NodeFigures[], request: object = {}) =>
    judged([], { nodes, ...request }).groups[0]!;
  const known = (rate: number, more: object = {}) => ({
    referenceOf: () => ({ h2d: rate, d2h: rate, together: null, tolerance: 0.05, source: "x", ...more }),
  });
  const slow = (...figures: number[]) =>
    fleet((node, gpu) => (gpu === 2 && node < figures.length ? figures[node]! : 50 * wobble(node)));
  const built = (times: number, device?: (gpu: number, node: number) => object) =>
    fleet((node, gpu) => (gpu === 2 ? times : 1) * 50 * wobble(node), device);

  it("are reported with the range of their losses in the worst cell", () => {
    expect(groupOf(slow(40, 30, 35, 25)).slowPlaces).toEqual([
      {
        ...{ place: "0000:30:00.0", nodes: 4, of: 8, change: expect.closeTo(-0.5, 3), action: "monitor" },
        reason: "Slot 2 (0000:30:00.0) is slow in 4 of 8 nodes: 20 % to 50 % slower in h2d pinned 64 MiB.",
      },
    ]);
    expect(groupOf(slow(40, 40, 40, 40)).slowPlaces[0]!.reason).toMatch(/: 20 % slower in/);
    const inTwo = fleet((node, gpu) =>
      gpu === 2 && node < 4
        ? { pinned: 40, back: 25 }
        : { pinned: 50 * wobble(node), back: 50 * wobble(node) },
    );
    expect(groupOf(inTwo).slowPlaces[0]!.reason).toMatch(/: 50 % slower in d2h pinned 64 MiB/);
  });

  it("are named by address and ordinal, as machines have them, and may be so by design unless each GPU is named", () => {
    const reasonOf = (device?: (gpu: number, node: number) => object) =>
      groupOf(built(0.8, device)).slowPlaces[0]!.reason;
    expect(reasonOf()).toMatch(
      /^Slot 2 \(0000:30:00\.0\) is slow in all 8 nodes: 20 % slower than others in h2d pinned 64 MiB\. The figures do not show whether this is by design; each is compared with GPUs in the same place\.$/,
    );
    // Named beside their kind in copies alone, and odd in those of all together, of which nothing is known.
    const together = keyOf({ cell: `${kindOf(keys.pinned).cell}/together-0-1`, moved: "h2d", unit: "GB/s" });
    const halfOfThem = [0, 1, 2, 3].map((node) =>
      fleetNode(`n${node}`, Array<object>(8).fill({}), {}, (gpu) => {
        const rate = (gpu < 4 ? 50 : 35) * wobble(node);
        return { figures: new Map([keys.pinned, together].map((key) => [key, rate])) };
      }),
    );
    const { slowPlaces } = groupOf(halfOfThem, known(50));
    expect(slowPlaces.map(({ reason }) => reason.slice(-23))).toEqual(
      Array(4).fill(" Each is named as slow."),
    );
    expect(reasonOf((gpu, node) => ({ ordinal: (gpu + node) % 4 }))).toMatch(
      /^Slot 0000:30:00\.0 is slow in all 8/,
    );
    expect(reasonOf(() => ({ pciBusId: null }))).toMatch(/^Slot 2 is slow in all 8 nodes/);
  });

  it.each<[string, NodeFigures[], object, RegExp]>([
    [
      "other copies",
      fleet((_, gpu) => ({ pageable: gpu === 2 ? 5 : 10 })),
      {},
      /^On all 8 nodes the GPU at 0000:30:00\.0 is 50 % slower/,
    ],
    ["faster ones", fleet((_, gpu) => (gpu === 2 ? 60 : 50)), {}, /is 20 % faster than others/],
    ["latencies", fleet((_, gpu) => ({ latency: gpu === 2 ? 8 : 4 })), {}, /^On all 8 nodes .* latency/],
    ["what healthy machines have as well", built(0.9), known(46), /as fast as healthy machines/],
  ])("are a note of %s", (_, nodes, request, note) => {
    expect(groupOf(nodes, request)).toMatchObject({ slowPlaces: [], notes: [expect.stringMatching(note)] });
  });

  it("are a finding beside a reference of other kinds", () => {
    expect(groupOf(built(0.9), known(46, { isOfKind: false })).slowPlaces).toHaveLength(1);
  });
});
