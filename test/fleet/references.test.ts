import { describe, expect, it } from "vitest";
import { expectationOf } from "../../src/doctor/expectation.js";
import type { NodeGroup } from "../../src/fleet/node-figures.js";
import { keyOf, type NodeFigures } from "../../src/fleet/node-figures.js";
import { groupReference, type ReferenceOf, referenceCell } from "../../src/fleet/reference-share.js";
import { siteReferenceOf } from "../../src/fleet/report/site-reference.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, keys } from "../helpers/plain-nodes.js";

const kind = (cell: string, unit: "GB/s" | "us" = "GB/s", moved: "h2d" | "d2h" = "h2d") =>
  ({ cell, moved, unit }) as const;
const plain = "pinned/67108864/w1/throughput/cold";
const nodes = (
  gpus: readonly (readonly GpuFigures[])[],
  changes: (node: number) => Partial<NodeFigures> = () => ({}),
) => gpus.map((ofNode, i) => fleetNode(`n${i}`, ofNode, changes(i)));

describe("cells that a reference is about", () => {
  it.each([
    [`h2d/${plain}`, true],
    [`d2h/${plain}`, true],
    [`h2d/${plain}/together-0-1`, true],
    [`d2d/${plain}`, false],
    ["h2d/pageable/67108864/w1/throughput/cold", false],
    ["h2d/pinned/33554432/w1/throughput/cold", true],
    ["h2d/pinned/33554431/w1/throughput/cold", false],
    ["h2d/pinned/67108864/w2/throughput/cold", false],
    ["h2d/pinned/67108864/w1/throughput/warm", false],
    [`h2d/${plain}/process`, false],
    [`h2d/${plain}/beside-compute`, false],
    [`h2d/${plain}/chunks-4`, false],
    [`h2d/${plain}/blocks-4096-loop`, false],
  ])("are plain pinned copies of 32 MiB and more: %s", (cell, isOne) => {
    expect(referenceCell(keyOf(kind(cell))) !== null).toBe(isOne);
    expect(referenceCell(keyOf(kind(cell, "us")))).toBeNull();
  });
});

