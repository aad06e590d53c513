import { describe, expect, it } from "vitest";
import { fleetSchema } from "../../src/fleet/fleet-document.js";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import { judged, nodeResult, nodeResults, pinnedAt } from "../helpers/node-results.js";
import { buildLink, buildMismatch } from "../helpers/result-document.js";

describe("twelve nodes of two GPUs each, with little noise", () => {
  it("have no outlier where all are healthy, and say where they stand", () => {
    const fleet = judged(nodeResults(12));
    expect(fleetSchema.parse(fleet)).toEqual(fleet);
    expect(fleet).toMatchObject({ outliers: [], cleared: [] });
    expect(fleet.groups).toHaveLength(1);
    const [group] = fleet.groups;
    expect(group).toMatchObject({ nodes: 12, devices: 24, slowPart: null, tooFew: null, notes: [] });
    expect(group!.cells.map(({ figures, unit }) => [figures, unit])).toEqual([
      [24, "GB/s"],
      [24, "GB/s"],
      [24, "us"],
    ]);
    const [pinned, pageable, latency] = group!.cells;
    expect(pinned!.centre).toBeCloseTo(55, 0);
    // What is called slow, and what a slow GPU's figure may be higher by.
    expect(pinned!.leastLoss).toBeGreaterThan(0.05);
    expect(pinned!.leastLoss).toBeLessThan(0.07);
    expect(pageable!.leastLoss).toBeGreaterThan(0.15);
    expect(pageable!.logDeviation).toBeGreaterThan(pinned!.logDeviation);
    expect(latency!.centre).toBeCloseTo(2, 1);
    expect(latency!.lowest).toBeLessThan(latency!.highest);
  });

  it("name the one GPU that is slow, what of it, and by how much", () => {
    const fleet = judged(nodeResults(12, { n07: { speed: pinnedAt(0.5, 1) } }));
    expect(fleet.outliers).toHaveLength(1);
    const [outlier] = fleet.outliers;
    expect(outlier).toMatchObject({ host: "n07", device: 1, uuid: "GPU-n07-1", confirmed: null, group: 0 });
    expect(outlier!.cells).toHaveLength(1);
    expect(outlier!.cells[0]!.change).toBeCloseTo(-0.5, 1);
    expect(outlier!.cells[0]!.adjustedPValue).toBeLessThan(0.01);
    expect(outlier!.reason).toMatch(
      /^n07's GPU 1 is 50 % slower in h2d pinned 64 MiB: 27\.\d instead of (54\.9|55)(\.\d)? GB\/s\.$/,
    );
  });

  it("name the node if all of its GPUs are slow alike", () => {
    const { outliers } = judged(nodeResults(12, { n07: { speed: pinnedAt(0.8) } }));
    expect(outliers.map(({ host, device, uuid }) => [host, device, uuid])).toEqual([["n07", null, null]]);
    expect(outliers[0]!.reason).toContain("n07 as a whole is 20 % slower in h2d pinned 64 MiB");
  });

  it("name a GPU besides, that is slower yet than its slow node", () => {
    const speed = (gpu: number) => (gpu === 3 ? 0.4 : 0.8);
    const parts = Object.fromEntries(nodeResults(12).map(({ host }) => [host!.hostname, { gpus: 4 }]));
    const { outliers } = judged(nodeResults(12, { ...parts, n02: { gpus: 4, speed } }));
    expect(outliers.map(({ host, device }) => [host, device])).toEqual([
      ["n02", 3],
      ["n02", null],
    ]);
  });

  it("take a long latency for slow, and a short one for fast", () => {
    const latencyAt =
      (times: number) =>
      (gpu: number, { mode }: { mode: string }) =>
        gpu === 0 && mode === "latency" ? times : 1;
    const { outliers } = judged(
      nodeResults(12, { n01: { speed: latencyAt(0.2) }, n02: { speed: latencyAt(5) } }),
    );
    expect(outliers.map(({ host, device }) => [host, device])).toEqual([["n01", 0]]);
    expect(outliers[0]!.cells[0]!.change).toBeCloseTo(-0.8, 1);
    expect(outliers[0]!.reason).toMatch(/takes 5\.?\d* times as long in h2d pinned 4 KiB latency: .* µs\.$/);
  });

  it("do not tell a loss below the threshold, however clear it is", () => {
    const slightly = nodeResults(12, { n07: { speed: pinnedAt(0.96) } });
    expect(judged(slightly).outliers).toEqual([]);
    const finer = judged(slightly, { rule: { significance: 0.01, threshold: 0.02 } });
    expect(finer.outliers.map(({ host }) => host)).toEqual(["n07"]);
  });

  it("do not take a pageable figure for slow that a single process may be off by", () => {
    const speed = (gpu: number, { memory }: { memory: string }) =>
      gpu === 0 && memory === "pageable" ? 0.8 : 1;
    expect(judged(nodeResults(12, { n07: { speed } })).outliers).toEqual([]);
  });

  it("list the slowest first", () => {
    const { outliers } = judged(
      nodeResults(12, { n03: { speed: pinnedAt(0.8, 0) }, n09: { speed: pinnedAt(0.25, 0) } }),
    );
    expect(outliers.map(({ host }) => host)).toEqual(["n09", "n03"]);
  });

  it("say what a slow GPU's link and its node's settings have to do with it", () => {
    const narrow = (gpu: number) =>
      gpu === 1
        ? {
            link: buildLink({ width: 8 }),
          }
        : {};
    const document = { host: { governor: "powersave" } };
    const others = Object.fromEntries(
      nodeResults(12).map(({ host }) => [
        host!.hostname,
        { document: { host: { governor: "performance" } } },
      ]),
    );
    const fleet = judged(
      nodeResults(12, { ...others, n07: { speed: pinnedAt(0.5, 1), device: narrow, document } }),
    );
    expect(fleet.groups).toHaveLength(1);
    expect(fleet.outliers[0]!.evidence).toEqual([
      "Its link ran at gen5 x8 under load, and can do gen5 x16.",
      "Its governor: powersave; 11 of 12 nodes have performance.",
    ]);
  });

  it("compare a link of unknown capability with those of most GPUs", () => {
    const unknown = { generation: 5, width: 8, maxGeneration: null, maxWidth: null };
    const narrow = (gpu: number) =>
      gpu === 1 ? { link: { ...unknown, smClockMHz: null, memoryClockMHz: null } } : {};
    const fleet = judged(nodeResults(12, { n07: { speed: pinnedAt(0.5, 1), device: narrow } }));
    expect(fleet.outliers[0]!.evidence).toContain(
      "Its link ran at gen5 x8 under load, slower than most of its group.",
    );
  });

  it("do not name a GPU besides its slow node that is hardly slower than that", () => {
    const speed = (gpu: number, cell: Parameters<ReturnType<typeof pinnedAt>>[1]) =>
      pinnedAt(gpu === 3 ? 0.78 : 0.8)(gpu, cell);
    const parts = Object.fromEntries(nodeResults(12).map(({ host }) => [host!.hostname, { gpus: 4 }]));
    const { outliers } = judged(nodeResults(12, { ...parts, n02: { gpus: 4, speed } }));
    expect(outliers.map(({ host, device }) => [host, device])).toEqual([["n02", null]]);
  });

  it("nor for another cell, in which the GPU alone has lost hardly more than the node in its own", () => {
    const speed = (gpu: number, cell: Parameters<ReturnType<typeof pinnedAt>>[1]) =>
      cell.memory === "pageable" && gpu === 3 ? 0.58 : pinnedAt(0.6)(gpu, cell);
    const parts = Object.fromEntries(nodeResults(12).map(({ host }) => [host!.hostname, { gpus: 4 }]));
    const { outliers } = judged(nodeResults(12, { ...parts, n02: { gpus: 4, speed } }));
    expect(outliers.map(({ host, device }) => [host, device])).toEqual([["n02", null]]);
  });

  it("say what a node lacks that its like have, and hold the rest of it against them", () => {
    const fleet = judged([...nodeResults(11), nodeResult("n11", { gpus: 1, speed: pinnedAt(0.5) })]);
    expect(fleet.groups).toHaveLength(1);
    expect(fleet.nodes.at(-1)!.reason).toBe(
      "it has 1 GPU, and similar nodes have 2; none is at 0000:20:00.0",
    );
    expect(fleet.outliers.map(({ host, device }) => [host, device])).toEqual([["n11", 0]]);
  });

  it("say of each of two nodes that it lacks a cell which most others have", () => {
    const results = nodeResults(12).map((result, i) => ({
      ...result,
      cells: result.cells.filter(({ mode }) => mode !== "latency" || (i !== 3 && i !== 5)),
    }));
    const noted = judged(results).nodes.filter(({ notes }) => notes.length > 0);
    expect(noted.map(({ host, notes }) => [host, notes])).toEqual(
      ["n03", "n05"].map((host) => [host, ["it has no figures of 1 of its group's 3 cells"]]),
    );
  });

  it("tell of wrong data and of failures, with the figures that there are", () => {
    const wrong = nodeResult("n12");
    const fleet = judged([
      ...nodeResults(12),
      { ...wrong, cells: [...wrong.cells.slice(1), buildMismatch({ device: 0, sizeBytes: 1024 })] },
      { ...nodeResult("n13"), cells: [] },
    ]);
    expect(
      fleet.nodes.slice(12).map(({ host, state, reason, group }) => [host, state, reason, group]),
    ).toEqual([
      ["n12", "wrong data", expect.stringMatching(/^copies of GPU 0 came back wrong at \d/), 0],
      ["n13", "failed", "its result has no figures", null],
    ]);
  });
});

