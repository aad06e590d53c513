import { describe, expect, it } from "vitest";
import { scatterOfHealthy } from "../../src/fleet/figure-noise.js";
import { keyOf } from "../../src/fleet/node-figures.js";
import { fleetAnswer } from "../../src/fleet/report/fleet-answer.js";
import { countGpus, fleetCellNames } from "../../src/fleet/report/fleet-text.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode, fleetNodes, type GpuFigures, nodesOf, wobble } from "../helpers/plain-nodes.js";

/** Figures that say nothing about a GPU, and what is said of the others then. */

const fleetOf = (nodes: ReturnType<typeof fleetNodes>) => judged([], { nodes });
const alone = (...figures: GpuFigures[]) => fleetOf(fleetNodes(figures.map((figure) => [figure])));

describe("figures above what a link carries", () => {
  it("do not count: the clock is wrong, and the others are the centre", () => {
    const { groups, nodes, outliers } = alone(50, 50.1, 83, 49.9);
    expect(groups[0]!.cells[0]).toMatchObject({
      figures: 3,
      centre: expect.closeTo(50),
      highest: expect.closeTo(50.1),
    });
    expect(groups[0]!.slowPart).toBeNull();
    expect(outliers).toEqual([]);
    expect(nodes[2]).toMatchObject({ state: "incomplete", action: "monitor" });
    expect(nodes[2]!.reason).toBe(
      "GPU 0: 83 GB/s in h2d pinned 64 MiB is more than its link carries (63 GB/s), so this figure does not count; look at the machine's clock",
    );
    expect(alone(50, 50, { pinned: 83, back: 84 }, 50).nodes[2]!.reason).toMatch(
      /^GPU 0: 84 GB\/s in d2h pinned 64 MiB .* 2 such figures do not count/,
    );
    const two = fleetOf(
      fleetNodes([
        [50, 50],
        [83, 84],
        [50, 50],
      ]),
    ).nodes[1]!;
    expect(two.reason).toMatch(/^GPU 0, 1: up to 84 GB\/s .* 2 such figures do not count/);
    const second = [50, 83, 50].map((figure) => [50, figure]);
    expect(fleetOf(fleetNodes(second)).nodes[1]!.reason).toMatch(/^GPU 1: 83 GB\/s /);
    // Of pinned copies most, whatever else there is, which counts.
    const more = alone(50, 50, { pinned: 83, pageable: 10, latency: 4 }, 50);
    expect(more.nodes[2]!.reason).toMatch(/^GPU 0: 83 GB\/s /);
    expect(more.groups[0]!.cells.map(({ figures }) => figures)).toEqual([3, 1, 1]);
  });

  it("count up to 2 % above it, of latencies, and if most GPUs have them: then the link is misread", () => {
    const reasons = ({ nodes }: ReturnType<typeof alone>) => nodes.flatMap(({ reason }) => reason ?? []);
    expect(reasons(alone(50, 50, 64.2, 50))).toEqual([]);
    expect(reasons(alone(50, 50, { pinned: 83, back: 50 }, 50))).toEqual([]);
    expect(reasons(alone(50, 50, { latency: 83 }, 50))).toEqual([]);
    expect(reasons(alone(80, 80, 80, 50))).toEqual([]);
    const half = alone(83, 83, 50, 50);
    expect({ wrong: reasons(half).length, doubts: half.doubts }).toEqual({ wrong: 2, doubts: [] });
    const unknown = nodesOf(4, (node) => [node === 2 ? 83 : 50]).map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, linkCapability: null })),
    }));
    expect(reasons(fleetOf(unknown))).toEqual([]);
    // The first one's link can do less than those of the others.
    const mixed = nodesOf(4, (node) => [node === 0 ? 25 : 50, 50]);
    const { linkCapability, ...first } = mixed[0]!.devices[0]!;
    const narrow = { ...first, linkCapability: { ...linkCapability!, width: 8 } };
    mixed[0] = { ...mixed[0]!, devices: [narrow, mixed[0]!.devices[1]!] };
    expect({ reasons: reasons(fleetOf(mixed)), doubts: fleetOf(mixed).doubts }).toEqual({
      reasons: [],
      doubts: [],
    });
    const within = keyOf({ cell: "d2d/device/67108864/w1/throughput/wall/cold", moved: "d2d", unit: "GB/s" });
    const copied = nodesOf(4, () => [50]).map((node) => ({
      ...node,
      devices: node.devices.map((one) => ({ ...one, figures: new Map([...one.figures, [within, 1500]]) })),
    }));
    expect(fleetOf(copied).doubts).toEqual([]);
  });
});

