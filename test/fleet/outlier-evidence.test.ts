import { describe, expect, it } from "vitest";
import type { Link, NodeFigures } from "../../src/fleet/node-figures.js";
import { groupNodes } from "../../src/fleet/node-figures.js";
import { evidenceOf, isTrainedDown } from "../../src/fleet/outlier-evidence.js";
import { sharedTraits } from "../../src/fleet/slow-places.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures } from "../helpers/plain-nodes.js";

const link = (generation: number, width: number): Link => ({ generation, width });
/** A node whose GPUs have these links now, and can have those. */
const linked = (
  host: string,
  now: readonly (Link | null)[],
  best: readonly (Link | null)[] = now.map(() => link(5, 16)),
  more: Record<string, string> = {},
) =>
  fleetNode(
    host,
    now.map(() => 50),
    { facts: { ...facts, ...more } },
    (gpu) => ({ link: now[gpu]!, linkCapability: best[gpu]! }),
  );
const usual = [0, 1, 2].map((i) => linked(`n${i}`, [link(5, 16), link(5, 16)]));
const evidence = (node: NodeFigures, gpu: number | null, others: readonly NodeFigures[] = usual) =>
  evidenceOf(node, gpu === null ? null : node.devices[gpu]!, {
    facts: {},
    nodes: [...others, node],
    notes: [],
  });

describe("links of an outlier", () => {
  it("that ran at less than they can are reported, for a GPU or for a number of a node's", () => {
    const node = linked("x", [link(5, 8), link(5, 16)]);
    expect(evidence(node, 0)).toEqual(["Its link ran at gen5 x8 under load, and can do gen5 x16."]);
    expect(evidence(node, 1)).toEqual([]);
    expect(evidence(node, null)).toEqual([
      "The links of 1 of its 2 GPUs ran at gen5 x8 under load, and can do gen5 x16.",
    ]);
    expect(evidence(linked("x", [link(5, 8), link(4, 16), null]), null)).toEqual([
      "The links of 2 of its 2 GPUs ran at gen5 x8, gen4 x16 under load, and can do gen5 x16.",
    ]);
    const unlike = linked("x", [link(5, 8), link(6, 16)], [link(5, 16), link(6, 16)]);
    expect(evidence(unlike, null)).toEqual([
      "The links of 1 of its 2 GPUs ran at gen5 x8 under load, and can do gen5 x16.",
    ]);
    // Twice the lanes of one generation less carry the same.
    expect(evidence(linked("x", [link(4, 16)], [link(5, 8)]), 0, [linked("n", [link(5, 8)])])).toEqual([]);
  });

  it("that can do no more are reported if most of its group have faster ones", () => {
    const slower = linked("x", [link(4, 16)], [link(4, 16)]);
    expect(evidence(slower, 0)).toEqual([
      "Its link ran at gen4 x16 under load, slower than most of its group.",
    ]);
    const unknown = linked("x", [link(4, 16)], [null]);
    expect(evidence(unknown, 0)).toEqual([
      "Its link ran at gen4 x16 under load, slower than most of its group.",
    ]);
    expect(evidence(unknown, 0, [linked("a", [link(4, 16)]), linked("b", [link(5, 16)])])).toEqual([]);
    expect(evidence(linked("x", [null], [link(5, 16)]), 0)).toEqual([]);
    expect(evidence(linked("x", [link(3, 4)], [null]), 0, [linked("a", [null])])).toEqual([]);
  });

  it("have trained down, of the GPU or of any of the node", () => {
    const node = linked("x", [link(5, 16), link(5, 8), null], [link(5, 16), link(5, 16), link(5, 16)]);
    const of = (one: NodeFigures, gpu: number | null) =>
      isTrainedDown(one, gpu === null ? null : one.devices[gpu]!);
    expect([0, 1, 2, null].map((gpu) => of(node, gpu))).toEqual([false, true, false, true]);
    expect(of(linked("x", [link(3, 4)], [null]), 0)).toBe(false);
    expect(of(usual[0]!, null)).toBe(false);
  });
});