describe("places", () => {
  it("whose GPU is slower on all nodes are reported, and compared with one another", () => {
    const builtSo = { speed: pinnedAt(0.8, 1) };
    const parts = Object.fromEntries(nodeResults(12).map(({ host }) => [host!.hostname, builtSo]));
    const fleet = judged(nodeResults(12, parts));
    expect(fleet.outliers).toEqual([]);
    expect(fleet.groups[0]!.slowPlaces.map(({ reason }) => reason)).toEqual([
      "Slot 1 (0000:20:00.0) is slow in all 12 nodes: 20 % slower than others in h2d pinned 64 MiB. The figures do not show whether this is by design; each is compared with GPUs in the same place.",
    ]);
    const slower = judged(nodeResults(12, { ...parts, n04: { speed: pinnedAt(0.6, 1) } }));
    expect(slower.outliers.map(({ host, device }) => [host, device])).toEqual([["n04", 1]]);
    expect(slower.outliers[0]!.cells[0]!.change).toBeCloseTo(-0.25, 1);
  });

  it.each([2, 3, 4])("are reported for %d nodes too, if all of these have them slower", (count) => {
    const builtSo = { gpus: 8, speed: pinnedAt(0.88, 7) };
    const parts = Object.fromEntries(nodeResults(count).map(({ host }) => [host!.hostname, builtSo]));
    const fleet = judged(nodeResults(count, parts));
    expect(fleet.outliers).toEqual([]);
    expect(fleet.groups[0]!.slowPlaces[0]!.reason).toContain(
      `Slot 7 (0000:80:00.0) is slow in all ${count} nodes: 12 % slower`,
    );
    const slower = judged(nodeResults(count, { ...parts, n01: { gpus: 8, speed: pinnedAt(0.5, 7) } }));
    expect(slower.outliers.map(({ host, device }) => [host, device])).toEqual([["n01", 7]]);
  });

  it("are not known of one node, which says so", () => {
    const [group] = judged(nodeResults(1, { n00: { gpus: 8, speed: pinnedAt(0.88, 7) } })).groups;
    expect(group!.tooFew).toMatch(
      /Its GPUs .*; one node does not show whether a slower GPU has a fault or is slower by design\.$/,
    );
  });
});

