import { describe, expect, it } from "vitest";
import { crossedCosts, verdictsOnNodes } from "../../../src/results/nodes/node-rates.js";
import { buildCell, buildDevice, buildDocument, type CellPart } from "../../helpers/result-document.js";

interface Copies extends CellPart {
  memoryNode: number;
  /** Node of the pages, if it is not the requested one. */
  pagesOn?: number;
}

/** A result of these copies; sysfs names no node for its devices. */
function resultOf(...copies: Copies[]) {
  const ordinals = [...new Set(copies.map(({ device = 0 }) => device))];
  const cells = copies.map(({ pagesOn, ...part }) => {
    const ofNodes = [{ node: pagesOn ?? part.memoryNode, pages: 100 }];
    const pages = { kind: "base", arenaBytes: 4096, hugePageBytes: null, ofNodes } as const;
    return buildCell({ cpuNode: part.memoryNode, ...part, result: { pages, ...part.result } });
  });
  const devices = ordinals.map((ordinal) => buildDevice({ ordinal, numaNode: null }));
  return buildDocument({ devices, cells });
}

const verdictsOf = (...copies: Copies[]) =>
  verdictsOnNodes(resultOf(...copies)).map(({ device, verdict }) => [
    device,
    verdict.best,
    verdict.costs.map(({ node, ratio }) => [node, +ratio.median.toFixed(2)]),
  ]);

const onNodes = (rates: readonly number[], part: Partial<Copies> = {}): Copies[] =>
  rates.map((GBps, memoryNode) => ({ memoryNode, GBps, ...part }));
const pageable = { memory: "pageable", relativeHalfWidth: 0.001 } as const;

describe("the NUMA nodes of a device", () => {
  it("are compared by the device's own pinned copies, the most costly node first", () => {
    const others = onNodes([10, 90, 90], pageable);
    expect(verdictsOf(...onNodes([50, 40, 25]), ...others, ...onNodes([25, 50], { device: 1 }))).toEqual([
      [
        0,
        0,
        [
          [2, 2],
          [1, 1.25],
        ],
      ],
      [1, 1, [[0, 2]]],
    ]);
  });

  it("are compared by pageable copies with the CPUs next to the memory if there are no others", () => {
    const crossed = [1, 0].map((cpuNode, memoryNode) => ({
      ...pageable,
      memoryNode,
      cpuNode,
      GBps: 90 * memoryNode + 1,
    }));
    expect(verdictsOf(...onNodes([50, 10], pageable), ...crossed)).toEqual([[0, 0, [[1, 5]]]]);
  });

  it("are compared by copies from another node's CPUs if they have no CPUs", () => {
    const far = (memory: "pageable" | "staged", memoryNode: number, cpuNode: number, GBps: number) => ({
      ...{ ...pageable, memory, memoryNode, cpuNode, GBps },
    });
    expect(verdictsOf(far("pageable", 0, 0, 50), far("pageable", 2, 0, 10))).toEqual([[0, 0, [[2, 5]]]]);
    const staged = [far("staged", 0, 1, 50), far("staged", 1, 0, 50)];
    expect(verdictsOf(...staged, ...onNodes([50, 25]))).toEqual([[0, 0, [[1, 2]]]]);
  });

  it.each<[string, Partial<Copies>]>([
    ["whose pages lie elsewhere", { pagesOn: 0 }],
    ["that are not finished", { result: { outcome: null } }],
    ["that failed", { result: { outcome: "failed" } }],
    ["that were timed one by one", { mode: "latency", latencyUs: { median: 1, p99: 2 } }],
  ])("are not compared by copies %s", (_, part) => {
    const more = { sizeBytes: 4096, workers: 2 };
    const copies = [...onNodes([50, 25]), ...onNodes([1, 90], { ...more, ...part })];
    expect(verdictsOf(...copies)).toEqual([[0, 0, [[1, 2]]]]);
  });

  it.each<[string, Partial<Copies>]>([
    ["directions", { direction: "d2h" }],
    ["memory", { memory: "pinned", sizeBytes: 4096 }],
    ["workers", { workers: 2 }],
    ["devices at once", { together: [0, 1] }],
    ["caches", { cache: "warm" }],
  ])("are compared only by copies with the same %s", (_, part) => {
    const [one, other] = [onNodes([50, 50]), onNodes([20, 20], part)];
    expect(verdictsOf(one[0]!, other[1]!, other[0]!, one[1]!)).toEqual([[0, 0, []]]);
  });
});

describe("CPUs of another node than the memory", () => {
  const copies = (
    device: number,
    memoryNode: number,
    [near, far]: readonly number[],
    part: Partial<Copies> = {},
  ) =>
    [near!, far!].map((GBps, i) => ({
      ...{ ...pageable, device, memoryNode, GBps, cpuNode: i === 0 ? memoryNode : 1 - memoryNode },
      ...(i === 1 ? part : {}),
    }));
  const costsOf = (...all: Copies[][]) =>
    crossedCosts(resultOf(...all.flat())).map(({ cell, cost }) => [
      ...[cell.device, cell.memoryNode, cost.node, +cost.ratio.median.toFixed(2)],
    ]);

  it("cost the factor by which pageable copies get slower, for each device and node", () => {
    expect(costsOf(copies(0, 0, [20, 10]), copies(0, 1, [20, 5]), copies(1, 0, [50, 10]))).toEqual([
      [0, 0, 1, 2],
      [0, 1, 0, 4],
      [1, 0, 1, 5],
    ]);
  });

  it("cost nothing if they are faster, if pages are misplaced, or for pinned memory", () => {
    expect(costsOf(copies(0, 0, [10, 50]))).toEqual([]);
    expect(costsOf(copies(0, 0, [20, 5], { pagesOn: 1 }))).toEqual([]);
    expect(costsOf(copies(0, 0, [20, 5]).map((one) => ({ ...one, memory: "pinned" })))).toEqual([]);
  });
});