describe("the reference of a group's GPUs", () => {
  const expectation = { h2d: 55, d2h: 50, tolerance: 0.1, source: "recordings" };
  const together = { devices: 2, h2d: 45, d2h: 40 };
  const asked: string[] = [];
  const referenceOf =
    (more: object = {}): ReferenceOf =>
    (device, link) => {
      asked.push(`${device.name} gen${link!.generation} x${link!.width} ${device.emulated}`);
      return { ...expectation, together, ...more } as never;
    };
  const group = (devices: object[], backend = "cuda") =>
    ({ facts: { backend }, nodes: [{ devices }] }) as unknown as NodeGroup;
  const link = (generation: number, width: number) => ({ linkCapability: { generation, width } });
  it.each<[string, number | null, object?]>([
    [`h2d/${plain}`, 55],
    [`d2h/${plain}`, 50],
    [`h2d/${plain}/together-0-1`, 45],
    [`d2h/${plain}/together-0-1`, 40],
    [`h2d/${plain}/together-0-1-2`, null],
    [`h2d/${plain}/together-0-1`, null, { together: { ...together, devices: 3 } }],
    [`h2d/${plain}/together-0-1`, null, { together: null }],
    [`h2d/${plain}/process`, null],
  ])("has a rate by direction, and by how many copy together: %s reach %s GB/s", (cell, rate, more) => {
    const { of } = groupReference(group([{ name: "H200", ...link(5, 16) }]), referenceOf(more));
    expect(of(0, 0, keyOf(kind(cell)))?.rate ?? null).toBe(rate);
  });

  it("is for the link that the first GPU with a known one can do, and asked for once a name and link", () => {
    asked.length = 0;
    const devices = [
      { name: "H200", linkCapability: null },
      { name: "H200", ...link(5, 16) },
      { name: "H200", ...link(5, 8) },
    ];
    const { of } = groupReference(group(devices), referenceOf());
    for (const device of [0, 1, 2]) expect(of(0, device, keys.pinned)?.rate).toBe(55);
    expect(asked).toEqual(["H200 gen5 x16 false"]);
    groupReference(group([{ name: "E", ...link(4, 8) }], "emulated"), referenceOf()).of(0, 0, keys.pinned);
    expect(asked[1]).toBe("E gen4 x8 true");
  });

  it("judges GPUs of recorded kinds alone, with a known link, and with what these tolerate", () => {
    const one = group([{ name: "H200", ...link(5, 16) }]);
    const none = [
      groupReference(group([{ name: "H200", linkCapability: null }]), referenceOf()),
      groupReference(one, null),
      groupReference(one, () => null),
    ];
    for (const { of, knownOf } of none) {
      expect([of(0, 0, keys.pinned), knownOf(0, 0, keys.pinned)]).toEqual([null, null]);
    }
    const known = { speed: Math.log(55), tolerated: expect.closeTo(-Math.log(0.9)) };
    expect(groupReference(one, referenceOf()).knownOf(0, 0, keys.pinned)).toEqual(known);
    const ofOthers = groupReference(one, referenceOf({ isOfKind: false }));
    expect(ofOthers.knownOf(0, 0, keys.pinned)).toBeNull();
    expect(ofOthers.of(0, 0, keys.pinned)).not.toBeNull();
  });

  const both = (pinned: number, back: number): GpuFigures => ({ pinned, back });
  it.each<[string, GpuFigures[], string | null, object?]>([
    [
      "four slow GPUs, in a range",
      [40, 40.2, 39.8, 40],
      "All 4 GPUs are slow: 39.8 to 40.2 GB/s in h2d pinned 64 MiB, 72 to 73 % of healthy machines' rates (recordings).",
    ],
    [
      "two, in the cell that lost most",
      [both(40, 20), both(40, 20)],
      "All 2 GPUs are slow: 20 GB/s in d2h pinned 64 MiB, 40 % of healthy machines' rates (recordings).",
    ],
    [
      "a single one",
      [20],
      "Its only GPU is slow: 20 GB/s in h2d pinned 64 MiB, 36 % of healthy machines' rates (recordings).",
    ],
    ["none of a group with a healthy one", [40, 40, 55, 40], null],
    ["none of other copies", [{ pageable: 1 }], null],
    ["none within the tolerance of a tenth", [49.6, 49.6, 49.6], null],
    ["three that lost more", [49.4, 49.4, 49.4], expect.any(String)],
    ["none within the threshold, if that is more", [52.3, 52.3, 52.3], null, { tolerance: 0.01 }],
    ["three that lost more than the threshold", [52.2, 52.2, 52.2], expect.any(String), { tolerance: 0.01 }],
    [
      "three of a kind that nobody recorded",
      [20, 20, 20],
      "All 3 GPUs reach 20 GB/s in h2d pinned 64 MiB, 36 % of other GPUs' rates over such a link; there is no reference for this kind.",
      { isOfKind: false },
    ],
    [
      "one of such a kind",
      [20],
      expect.stringMatching(/^Its only GPU reaches 20 GB\/s/),
      { isOfKind: false },
    ],
  ])("tells a group that is slow as a whole: %s", (_, figures, sentence, more) => {
    const request = { nodes: nodes(figures.map((one) => [one])), referenceOf: referenceOf(more) };
    expect(judged([], request).groups[0]!.slowAsAWhole).toEqual(sentence);
  });
});

