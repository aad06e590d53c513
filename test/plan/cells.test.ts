import { describe, expect, it } from "vitest";
import { rotationLength } from "../../src/plan/cells.js";
import { strideBytes } from "../../src/plan/geometry.js";
import { errorOf, KiB, MiB, planOf } from "./support.js";

const example = "d0/h2d/pinned/16777216/w4/throughput/cold";
const idsOf = (request: Parameters<typeof planOf>[0], changes?: Parameters<typeof planOf>[1]) =>
  planOf(request, changes).cells.map(({ id }) => id);

describe("a plan of listed cells", () => {
  it("has exactly the listed cells, whatever axes and preset would give", () => {
    const ids = [
      "d0/h2d/pinned/65536/w1/throughput/cold",
      "d0/d2h/pageable/4096/w2/latency/warm",
      "d0/d2d/device/1048576/w1/throughput/cold",
    ];
    const { cells: planned, preset, notes, stopping } = planOf({ cells: ids });
    expect(planned.map(({ id }) => id)).toEqual(ids);
    expect(planned.map(({ buffersPerWorker }) => buffersPerWorker)).toEqual([2048, 1, 100]);
    expect(preset).toBeNull();
    expect(notes).toEqual([]);
    expect(stopping.budgetNs).toBe(8e9);
  });

  it("equals the plan of axes that give the same cells", () => {
    const asked = planOf({
      sizesBytes: [4096, MiB],
      workers: [1, 4],
      memory: ["staged", "pinned", "device"],
      directions: ["h2d", "d2h", "d2d"],
      modes: ["latency", "throughput"],
      caches: ["warm", "cold"],
    });
    const shuffled = [...asked.cells].sort((a, b) => (a.id < b.id ? 1 : -1));
    const { settings: _, ...listed } = planOf({ cells: shuffled.map(({ id }) => id) });
    const { settings: __, ...expected } = asked;
    expect(listed).toEqual(expected);
  });

  it("takes a cell that is listed twice once", () => {
    expect(idsOf({ cells: [example, example] })).toEqual([example]);
  });

  it("keeps cells of more workers than CPUs, with a warning", () => {
    const one = example.replace("w4", "w1");
    const { cells: planned, notes } = planOf({ cells: [one, example] }, { cpusUsable: 1 });
    expect(planned).toHaveLength(2);
    expect(notes).toEqual([expect.stringMatching(/^4 workers: only 1 CPU is usable,/)]);
  });

  it("refuses more than 20 000 cells", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => example.replace("16777216", `${i + 1}`));
    expect(planOf({ cells: many(20_000) }).cells).toHaveLength(20_000);
    expect(errorOf(() => planOf({ cells: many(20_001) })).message).toContain("more than the 20000 cells");
  });
});

describe("rotationLength", () => {
  it.each([
    { sizeBytes: 64 * MiB, workers: 1, buffers: 2 },
    { sizeBytes: 256 * MiB, workers: 4, buffers: 2 },
    { sizeBytes: 16 * MiB, workers: 1, buffers: 8 },
    { sizeBytes: 16 * MiB, workers: 2, buffers: 4 },
    { sizeBytes: 16 * MiB, workers: 3, buffers: 3 },
    { sizeBytes: 16 * MiB, workers: 4, buffers: 2 },
    { sizeBytes: 64 * KiB, workers: 1, buffers: 2048 },
    { sizeBytes: 1, workers: 1, buffers: 262_144 },
  ])(
    "of $workers x $sizeBytes bytes is $buffers, which fills a 64 MiB cache at least twice",
    ({ sizeBytes, workers, buffers }) => {
      expect(rotationLength({ sizeBytes, workers, cache: "cold" }, 64 * MiB)).toBe(buffers);
      expect(workers * buffers * strideBytes(sizeBytes)).toBeGreaterThanOrEqual(128 * MiB);
    },
  );

  it("of a warm cell is one buffer", () => {
    expect(rotationLength({ sizeBytes: KiB, workers: 1, cache: "warm" }, 64 * MiB)).toBe(1);
  });
});