describe("a part of so few nodes that one process may be far off", () => {
  it("is told if another cell shows the same slow nodes, or if there is no other", () => {
    const partOf = (...figures: GpuFigures[]) => alone(...figures).groups[0]!.slowPart?.hosts ?? null;
    const slow = { pinned: 25, back: 25 };
    const fast = { pinned: 50, back: 50 };
    expect(partOf(slow, fast)).toEqual(["n00"]);
    expect(partOf({ ...fast, pinned: 25 }, fast)).toBeNull();
    expect(partOf(25, 50)).toEqual(["n00"]);
    expect(partOf(slow, slow, slow, fast)).toEqual(["n00", "n01", "n02"]);
    expect(partOf(slow, slow, slow, { ...slow, pinned: 50 })).toBeNull();
    expect(partOf({ pinned: 25, back: 50 }, { pinned: 50, back: 25 })).toBeNull();
    // A cell of another kind speaks for itself alone.
    const ofOther = alone({ ...fast, pinned: 25, pageable: 5 }, { ...fast, pageable: 10 });
    expect(ofOther.groups[0]!.slowPart!.reason).toContain("in h2d pageable 64 MiB");
    // Four nodes of which two are slow are no single process.
    expect(partOf({ ...fast, pinned: 25 }, { ...fast, pinned: 25 }, fast, fast)).toEqual(["n00", "n01"]);
  });
});

describe("the scatter of GPUs that are not called slow", () => {
  const kind = { cell: "h2d/pinned/67108864/w1/throughput/wall/cold", moved: "h2d", unit: "GB/s" } as const;
  const of = (spare: number, ...residuals: number[]) =>
    scatterOfHealthy([{ kind, residuals, spare }], ["NVIDIA H200"]);

  it("is none if it may be recorded, or if nothing or enough shows it otherwise", () => {
    expect(of(3, 0.002, -0.002, 0.001, 0)).toBe(0);
    expect(of(0)).toBe(0);
    expect(of(30, ...Array<number>(31).fill(0.03))).toBe(0);
  });

  it("is the mean square in recorded variances, in which one figure counts as six deviations at most", () => {
    expect(of(4, 0.02, -0.02, 0.02, -0.02, 0)).toBeGreaterThan(10);
    expect(of(8, 0.9, 0, 0, 0, 0, 0, 0, 0, 0)).toBe(36 / 8);
    expect(of(9, 0.9, 0, 0, 0, 0, 0, 0, 0, 0, 0)).toBe(4);
    expect(of(10, 0.9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)).toBe(0);
  });

  it("keeps a GPU from being called slow that is 6 % slower beside others that differ by 3 %", () => {
    const steady = (figure: number): GpuFigures => ({ pinned: figure, back: figure });
    const others = (by: number) => [steady(50), steady(50 * (1 + by)), { pinned: 50, back: 50 * (1 - by) }];
    expect(alone(...others(0.0005), { pinned: 46.5, back: 50 }).outliers.map(({ host }) => host)).toEqual([
      "n03",
    ]);
    expect(alone(...others(0.03), { pinned: 46.5, back: 50 }).outliers).toEqual([]);
  });
});

it("figures that are equal show no noise, and hide none that is slow", () => {
  const slowOf = (...figures: number[]) => alone(...figures).outliers.map(({ host }) => host);
  expect(slowOf(50, 50, 50, 25, 50, 50)).toEqual(["n03"]);
  expect(slowOf(50, 50, 50, 50, 50, 50)).toEqual([]);
});

describe("nodes that have figures, but no valid result", () => {
  const wrong = { state: "wrong data", reason: "copies of GPU 0 came back wrong" } as const;
  const answerOf = (ofWrong: readonly GpuFigures[]) => {
    const healthy = nodesOf(4, (node) => [50 * wobble(node), {}, 50 * wobble(node + 1)]);
    const document = fleetOf([...healthy, fleetNode("n09", ofWrong, wrong)]);
    expect(document.groups[0]!.devices).toBe(countGpus(document));
    return fleetAnswer(document, fleetCellNames(document, { showsIds: false })).map(({ text }) => text);
  };

  it("are judged and counted as others, in which GPUs without figures do not count", () => {
    expect(answerOf([50, {}, 49.99])[0]).toBe("none of 5 nodes (10 GPUs) is slower than similar ones");
    expect(answerOf([25, {}, 25])[0]).toMatch(/^1 of 5 nodes is slow: all GPUs of n09 /);
    expect(answerOf([50, {}, 49.99])[1]).toBe(
      "1 node copied wrong data: n09 (copies of GPU 0 came back wrong): isolate",
    );
  });
});

it("calls no GPUs of a kind slow that nobody has recorded", () => {
  const expectation = { h2d: 55, d2h: 50, tolerance: 0.1, source: "links", isOfKind: false, together: null };
  const wholeOf = (...figures: number[]) =>
    judged([], { nodes: fleetNodes(figures.map((one) => [one])), referenceOf: () => expectation as never })
      .groups[0]!.slowAsAWhole;
  expect(wholeOf(20, 20, 20)).toBe(
    "All 3 GPUs reach 20 GB/s in h2d pinned 64 MiB, 36 % of other GPUs' rates over such a link; there is no reference for this kind.",
  );
  expect(wholeOf(20)).toMatch(/^Its only GPU reaches 20 GB\/s/);
});