describe("a site's own reference", () => {
  const l4Link = { generation: 4, width: 8 };
  const limits = { h200: 63.015, l4: 15.754 };
  const l4 = (host: string, figures: GpuFigures) =>
    fleetNode(
      host,
      [figures],
      { facts: { ...facts, gpu: "L4", linkCapability: "gen4 x8", gpuCount: "1" } },
      () => ({
        name: "L4",
        linkCapability: l4Link,
      }),
    );
  const referenceOf = (all: readonly NodeFigures[]) => siteReferenceOf(judged([], { nodes: all })).listed;
  const both = (h2d: number, d2h = h2d): GpuFigures => ({ pinned: h2d, back: d2h });
  const eight = (figures: (node: number) => readonly GpuFigures[]) =>
    nodes(Array.from({ length: 8 }, (_, node) => figures(node)));

  it("has each model's median share of its own link, by direction", () => {
    const all = [
      ...eight((node) => [both(50 + 0.01 * node, 40)]),
      ...[10, 10.1, 10.2].map((figure, i) => l4(`x${i}`, both(figure, 9))),
    ];
    expect(referenceOf(all)).toEqual([
      {
        gpu: "NVIDIA H200",
        alone: { h2d: expect.closeTo(50.035 / limits.h200, 3), d2h: expect.closeTo(40 / limits.h200, 3) },
        together: null,
        tolerance: 0.05,
        sources: ["8 nodes of this site, 2026-11-20, driver 580"],
        driver: "580",
      },
      {
        gpu: "L4",
        alone: { h2d: expect.closeTo(10.1 / limits.l4, 3), d2h: expect.closeTo(9 / limits.l4, 3) },
        together: null,
        tolerance: 0.05,
        sources: ["3 nodes of this site, 2026-11-20, driver 580"],
        driver: "580",
      },
    ]);
  });

  it.each<[string, (node: number) => GpuFigures[], number]>([
    ["5 % at least", (node) => [both(node === 3 ? 49 : 50, 40)], 0.05],
    [
      "twice what the lowest healthy GPU is below the median",
      (node) => [both(node === 3 ? 48.5 : 50, 40)],
      0.06,
    ],
    [
      "that of the wider direction, of any GPU",
      (node) => [both(50, 40), both(50, node === 5 ? 38.4 : 40)],
      0.08,
    ],
    [
      "half at most, of GPUs that are so far apart that none is slow",
      (node) => [both(25 + 4 * node, 40)],
      0.5,
    ],
  ])("tolerates %s", (_, figures, tolerance) => {
    expect(referenceOf(eight(figures))[0]!.tolerance).toBe(tolerance);
  });

  it("names a driver only if all groups have it", () => {
    const first = eight((node) => [both(50 + node / 100)]);
    const second = first.map((node, i) => ({
      ...node,
      ...{ host: `m${i}`, facts: { ...node.facts, driver: "570" } },
    }));
    const [listed] = referenceOf([...first, ...second]);
    expect(listed).toMatchObject({ driver: null, sources: ["16 nodes of this site, 2026-11-20"] });
  });

  it("never exceeds the link, needs both directions, and a link that is known", () => {
    expect(referenceOf(eight(() => [both(70)]))[0]!.alone).toEqual({ h2d: 1, d2h: 1 });
    expect(() => referenceOf(eight(() => [50]))).toThrow("no reference can be made");
    const unknown = eight(() => [both(50)]).map((node) => ({
      ...node,
      facts: { ...node.facts, linkCapability: null },
    }));
    expect(() => referenceOf(unknown)).toThrow("no reference can be made");
    const [first] = eight(() => [both(50)]);
    expect(referenceOf([first!])[0]!.sources).toEqual(["1 node of this site, 2026-11-20, driver 580"]);
  });

  it("has what several GPUs reach together, of the largest number that copied", () => {
    const more = (count: number, h2d: number) =>
      (["h2d", "d2h"] as const).map((moved) => {
        const which = Array.from({ length: count }, (_, i) => i).join("-");
        return [keyOf(kind(`${moved}/${plain}/together-${which}`, "GB/s", moved)), h2d] as const;
      });
    const figures = (...ofMore: (readonly [string, number])[]) =>
      new Map([[keys.pinned, 50], [keys.back, 50], ...ofMore]);
    const of = (map: Map<string, number>) =>
      referenceOf(
        Array.from({ length: 8 }, (_, i) => fleetNode(`n${i}`, [{}], {}, () => ({ figures: map }))),
      )[0]!.together;
    expect(of(figures(...more(2, 45), ...more(4, 30)))).toEqual({
      devices: 4,
      h2d: expect.closeTo(30 / limits.h200, 3),
      d2h: expect.closeTo(30 / limits.h200, 3),
    });
    expect(of(figures(...more(2, 45).slice(0, 1)))).toBeNull();
  });

  it("leaves out nodes that are slow or failed, and groups that are slow as a whole, in part or at a place", () => {
    const slow = eight((node) => [both(node === 3 ? 30 : 50 + 0.01 * (node % 3))]);
    expect(referenceOf(slow)[0]!.sources).toEqual(["7 nodes of this site, 2026-11-20, driver 580"]);
    const wrong = slow.map((node, i) =>
      i === 5 ? { ...node, state: "wrong data" as const, reason: "wrong" } : node,
    );
    expect(referenceOf(wrong)[0]!.sources).toEqual(["6 nodes of this site, 2026-11-20, driver 580"]);
    expect(() => referenceOf(eight((node) => [both(node < 4 ? 30 : 50)]))).toThrow("no reference");
    expect(() => referenceOf(eight(() => [both(50), both(40)]))).toThrow("no reference");
    const even = eight(() => [both(50)]);
    const { groups, ...document } = judged([], { nodes: even });
    const slowAsAWhole = groups.map((group) => ({ ...group, slowAsAWhole: "All are slow." }));
    expect(() => siteReferenceOf({ ...document, groups: slowAsAWhole })).toThrow("no reference");
    // A smaller slow part is of nodes that are named, beside which the others are healthy.
    expect(referenceOf(eight((node) => [both(node < 3 ? 30 : 50)]))[0]!.sources).toEqual([
      "5 nodes of this site, 2026-11-20, driver 580",
    ]);
  });

  const name = "NVIDIA A100-SXM4-80GB";
  const a100 = (host: string, rate: number, more: object = {}) =>
    fleetNode(
      host,
      [both(rate), both(rate * 1.0001)],
      { facts: { ...facts, gpu: name, linkCapability: "gen4 x16", gpuCount: "2", ...more } },
      () => ({
        name,
        linkCapability: { generation: 4, width: 16 },
      }),
    );
  const site = (rate = 24, more: object = {}) =>
    Array.from({ length: 8 }, (_, i) => a100(`a${i}`, rate * (1 + i / 1e5), more));
  const ofSite = siteReferenceOf(judged([], { nodes: site() }));
  const bySite: ReferenceOf = (device, ofLink) => expectationOf(device, ofLink, ofSite);

  it("names a slow node of its kind later, if it is one of two", () => {
    const two = [a100("b0", 24), a100("b1", 19)];
    const named = (of: ReferenceOf) =>
      judged([], { nodes: two, referenceOf: of }).outliers.map(({ host }) => host);
    expect([named(bySite), named(expectationOf)]).toEqual([["b1"], []]);
  });

  it("is in doubt with another driver, and if the GPUs are faster", () => {
    const doubtsOf = (nodes: NodeFigures[]) => judged([], { nodes, referenceOf: bySite }).doubts;
    expect([...doubtsOf(site()), ...doubtsOf(site(24 * 1.04))]).toEqual([]);
    expect(doubtsOf(site(24, { driver: "590.1" }))).toEqual([
      "The reference was written with driver 580, and these nodes have 590.1. If the nodes are healthy, make it again with --format reference.",
    ]);
    expect(doubtsOf(site(24 * 1.12))).toEqual([
      expect.stringMatching(
        /^NVIDIA A100-SXM4-80GB: 12 % faster than the reference in [hd]2[dh] pinned 64 MiB \(this site's own recordings .*2026-11-20, driver 580\)\), so it misses losses\. If/,
      ),
    ]);
  });
});