describe("two parts of a group", () => {
  const slowNodes = (count: number) =>
    Object.fromEntries(
      nodeResults(count).map(({ host }) => [
        host!.hostname,
        { speed: pinnedAt(0.5), document: { host: { kernel: "5.4.0" } } },
      ]),
    );

  it("are reported if half of the nodes are slow, and no node is named", () => {
    const fleet = judged(nodeResults(12, slowNodes(6)));
    expect(fleet.outliers).toEqual([]);
    const { slowPart } = fleet.groups[0]!;
    expect(slowPart!.hosts).toEqual(["n00", "n01", "n02", "n03", "n04", "n05"]);
    expect(slowPart!.reason).toMatch(
      /^The nodes fall into two parts: 6 with 27\.\d GB\/s \(n00, n01, n02 and 3 more\) and 6 with (54\.9|55)(\.\d)? GB\/s in h2d pinned 64 MiB\. Their figures do not show which part is healthy; the slow ones alone have kernel 5\.4\.0\.$/,
    );
  });

  it("do not hide a GPU that is slow among the slow", () => {
    const parts = { ...slowNodes(6), n02: { speed: pinnedAt(0.3, 0) } };
    const { outliers } = judged(nodeResults(12, parts));
    expect(outliers.map(({ host, device }) => [host, device])).toContainEqual(["n02", 0]);
  });

  it("have the slow one named, node by node, if it is the smaller one", () => {
    const { outliers, groups } = judged(nodeResults(12, slowNodes(4)));
    expect(outliers.map(({ host, device }) => [host, device]).sort()).toEqual(
      ["n00", "n01", "n02", "n03"].map((host) => [host, null]),
    );
    expect(groups[0]!.slowPart!.hosts).toHaveLength(4);
  });

  it("are no parts if a few are slow", () => {
    expect(judged(nodeResults(12, slowNodes(2))).groups[0]!.slowPart).toBeNull();
  });
});