describe("facts of an outlier's node", () => {
  const withKernel = (host: string, kernel: string | null) =>
    linked(host, [link(5, 16)], undefined, kernel === null ? {} : { kernel });
  const told = (own: string | null, ...others: (string | null)[]) =>
    evidence(
      withKernel("x", own),
      0,
      others.map((kernel, i) => withKernel(`n${i}`, kernel)),
    );

  it("are reported if three quarters of its group have another value", () => {
    expect(told("5.4", "6.1", "6.1", "6.1")).toEqual(["Its kernel: 5.4; 3 of 4 nodes have 6.1."]);
    expect(told("5.4", "6.1", "6.1", "6.2")).toEqual([]);
    expect(told("6.1", "6.1", "6.1", "6.1")).toEqual([]);
    const most = Array.from({ length: 6 }, () => "6.1");
    expect(told("5.4", "6.2", ...most)).toEqual(["Its kernel: 5.4; 6 of 8 nodes have 6.1."]);
    expect(told("5.4", "6.2", "6.2", ...most)).toEqual([]);
    expect(told(null, "6.1", "6.1", "6.1")).toEqual([]);
    expect(told("5.4", null, null, null)).toEqual([]);
    const other = linked("x", [link(5, 16)], undefined, { linkUnderLoad: "gen1 x1", driver: "535" });
    expect(evidence(other, 0)).toEqual(["Its driver: 535; 3 of 4 nodes have 580."]);
  });
});

describe("what slow nodes share, by hand", () => {
  const fleet = (
    count: number,
    labelsOf: (node: number) => Record<string, string>,
    factsOf: (node: number) => Record<string, string> = () => ({}),
    figuresOf: (node: number) => GpuFigures = () => 50,
  ) =>
    Array.from({ length: count }, (_, i) =>
      fleetNode(`n${i}`, [figuresOf(i)], { labels: labelsOf(i), facts: { ...facts, ...factsOf(i) } }),
    );
  const shared = (nodes: readonly NodeFigures[], ...slow: number[]) =>
    sharedTraits(
      nodes,
      slow.map((node) => ({ host: `n${node}` })),
    );
  const rack =
    (ofThree: (node: number) => boolean) =>
    (node: number): Record<string, string> => ({ rack: ofThree(node) ? "r3" : `r1${node % 2}` });

  it("is reported if Fisher's chance, times the values that several nodes have, is below 1 %, with the healthy nodes that have it too", () => {
    expect(
      shared(
        fleet(
          12,
          rack((node) => node < 3),
        ),
        0,
        1,
        2,
      ),
    ).toEqual([]);
    const of20 = fleet(
      20,
      rack((node) => node < 3),
    );
    expect(shared(of20, 0, 1, 2)).toMatchObject([
      {
        chance: expect.closeTo(3 / 1140, 10),
        reason: "All 3 slow nodes have rack r3, and no healthy node does.",
      },
    ]);
    const one = fleet(
      60,
      rack((node) => node < 5),
    );
    expect(shared(one, 0, 1, 2, 3)).toMatchObject([
      { slow: 4, nodes: 5, reason: "All 4 slow nodes have rack r3, and so has 1 healthy node." },
    ]);
    expect(shared(one, 0, 1, 2, 7)).toMatchObject([
      { reason: "3 of 4 slow nodes have rack r3, and so have 2 healthy nodes." },
    ]);
    expect(shared(one, 0, 1, 2, 3, 4, 7)).toMatchObject([
      { reason: "5 of 6 slow nodes have rack r3, and no healthy node does." },
    ]);
  });

  it("is the most telling first, and one trait of the very same nodes", () => {
    const nodes = fleet(
      40,
      rack((node) => node < 6),
      (node) => ({ kernel: node < 5 ? "5.4" : "6.1", governor: node < 5 ? "powersave" : "performance" }),
    );
    expect(shared(nodes, 0, 1, 2, 3, 4).map(({ trait, value }) => [trait, value])).toEqual([
      ["kernel", "5.4"],
      ["rack", "r3"],
    ]);
  });

  it("is nothing of one slow node, of a fleet that is slow, and of values that one or all nodes have", () => {
    const of20 = fleet(
      20,
      rack((node) => node < 3),
    );
    expect(shared(of20, 0)).toEqual([]);
    expect(shared(of20)).toEqual([]);
    expect(shared(of20, ...of20.keys())).toEqual([]);
    expect(
      shared(
        fleet(20, (node) => ({ serial: `s${node}`, site: "one" })),
        0,
        1,
      ),
    ).toEqual([]);
    // Nodes without figures are not judged.
    const unmeasured = fleet(
      300,
      rack((node) => node < 3),
      () => ({}),
      (node) => (node < 12 ? 50 : {}),
    );
    expect(shared(unmeasured, 0, 1, 2)).toEqual([]);
    expect(
      shared(
        fleet(
          40,
          rack((node) => node < 2),
        ),
        0,
        1,
      ),
    ).toMatchObject([{ slow: 2, nodes: 2 }]);
  });
});

