import { describe, expect, it } from "vitest";
import { errorOf, h200, planOf } from "./support.js";

const places = [
  { cpuNode: 0, memoryNode: 0 },
  { cpuNode: 1, memoryNode: 1 },
  { cpuNode: 1, memoryNode: 0 },
  { cpuNode: 0, memoryNode: 1 },
];
const devices = [h200, { ...h200, ordinal: 1 }];
const all = { numa: "all" } as const;

describe("a plan of all NUMA nodes", () => {
  it("has cells whose ids result in the same cells again", () => {
    const { cells } = planOf(all, { devices, numaPlacements: places });
    const listed = planOf({ cells: cells.map(({ id }) => id) }, { devices });
    expect(listed.cells.map(({ id }) => id).sort()).toEqual(cells.map(({ id }) => id).sort());
  });

  it.each([
    ["all nodes and a budget", { ...all, budgetNs: 1e6 }, true],
    ["all nodes, a budget and a number of samples", { ...all, budgetNs: 1e6, samplesPerCell: 9 }, false],
    ["all nodes without a budget", all, false],
    ["no nodes and a budget", { budgetNs: 1e6 }, false],
  ])("skips cells beyond the budget only if the budget decides: %s", (_, given, isHard) => {
    expect(planOf(given, { devices, numaPlacements: places }).stopping.isHard).toBe(isHard);
  });
});

it("a cell with NUMA nodes is refused unless threads copy whole buffers between device and host", () => {
  const plain = "d0/h2d/pinned/65536/w1/throughput/cold";
  for (const variant of ["process", "beside-host", "chunks-4", "blocks-4096-loop"]) {
    const error = errorOf(() => planOf({ cells: [`${plain}/${variant}/cpus-0-memory-0`] }));
    expect(error.message, variant).toContain("threads make whole copies");
  }
  const within = `${plain.replace("h2d/pinned", "d2d/device")}/cpus-0-memory-0`;
  expect(errorOf(() => planOf({ cells: [within] })).message).toContain("copies between host and device");
});
