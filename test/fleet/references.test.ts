import { describe, expect, it } from "vitest";
import { siteReferenceOf } from "../../src/fleet/judge-results.js";
import type { NodeGroup } from "../../src/fleet/node-figures.js";
import { keyOf, type NodeFigures } from "../../src/fleet/node-figures.js";
import { groupReference, type ReferenceOf, referenceCell } from "../../src/fleet/reference-share.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, keys } from "../helpers/plain-nodes.js";

const kind = (cell: string, unit: "GB/s" | "us" = "GB/s", moved: "h2d" | "d2h" = "h2d") =>
  ({ cell, moved, unit }) as const;
const plain = "pinned/67108864/w1/throughput/wall/cold";
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
    ["h2d/pageable/67108864/w1/throughput/wall/cold", false],
    ["h2d/pinned/33554432/w1/throughput/wall/cold", true],
    ["h2d/pinned/33554431/w1/throughput/wall/cold", false],
    ["h2d/pinned/67108864/w2/throughput/wall/cold", false],
    ["h2d/pinned/67108864/w1/throughput/wall/warm", false],
    [`h2d/${plain}/process`, false],
    [`h2d/${plain}/beside-compute`, false],
    [`h2d/${plain}/chunks-4`, false],
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
  const rate = (cell: string, more: object = {}) =>
    groupReference(group([{ name: "H200", ...link(5, 16) }]), referenceOf(more)).of(0, 0, keyOf(kind(cell)))
      ?.rate ?? null;

  it("has a rate by direction, and by how many copy together", () => {
    expect(rate(`h2d/${plain}`)).toBe(55);
    expect(rate(`d2h/${plain}`)).toBe(50);
    expect(rate(`h2d/${plain}/together-0-1`)).toBe(45);
    expect(rate(`d2h/${plain}/together-0-1`)).toBe(40);
    expect(rate(`h2d/${plain}/together-0-1-2`)).toBeNull();
    expect(rate(`h2d/${plain}/together-0-1`, { together: null })).toBeNull();
    expect(rate(`h2d/${plain}/process`)).toBeNull();
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

  it("is none without a link, without references, and of kinds that these do not know", () => {
    const devices = [{ name: "H200", linkCapability: null }];
    expect(groupReference(group(devices), referenceOf()).of(0, 0, keys.pinned)).toBeNull();
    const known = group([{ name: "H200", ...link(5, 16) }]);
    expect(groupReference(known, null).of(0, 0, keys.pinned)).toBeNull();
    expect(groupReference(known, () => null).of(0, 0, keys.pinned)).toBeNull();
  });

  it("judges GPUs of recorded kinds alone, with what these tolerate", () => {
    const one = group([{ name: "H200", ...link(5, 16) }]);
    expect(groupReference(one, referenceOf()).knownOf(0, 0, keys.pinned)).toEqual({
      speed: Math.log(55),
      tolerated: expect.closeTo(-Math.log(0.9)),
    });
    expect(groupReference(one, referenceOf({ isOfKind: false })).knownOf(0, 0, keys.pinned)).toBeNull();
    expect(groupReference(one, referenceOf({ isOfKind: false })).of(0, 0, keys.pinned)).not.toBeNull();
    expect(groupReference(one, null).knownOf(0, 0, keys.pinned)).toBeNull();
  });

  const wholeOf = (figures: GpuFigures[], more: object = {}) =>
    judged([], { nodes: nodes(figures.map((one) => [one])), referenceOf: referenceOf(more) }).groups[0]!
      .slowAsAWhole;

  it("tells a group whose fastest GPU is below it, in the cell that lost most, with the range", () => {
    expect(wholeOf([40, 40.2, 39.8, 40])).toBe(
      "All 4 GPUs are slow: 39.8 to 40.2 GB/s in h2d pinned 64 MiB, 72 to 73 % of healthy machines' rates (recordings).",
    );
    expect(
      wholeOf([
        { pinned: 40, back: 20 },
        { pinned: 40, back: 20 },
      ]),
    ).toBe(
      "All 2 GPUs are slow: 20 GB/s in d2h pinned 64 MiB, 40 % of healthy machines' rates (recordings).",
    );
    expect(wholeOf([20])).toMatch(/^Its only GPU is slow: 20 GB\/s in h2d pinned 64 MiB, 36 % of healthy/);
    expect(wholeOf([40, 40, 55, 40])).toBeNull();
    expect(wholeOf([{ pageable: 1 }])).toBeNull();
  });

  it("tolerates what its kind does, or the threshold if that is more", () => {
    expect(wholeOf([49.6, 49.6, 49.6])).toBeNull();
    expect(wholeOf([49.4, 49.4, 49.4])).not.toBeNull();
    expect(wholeOf([52.3, 52.3, 52.3], { tolerance: 0.01 })).toBeNull();
    expect(wholeOf([52.2, 52.2, 52.2], { tolerance: 0.01 })).not.toBeNull();
    expect(wholeOf([20, 20, 20], { isOfKind: false })).toMatch(
      /36 % of other GPUs' rates over such a link; there is no reference for this kind\.$/,
    );
  });
});