describe("places of slow GPUs, by hand", () => {
  const placesOf = (nodes: readonly NodeFigures[]) => judged([], { nodes }).groups[0]!;
  const fleet = (
    count: number,
    figureOf: (node: number, gpu: number) => GpuFigures,
    device: (gpu: number, node: number) => object = () => ({}),
  ) =>
    Array.from({ length: count }, (_, node) =>
      fleetNode(
        `n${node}`,
        [0, 1, 2, 3].map((gpu) => figureOf(node, gpu)),
        {},
        (gpu) => device(gpu, node),
      ),
    );
  const wobble = (node: number) => 50 * (1 + 0.0001 * ((node % 3) - 1));

  it("are reported with the range of their losses, or with one loss", () => {
    const slow = (figures: readonly number[]) =>
      fleet(8, (node, gpu) => (gpu === 2 && node < figures.length ? figures[node]! : wobble(node)));
    expect(placesOf(slow([40, 30, 35, 25])).slowPlaces).toEqual([
      {
        place: "0000:30:00.0",
        nodes: 4,
        of: 8,
        change: expect.closeTo(-0.5, 3),
        action: "monitor",
        reason: "Slot 2 (0000:30:00.0) is slow in 4 of 8 nodes: 20 % to 50 % slower in h2d pinned 64 MiB.",
      },
    ]);
    expect(placesOf(slow([40, 40, 40, 40])).slowPlaces[0]!.reason).toMatch(/: 20 % slower in/);
    // Of several cells, by the largest loss of each GPU.
    const inTwo = fleet(8, (node, gpu) =>
      gpu === 2 && node < 4 ? { pinned: 40, back: 25 } : { pinned: wobble(node), back: wobble(node) },
    );
    expect(placesOf(inTwo).slowPlaces[0]!.reason).toMatch(/: 50 % slower in d2h pinned 64 MiB/);
  });

  it("are named by their address alone, or by their ordinal, as machines have them", () => {
    const built = (node: number, gpu: number) => (gpu === 2 ? 0.8 : 1) * wobble(node);
    const reasonOf = (device: (gpu: number, node: number) => object) =>
      placesOf(fleet(8, built, device)).slowPlaces[0]!.reason;
    expect(reasonOf(() => ({}))).toMatch(
      /^Slot 2 \(0000:30:00\.0\) is slow in all 8 nodes: 20 % slower than others/,
    );
    expect(reasonOf((gpu, node) => ({ ordinal: (gpu + node) % 4 }))).toMatch(
      /^Slot 0000:30:00\.0 is slow in all 8/,
    );
    expect(reasonOf(() => ({ pciBusId: null }))).toMatch(/^Slot 2 is slow in all 8 nodes/);
  });

  it("of other copies, of faster ones and of latencies are no finding but a note", () => {
    const of = (figures: (gpu: number) => GpuFigures) => {
      const { slowPlaces, notes } = placesOf(fleet(8, (_, gpu) => figures(gpu)));
      expect(slowPlaces).toEqual([]);
      return notes;
    };
    expect(of((gpu) => ({ pageable: gpu === 2 ? 5 : 10 }))).toEqual([
      expect.stringMatching(/^On all 8 nodes the GPU at 0000:30:00\.0 is 50 % slower/),
    ]);
    expect(of((gpu) => (gpu === 2 ? 60 : 50))).toEqual([
      expect.stringContaining("is 20 % faster than others"),
    ]);
    expect(of((gpu) => ({ latency: gpu === 2 ? 8 : 4 }))).toHaveLength(1);
  });

  it("that healthy machines have as well are a note", () => {
    const nodes = fleet(8, (node, gpu) => (gpu === 2 ? 0.9 : 1) * wobble(node));
    const known = (rate: number, more: object = {}) =>
      judged([], {
        nodes,
        referenceOf: () => ({ h2d: rate, d2h: rate, together: null, tolerance: 0.05, source: "x", ...more }),
      }).groups[0]!;
    expect(known(46)).toMatchObject({
      slowPlaces: [],
      notes: [expect.stringContaining("as fast as healthy machines")],
    });
    expect(known(46, { isOfKind: false }).slowPlaces).toHaveLength(1);
  });
});

