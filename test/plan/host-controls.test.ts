import { describe, expect, it } from "vitest";
import { GiB, h200, KiB, MiB, planOf } from "./support.js";

type Request = Parameters<typeof planOf>[0];

const controlsOf = (request: Request, changes?: Parameters<typeof planOf>[1]) =>
  planOf(request, changes)
    .cells.filter(({ memory }) => memory === "host")
    .map(({ id }) => id);

const control = (direction: string, sizeBytes: number, workers: number, device = 0) =>
  `d${device}/${direction}/host/${sizeBytes}/w${workers}/throughput/wall/cold`;

describe("the controls of host memory", () => {
  it.each(["pageable", "staged"] as const)(
    "of %s copies are one cell a direction and number of workers, of the largest size up to 64 MiB",
    (memory) => {
      const sizesBytes = [MiB, 16 * MiB, 64 * MiB, 65 * MiB, 256 * MiB];
      expect(controlsOf({ memory: [memory], sizesBytes, workers: [1, 4] })).toEqual([
        control("h2d", 64 * MiB, 1),
        control("h2d", 64 * MiB, 4),
        control("d2h", 64 * MiB, 1),
        control("d2h", 64 * MiB, 4),
      ]);
    },
  );

  it("are of the smallest size if all are larger", () => {
    const sizesBytes = [512 * MiB, 128 * MiB, 256 * MiB];
    expect(controlsOf({ memory: ["staged"], sizesBytes, workers: [1], directions: ["h2d"] })).toEqual([
      control("h2d", 128 * MiB, 1),
    ]);
  });

  it("of both directions at once are one for each", () => {
    const request: Request = { memory: ["pageable"], sizesBytes: [MiB], workers: [2], directions: ["bidir"] };
    expect(controlsOf(request)).toEqual([control("h2d", MiB, 2), control("d2h", MiB, 2)]);
  });

  it("are those of each device", () => {
    const request: Request = {
      memory: ["staged"],
      sizesBytes: [MiB],
      workers: [1],
      directions: ["d2h"],
      devices: "all",
    };
    const devices = [h200, { ...h200, ordinal: 1 }];
    expect(controlsOf(request, { devices })).toEqual([control("d2h", MiB, 1), control("d2h", MiB, 1, 1)]);
  });

  it("stand beside what they control, and nothing else of the plan changes", () => {
    const { cells } = planOf({
      memory: ["pinned", "staged", "pageable"],
      sizesBytes: [MiB],
      workers: [1, 2],
    });
    expect(cells.map(({ direction, workers, memory }) => `${direction} w${workers} ${memory}`)).toEqual(
      ["h2d", "d2h"].flatMap((direction) =>
        [1, 2].flatMap((workers) =>
          ["pageable", "staged", "host", "pinned"].map((memory) => `${direction} w${workers} ${memory}`),
        ),
      ),
    );
  });

  it.each<[string, Request]>([
    ["memory that the CPU does not copy", { memory: ["pinned", "registered", "mapped"] }],
    ["latency", { memory: ["pageable"], modes: ["latency"] }],
    ["a warm cache", { memory: ["staged"], caches: ["warm"] }],
    ["copies within the device", { directions: ["d2d"] }],
  ])("are not there for %s", (_, request) => {
    expect(controlsOf({ sizesBytes: [MiB], workers: [1], ...request })).toEqual([]);
  });

  it("come with a list of cells as with any other plan, unless it has some of its own", () => {
    const staged = "d0/d2h/staged/1048576/w2/throughput/wall/cold";
    const own = control("h2d", 4 * MiB, 1);
    expect(planOf({ cells: [staged] }).cells.map(({ id }) => id)).toEqual([staged, control("d2h", MiB, 2)]);
    expect(planOf({ cells: [staged, own] }).cells.map(({ id }) => id)).toEqual([own, staged]);
  });

  it("are not added to host memory that was asked for, which has all sizes then", () => {
    const request: Request = { memory: ["host", "pageable"], sizesBytes: [MiB, 16 * MiB], workers: [1] };
    expect(controlsOf({ ...request, directions: ["h2d"] })).toEqual([
      control("h2d", MiB, 1),
      control("h2d", 16 * MiB, 1),
    ]);
  });

  it("are left out, with a note, if the plan fits without them alone", () => {
    const request: Request = { memory: ["pageable"], sizesBytes: [MiB], workers: [1], maxPinnedBytes: MiB };
    const { cells, notes, arenas } = planOf(request);
    expect(cells.every(({ memory }) => memory === "pageable")).toBe(true);
    expect(arenas.staging).toBeNull();
    expect(notes).toEqual([
      "Left out the control of host memory, because otherwise the plan does not fit: it would pin 6 MiB of host " +
        "memory, above the limit of 1 MiB (--max-pinned).",
    ]);
    expect(planOf({ ...request, cells: cells.map(({ id }) => id) }).notes).toEqual(notes);
  });
});

describe("host memory that is asked for", () => {
  it("takes pageable memory and rings, and none of the device", () => {
    const { arenas, estimate } = planOf({ memory: ["host"], sizesBytes: [64 * MiB], workers: [1, 2] });
    expect(Object.keys(arenas.host)).toEqual(["pageable"]);
    expect(arenas.staging).toMatchObject({ workers: 2, slots: 3, chunkBytes: 2 * MiB });
    expect(estimate).toMatchObject({ pinnedBytes: 12 * MiB, deviceBytes: 0 });
  });

  it("has slots of its own, whatever ring staged copies are given", () => {
    const { arenas, estimate } = planOf({
      cells: ["d0/h2d/staged/1048576/w1/throughput/wall/cold"],
      stagingChunkBytes: 128 * KiB,
      stagingSlots: 2,
    });
    const hostSlots = { hostSlots: 3, hostChunkBytes: 2 * MiB };
    expect(arenas.staging).toEqual({ workers: 1, slots: 2, chunkBytes: 128 * KiB, ...hostSlots });
    expect(estimate.pinnedBytes).toBe(6 * MiB);
  });

  it("does not make the device's arena larger than its own cells need", () => {
    const { arenas } = planOf({
      cells: [control("h2d", GiB, 4), "d0/h2d/pinned/1048576/w1/throughput/wall/cold"],
    });
    expect(arenas.device.chunksOfWorker).toEqual([1]);
  });

  it.each<[string, Request, string]>([
    ["both directions at once", { directions: ["bidir"] }, "one way at a time"],
    ["latency", { modes: ["latency"] }, "one way at a time"],
    ["a warm cache", { caches: ["warm"] }, "one way at a time"],
    ["the event timer", { timers: ["event"] }, "the host takes part in host copies"],
  ])("is skipped for %s, and says why", (_, request, why) => {
    const { cells } = planOf({ memory: ["host", "pinned"], sizesBytes: [MiB], workers: [1], ...request });
    const reasons = cells.filter(({ memory }) => memory === "host").map(({ skipReason }) => skipReason);
    expect(reasons.length).toBeGreaterThan(0);
    for (const reason of reasons) expect(reason).toContain(why);
  });
});