describe("few nodes", () => {
  it("of one GPU each can tell a slow one from three on, and say what they cannot", () => {
    const single = (speed?: ReturnType<typeof pinnedAt>) => ({ gpus: 1, ...(speed && { speed }) });
    const fleet = judged(nodeResults(3, { n00: single(), n01: single(pinnedAt(0.5)), n02: single() }));
    expect(fleet.outliers.map(({ host, device }) => [host, device])).toEqual([["n01", 0]]);
    expect(fleet.groups[0]!.tooFew).toMatch(
      /^3 nodes of this kind are few: a GPU counts as slow only if it loses \d+(\.\d)? % in h2d pinned 64 MiB, and up to \d+ % in h2d .*\.$/,
    );
  });

  it("two of them say only which is the slower, and their GPUs are held against one another", () => {
    const two = (speed: ReturnType<typeof pinnedAt>) =>
      judged(nodeResults(2, { n01: { gpus: 4, speed }, n00: { gpus: 4 } }));
    const whole = two(pinnedAt(0.5));
    expect(whole.outliers).toEqual([]);
    expect(whole.groups[0]!.tooFew).toContain("n01 is 50 % slower than n00 in h2d pinned 64 MiB");
    expect(two(pinnedAt(0.5, 2)).outliers.map(({ host, device }) => [host, device])).toEqual([["n01", 2]]);
  });

  it("a single one has its GPUs alone to go by, and one GPU has nothing", () => {
    const eight = judged([nodeResult("n00", { gpus: 8, speed: pinnedAt(0.5, 5) })]);
    expect(eight.outliers.map(({ host, device }) => [host, device])).toEqual([["n00", 5]]);
    const one = judged([nodeResult("n00", { gpus: 1 })]);
    expect(one).toMatchObject({ outliers: [] });
    expect(one.groups[0]!.tooFew).toBe("1 node of this kind is too few to find which is slow.");
    expect(one.groups[0]!.cells.every(({ leastLoss }) => leastLoss === null)).toBe(true);
  });
});