describe("groups, by hand", () => {
  const node = (host: string, more: Record<string, string | null>) =>
    fleetNode(host, [50], { facts: { ...facts, gpuCount: "1", ...more } });
  const hosts = (nodes: readonly NodeFigures[]) =>
    groupNodes(nodes).map((group) => group.nodes.map(({ host }) => host).join(" "));
  const times = (count: number, name: string, more: Record<string, string | null>) =>
    Array.from({ length: count }, (_, i) => node(`${name}${i}`, more));

  it("are the largest first, and of one size by name", () => {
    expect(
      hosts([
        node("b", { cpu: "1" }),
        node("a", { cpu: "2" }),
        node("d", { cpu: "3" }),
        node("c", { cpu: "3" }),
      ]),
    ).toEqual(["d c", "a", "b"]);
  });

  it("take in nodes of an unknown link, into the largest that is alike in all else", () => {
    const small = times(2, "s", { linkCapability: "gen5 x8" });
    const large = times(3, "l", {});
    expect(hosts([node("u", { linkCapability: null }), ...small, ...large])).toEqual(["l0 l1 l2 u", "s0 s1"]);
    expect(hosts([node("u", { linkCapability: null, cpu: "other" }), ...large])).toEqual(["l0 l1 l2", "u"]);
  });

  it("of eight by driver take the few others into the largest", () => {
    const all = [
      ...times(9, "a", { driver: "1" }),
      ...times(8, "b", { driver: "2" }),
      ...times(7, "c", { driver: "3" }),
    ];
    expect(groupNodes(all).map((group) => [group.nodes.length, group.facts.driver])).toEqual([
      [16, "1"],
      [8, "2"],
    ]);
  });

  it("note that their links alone set them apart from a larger one", () => {
    const notes = (count: number, other: Record<string, string>, larger = 8) =>
      groupNodes([...times(larger, "a", {}), ...times(count, "b", other)]).flatMap((group) => group.notes);
    const x8 = { linkCapability: "gen5 x8" };
    expect(notes(2, x8)).toEqual([
      expect.stringMatching(/^Their links can do gen5 x8, and 8 nodes that are otherwise alike gen5 x16/),
    ]);
    expect(notes(2, x8, 3)).toHaveLength(1);
    expect(notes(8, x8)).toEqual([]);
    expect(notes(2, { ...x8, cpu: "other" })).toEqual([]);
  });
});
