import { describe, expect, it } from "vitest";
import { expectationOf } from "../../src/doctor/expectation.js";
import { siteReferenceOf } from "../../src/fleet/judge-results.js";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import { judged, type NodePart, nodeResults, pinnedAt } from "../helpers/node-results.js";
import { buildCell, MiB } from "../helpers/result-document.js";

/** Nodes with an A100 each behind gen4 x16 (31.5 GB/s) that reach 24 GB/s both ways. */
const fleet = (count: number, parts: Record<string, NodePart> = {}) => {
  const link = {
    generation: 4,
    width: 16,
    maxGeneration: 4,
    maxWidth: 16,
    smClockMHz: null,
    memoryClockMHz: null,
  };
  const all = Object.fromEntries(
    nodeResults(count).map(({ host }) => [
      host!.hostname,
      { device: () => ({ name: "NVIDIA A100-SXM4-80GB", link }), ...parts[host!.hostname] },
    ]),
  );
  return nodeResults(count, all).map((result) => ({
    ...result,
    cells: result.cells.flatMap((cell) => {
      if (cell.memory !== "pinned" || cell.mode !== "throughput") return [];
      const GBps = (cell.stats[0]!.bandwidthGBps.median * 24) / 55;
      return (["h2d", "d2h"] as const).map((direction) =>
        buildCell({ device: cell.device, direction, sizeBytes: 64 * MiB, GBps }),
      );
    }),
  }));
};
const referenceOfFleet = (results: ReturnType<typeof fleet>) =>
  siteReferenceOf(
    results.map((result) => figuresOfNode(result, null)),
    judged(results),
  );

describe("a site's own reference", () => {
  it("has the share of the link that its healthy GPUs reach, of slow ones nothing", () => {
    const { listed } = referenceOfFleet(fleet(8, { n03: { speed: pinnedAt(0.5, 1) } }));
    expect(listed).toMatchObject([
      {
        gpu: "NVIDIA A100-SXM4-80GB",
        together: null,
        tolerance: 0.05,
        sources: ["7 nodes of this site, 2026-11-20, driver 580.159.04"],
        driver: "580.159.04",
      },
    ]);
    expect(listed[0]!.alone.h2d).toBeCloseTo(24 / 31.5, 2);
    expect(listed[0]!.alone.d2h).toBeCloseTo(24 / 31.5, 2);
  });

  it("is of all GPUs of a node and of both ways: the widest range decides what is tolerated", () => {
    const results = fleet(8).map((result) => ({
      ...result,
      // GPU 1 reaches 22 GB/s, and on one node 20 back.
      cells: result.cells.map((cell) =>
        cell.device === 0
          ? buildCell({ ...cell, GBps: 24 })
          : buildCell({
              ...cell,
              GBps: cell.direction === "d2h" && result.host!.hostname === "n05" ? 20 : 22,
            }),
      ),
    }));
    const { listed } = siteReferenceOf(
      results.map((result) => figuresOfNode(result, null)),
      judged(fleet(8)),
    );
    expect(listed[0]!.alone.h2d).toBeCloseTo(23 / 31.5, 2);
    expect(listed[0]!.tolerance).toBeCloseTo(2 * (1 - 20 / 23), 2);
  });

  it("names a slow node of its kind later, if it is one of two", () => {
    const site = referenceOfFleet(fleet(8));
    const two = fleet(2, { n01: { speed: pinnedAt(0.8) } });
    const referenceOf: typeof expectationOf = (device, link) => expectationOf(device, link, site);
    expect(judged(two, { referenceOf }).outliers.map(({ host, device }) => [host, device])).toEqual([
      ["n01", null],
    ]);
    expect(judged(two, { referenceOf: expectationOf }).outliers).toEqual([]);
  });

  it("is in doubt with another driver, and if the GPUs are faster", () => {
    const site = referenceOfFleet(fleet(8));
    const referenceOf: typeof expectationOf = (device, link) => expectationOf(device, link, site);
    const doubtsOf = (part: NodePart) =>
      judged(fleet(8, Object.fromEntries(nodeResults(8).map(({ host }) => [host!.hostname, part]))), {
        referenceOf,
      }).doubts;
    expect(doubtsOf({})).toEqual([]);
    expect(doubtsOf({ speed: pinnedAt(1.04) })).toEqual([]);
    expect(
      doubtsOf({ document: { driverVersion: "590.1", fingerprint: { driver: "590.1" } } as never }),
    ).toEqual([
      "The reference was written with driver 580.159.04, and these nodes have 590.1. If the nodes are healthy, write it again with --write-reference.",
    ]);
    expect(doubtsOf({ speed: pinnedAt(1.12) })).toEqual([
      expect.stringMatching(
        /^NVIDIA A100-SXM4-80GB: 12 % faster than the reference in [hd]2[dh] pinned 64 MiB \(this site's own recordings .*2026-11-20, driver 580.159.04\)\), so it misses losses\. If/,
      ),
    ]);
  });

  it("cannot be written of a fleet whose healthy nodes are not known", () => {
    const half = Object.fromEntries([0, 1, 2, 3].map((n) => [`n0${n}`, { speed: pinnedAt(0.5) }]));
    expect(() => referenceOfFleet(fleet(8, half))).toThrow("no reference can be written");
  });
});
