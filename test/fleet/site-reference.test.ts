import { describe, expect, it } from "vitest";
import type { ReferenceOf } from "../../src/fleet/absolute-rule.js";
import { keyOf, type NodeFigures } from "../../src/fleet/node-figures.js";
import { siteReferenceOf } from "../../src/fleet/report/site-reference.js";
import { expectationOf } from "../../src/reference/expectation.js";
import { judged } from "../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, keys } from "../helpers/plain-nodes.js";

const kind = (cell: string, moved: "h2d" | "d2h") => ({ cell, moved, unit: "GB/s" }) as const;
const plain = "pinned/67108864/w1/throughput/cold";
const nodes = (gpus: readonly (readonly GpuFigures[])[]) =>
  gpus.map((ofNode, i) => fleetNode(`n${i}`, ofNode));

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
      "twice the loss of the lowest healthy GPU below the median",
      (node) => [both(node === 3 ? 48.5 : 50, 40)],
      0.06,
    ],
    [
      "twice the largest loss of a healthy GPU in either direction",
      (node) => [both(50, 40), both(50, node === 5 ? 38.4 : 40)],
      0.08,
    ],
    ["at most 50 %, even if GPUs differ so much that none is slow", (node) => [both(25 + 4 * node, 40)], 0.5],
  ])("tolerates %s", (_, figures, tolerance) => {
    expect(referenceOf(eight(figures))[0]!.tolerance).toBe(tolerance);
  });

  it("names a driver only if all nodes have it", () => {
    const first = eight((node) => [both(50 + node / 100)]);
    const second = first.map((node, i) => ({
      ...node,
      ...{ host: `m${i}`, facts: { ...node.facts, driver: "570" } },
    }));
    const [listed] = referenceOf([...first, ...second]);
    expect(listed).toMatchObject({ driver: null, sources: ["16 nodes of this site, 2026-11-20"] });
  });

  it("never exceeds the link's limit, and needs both directions and a known link", () => {
    expect(referenceOf(eight(() => [both(70)]))[0]!.alone).toEqual({ h2d: 1, d2h: 1 });
    expect(() => referenceOf(eight(() => [50]))).toThrow("no reference can be made");
    const unknown = eight(() => [both(50)]).map((node) => ({
      ...node,
      facts: { ...node.facts, linkCapability: null },
    }));
    expect(() => referenceOf(unknown)).toThrow("no reference can be made");
  });

  it("has the rates of simultaneous copies for the largest number of GPUs", () => {
    const more = (count: number, h2d: number) =>
      (["h2d", "d2h"] as const).map((moved) => {
        const which = Array.from({ length: count }, (_, i) => i).join("-");
        return [keyOf(kind(`${moved}/${plain}/together-${which}`, moved)), h2d] as const;
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

  it("leaves out nodes that are slow, failed or without a similar one, and groups with a slower part", () => {
    const slow = eight((node) => [both(node === 3 ? 30 : 50 + 0.01 * (node % 3))]);
    expect(referenceOf(slow)[0]!.sources).toEqual(["7 nodes of this site, 2026-11-20, driver 580"]);
    const wrong = slow.map((node, i) =>
      i === 5 ? { ...node, state: "wrong data" as const, reason: "wrong" } : node,
    );
    expect(referenceOf(wrong)[0]!.sources).toEqual(["6 nodes of this site, 2026-11-20, driver 580"]);
    expect(() => referenceOf(eight((node) => [both(node < 4 ? 30 : 50)]))).toThrow("no reference");
    expect(() => referenceOf(nodes([[both(50)]]))).toThrow("no reference");
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

  it("later finds the slow one of two nodes of that model", () => {
    const two = [a100("b0", 24), a100("b1", 19)];
    const named = (of: ReferenceOf) =>
      judged([], { nodes: two, referenceOf: of }).outliers.map(({ host }) => host);
    expect([named(bySite), named(expectationOf)]).toEqual([["b1"], []]);
  });
});