describe("fresh processes on slow nodes", () => {
  const freshOf = (...results: ReturnType<typeof nodeResults>) => ({
    fresh: results.map((result) => figuresOfNode(result, null)),
  });
  const fleet = nodeResults(12, { n07: { speed: pinnedAt(0.5, 1) } });

  it("that copied wrong data make the node one that did, whatever its first process has found", () => {
    const again = nodeResult("n07");
    const mismatch = buildMismatch({ device: 0, sizeBytes: 1024 });
    const told = judged(fleet, freshOf({ ...again, cells: [...again.cells.slice(1), mismatch] }));
    expect(fleetSchema.parse(told).nodes[7]).toMatchObject({
      state: "wrong data",
      reason: expect.stringMatching(
        /^copies of GPU 0 came back wrong at .* UTC, when it was measured again$/,
      ),
    });
  });

  it("confirm an outlier that is slow again", () => {
    const again = nodeResult("n07", { speed: pinnedAt(0.5, 1), seed: 99 });
    expect(judged(fleet, freshOf(again)).outliers).toMatchObject([
      { host: "n07", device: 1, confirmed: true },
    ]);
  });

  it("confirm by the GPU itself, which may be the only one that was measured again", () => {
    const alone = { gpus: 1, device: () => ({ uuid: "GPU-n07-1" }), seed: 99 };
    const confirmedBy = (speed: number) =>
      judged(fleet, freshOf(nodeResult("n07", { ...alone, speed: pinnedAt(speed) })));
    expect(confirmedBy(0.5).outliers).toMatchObject([{ host: "n07", device: 1, confirmed: true }]);
    expect(confirmedBy(1).cleared).toMatchObject([{ host: "n07", device: 1, confirmed: false }]);
  });

  it("confirm one of four GPUs, though the others are healthy again", () => {
    const gpus = Object.fromEntries(nodeResults(12).map(({ host }) => [host!.hostname, { gpus: 4 }]));
    const slow = { gpus: 4, speed: pinnedAt(0.5, 2) };
    const again = nodeResult("n07", { ...slow, seed: 99 });
    expect(judged(nodeResults(12, { ...gpus, n07: slow }), freshOf(again)).outliers).toMatchObject([
      { host: "n07", device: 2, confirmed: true },
    ]);
  });

  it("clear one that is not, which is no outlier then", () => {
    const { outliers, cleared, suspects } = judged(fleet, freshOf(nodeResult("n07", { seed: 99 })));
    expect(outliers).toEqual([]);
    expect(cleared).toMatchObject([{ host: "n07", device: 1, confirmed: false }]);
    expect(suspects).toEqual(["n07"]);
  });

  it("leave open what they did not measure", () => {
    expect(judged(fleet, freshOf(nodeResult("n03"))).outliers).toMatchObject([
      { host: "n07", confirmed: null },
    ]);
  });

  it("make no outlier of a node that one figure was not enough for: machines differ as much the second time", () => {
    const speed = (_: number, { memory }: { memory: string }) => (memory === "pageable" ? 0.66 : 1);
    const many = nodeResults(60, { n07: { gpus: 1, speed } });
    const first = judged(many);
    expect(first).toMatchObject({ outliers: [], suspects: [] });
    const again = judged(many, freshOf(nodeResult("n07", { gpus: 1, speed, seed: 99 })));
    expect(again.outliers).toEqual([]);
  });
});

describe("a reference of healthy machines' rates", () => {
  const referenceOf = () => ({ h2d: 55, d2h: 55, together: null, tolerance: 0.05, source: "recordings" });

  it("shows a group that is slow as a whole", () => {
    const slow = { speed: pinnedAt(0.5) };
    const parts = Object.fromEntries(nodeResults(6).map(({ host }) => [host!.hostname, slow]));
    const [group] = judged(nodeResults(6, parts), { referenceOf }).groups;
    expect(group!.cells[0]!.shareOfReference).toBeCloseTo(0.5, 1);
    expect(group!.slowAsAWhole).toMatch(
      /^All 12 GPUs are slow: 27\.\d( to 27\.\d)? GB\/s in h2d pinned 64 MiB, 50 % of healthy machines' rates \(recordings\)\.$/,
    );
  });

  it("has nothing to say of a healthy group, and of cells that it is not about", () => {
    const [group] = judged(nodeResults(6), { referenceOf }).groups;
    expect(group!.slowAsAWhole).toBeNull();
    expect(group!.cells.map(({ shareOfReference }) => shareOfReference === null)).toEqual([
      false,
      true,
      true,
    ]);
  });
});
