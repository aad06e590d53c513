import { describe, expect, it } from "vitest";
import { rotationLength } from "../../src/plan/cells.js";
import { strideBytes } from "../../src/plan/geometry.js";
import { cellId, parseCellId } from "../../src/results/cell-id.js";
import { errorOf, GiB, h200, KiB, MiB, planOf } from "./support.js";

const example = "d0/h2d/pinned/16777216/w4/throughput/wall/cold";
const idsOf = (request: Parameters<typeof planOf>[0], changes?: Parameters<typeof planOf>[1]) =>
  planOf(request, changes).cells.map(({ id }) => id);

describe("parseCellId", () => {
  it("reads what cellId writes", () => {
    expect(parseCellId(example)).toEqual({
      device: 0,
      direction: "h2d",
      memory: "pinned",
      sizeBytes: 16 * MiB,
      workers: 4,
      mode: "throughput",
      timer: "wall",
      cache: "cold",
    });
  });

  it("gives back every cell of a plan", () => {
    const everything = planOf({
      sizesBytes: [1, 12_345, 64 * MiB],
      workers: [1, 16],
      memory: ["pageable", "staged", "pinned", "registered", "write-combined", "mapped", "device"],
      directions: ["h2d", "d2h", "bidir", "d2d"],
      modes: ["throughput", "latency"],
      timers: ["wall", "event"],
      caches: ["cold", "warm"],
    }).cells;
    for (const { id, buffersPerWorker: _, skipReason: __, ...cell } of everything) {
      expect(parseCellId(id)).toEqual(cell);
      expect(cellId(parseCellId(id))).toBe(id);
    }
  });

  it.each([
    "",
    "d0/h2d/pinned",
    `${example}/`,
    `${example}\n`,
    example.replace("d0", "0"),
    example.replace("h2d", "up"),
    example.replace("pinned", "Pinned"),
    example.replace("16777216", "16MiB"),
    example.replace("16777216", "016777216"),
    example.replace("16777216", "-1"),
    example.replace("16777216", "99999999999999999"),
    example.replace("w4", "4"),
    example.replace("cold", "*"),
  ])("refuses %j, and shows what an id looks like", (text) => {
    const error = errorOf(() => parseCellId(text));
    expect(error.kind).toBe("usage");
    expect(error.message).toContain(`"${text}" is not a cell id`);
    expect(error.hint).toContain(example);
  });
});

describe("a plan of listed cells", () => {
  it("has exactly these, whatever the axes and the preset would be", () => {
    const ids = [
      "d0/h2d/pinned/65536/w1/throughput/wall/cold",
      "d0/d2h/pageable/4096/w2/latency/wall/warm",
      "d0/d2d/device/1048576/w1/throughput/event/cold",
    ];
    const { cells: planned, preset, notes, stopping } = planOf({ cells: ids });
    expect(planned.map(({ id }) => id)).toEqual(ids);
    expect(planned.map(({ buffersPerWorker }) => buffersPerWorker)).toEqual([2048, 1, 100]);
    expect(preset).toBeNull();
    expect(notes).toEqual([]);
    expect(stopping.budgetNs).toBe(8e9);
  });

  it("is in every part the plan of the axes that give the same cells", () => {
    const asked = planOf({
      sizesBytes: [4096, MiB],
      workers: [1, 4],
      memory: ["staged", "pinned", "device"],
      directions: ["h2d", "d2h", "d2d"],
      modes: ["latency", "throughput"],
      timers: ["event", "wall"],
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

  it("measures the devices that the cells name, in order", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const ofSecond = example.replace("d0", "d1");
    const changes = { devices };
    expect(idsOf({ cells: [ofSecond] }, changes)).toEqual([ofSecond]);
    expect(idsOf({ cells: [ofSecond, example] }, changes)).toEqual([example, ofSecond]);
  });

  it("leaves none out: more workers than CPUs are a warning, too little memory is an error", () => {
    const one = example.replace("w4", "w1");
    const { cells: planned, notes } = planOf({ cells: [one, example] }, { cpusUsable: 1 });
    expect(planned).toHaveLength(2);
    expect(notes).toEqual([expect.stringMatching(/^4 workers: only 1 CPU is usable,/)]);

    const small = example.replace("16777216", "4096").replace("cold", "warm");
    const error = errorOf(() => planOf({ cells: [small, example] }, { memoryAvailableBytes: GiB / 4 }));
    expect(error.kind).toBe("limit");
    expect(error.message).toContain("it would pin");
  });

  it("lists what cannot be measured here as skipped, and is an error if that is all of it", () => {
    const pageable = "d0/h2d/pageable/1048576/w1/throughput/event/cold";
    const { cells: planned } = planOf({ cells: [pageable, example] });
    expect(planned.map(({ skipReason }) => skipReason)).toEqual([
      null,
      expect.stringContaining("the host takes part"),
    ]);
    const both = [pageable, pageable.replace("h2d", "d2h")];
    expect(errorOf(() => planOf({ cells: both }))).toMatchObject({
      kind: "unsupported",
      message: expect.stringMatching(/^Nothing can be measured: [^;]+\.$/),
    });
  });

  it.each([
    ["no bytes", example.replace("16777216", "0"), "usage", "A size cannot be 0"],
    ["no worker", example.replace("w4", "w0"), "usage", "A cell cannot have 0 workers"],
    ["too many workers", example.replace("w4", "w1025"), "usage", "it has from 1 to 1024"],
    ["host memory within the device", example.replace("h2d", "d2d"), "usage", "go only with memory device"],
    [
      "device memory from the host",
      example.replace("pinned", "device"),
      "usage",
      "There is no cell d0/h2d/device",
    ],
    ["a missing device", example.replace("d0", "d3"), "unavailable", "There is no device 3"],
    ["a copy beyond the device", example.replace("16777216", `${1024 * GiB}`), "limit", "larger than"],
  ])("refuses %s", (_, id, kind, why) => {
    const error = errorOf(() => planOf({ cells: [id] }));
    expect(error.kind).toBe(kind);
    expect(error.message).toContain(why);
  });

  it("refuses an empty list, and more than 20 000 cells", () => {
    expect(errorOf(() => planOf({ cells: [] })).message).toContain("The list of cells is empty");
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => example.replace("16777216", `${i + 1}`));
    expect(planOf({ cells: many(20_000) }).cells).toHaveLength(20_000);
    expect(errorOf(() => planOf({ cells: many(20_001) })).message).toContain(
      "20001 cells, more than the 20000",
    );
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
    "of $workers x $sizeBytes bytes fills twice a 64 MiB cache: $buffers",
    ({ sizeBytes, workers, buffers }) => {
      expect(rotationLength({ sizeBytes, workers, cache: "cold" }, 64 * MiB)).toBe(buffers);
      expect(workers * buffers * strideBytes(sizeBytes)).toBeGreaterThanOrEqual(128 * MiB);
    },
  );

  it("of a warm cell is 1", () => {
    expect(rotationLength({ sizeBytes: KiB, workers: 1, cache: "warm" }, 64 * MiB)).toBe(1);
  });
});