describe("a site's reference, by hand", () => {
  const l4Link = { generation: 4, width: 8 };
  const limits = { h200: 63.015, l4: 15.754 };
  const l4 = (host: string, figures: GpuFigures) =>
    fleetNode(host, [figures], { facts: { ...facts, gpu: "L4", gpuCount: "1" } }, () => ({
      name: "L4",
      linkCapability: l4Link,
    }));
  const referenceOf = (all: readonly NodeFigures[]) =>
    siteReferenceOf(all, judged([], { nodes: all })).listed;
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

  it("names a driver only if all have it", () => {
    const nodes = eight((node) => [both(50 + node / 100)]);
    const other = { ...nodes[7]!, facts: { ...nodes[7]!.facts, driver: "570" } };
    const [listed] = referenceOf([...nodes.slice(0, 7), other]);
    expect(listed).toMatchObject({ driver: null, sources: ["8 nodes of this site, 2026-11-20"] });
  });

  it("tolerates twice what the lowest healthy GPU is below the median, from 5 % up to half", () => {
    const toleranceOf = (lowest: number) =>
      referenceOf(eight((node) => [both(node === 3 ? lowest : 50, 40)]))[0]!.tolerance;
    expect(toleranceOf(49)).toBe(0.05);
    expect(toleranceOf(48.5)).toBe(0.06);
    expect(toleranceOf(48)).toBe(0.08);
    // So far apart that none is called slow.
    expect(referenceOf(eight((node) => [both(25 + 4 * node, 40)]))[0]!.tolerance).toBe(0.5);
  });

  it("never exceeds the link, needs both directions, and a link that is known", () => {
    expect(referenceOf(eight(() => [both(70)]))[0]!.alone).toEqual({ h2d: 1, d2h: 1 });
    expect(() => referenceOf(eight(() => [50]))).toThrow("no reference can be written");
    const unknown = eight(() => [both(50)]).map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, linkCapability: null })),
    }));
    expect(() => referenceOf(unknown)).toThrow("no reference can be written");
    const [first, ...others] = eight(() => [both(50)]);
    expect(referenceOf([unknown[0]!, ...others])[0]!.sources).toEqual([
      "7 nodes of this site, 2026-11-20, driver 580",
    ]);
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
    expect(() => siteReferenceOf(even, { ...document, groups: slowAsAWhole })).toThrow("no reference");
    // A smaller slow part is of nodes that are named, beside which the others are healthy.
    expect(referenceOf(eight((node) => [both(node < 3 ? 30 : 50)]))[0]!.sources).toEqual([
      "5 nodes of this site, 2026-11-20, driver 580",
    ]);
  });
});
