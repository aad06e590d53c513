import { describe, expect, it } from "vitest";
import { cellId } from "../../src/results/cell-id.js";
import { memories } from "../../src/settings/choices.js";
import { parseChoices } from "../../src/settings/kinds.js";
import { shmooSizes } from "../../src/settings/units.js";
import { errorOf, GiB, h200, KiB, MiB, planOf } from "./support.js";

const distinct = <Value>(values: Value[]): Value[] => [...new Set(values)];

describe("the presets", () => {
  it("quick: 32 MiB, pageable with its control and pinned, 1 worker, both directions", () => {
    const { cells, preset } = planOf({ preset: "quick" });
    expect(preset).toBe("quick");
    expect(cells.map((cell) => cell.id)).toEqual([
      "d0/h2d/pageable/33554432/w1/throughput/wall/cold",
      "d0/h2d/host/33554432/w1/throughput/wall/cold",
      "d0/h2d/pinned/33554432/w1/throughput/wall/cold",
      "d0/d2h/pageable/33554432/w1/throughput/wall/cold",
      "d0/d2h/host/33554432/w1/throughput/wall/cold",
      "d0/d2h/pinned/33554432/w1/throughput/wall/cold",
    ]);
  });

  it("default: 72 cells and 6 controls, taken if nothing is asked for", () => {
    const { cells, preset, notes, stopping } = planOf();
    expect(preset).toBe("default");
    expect(cells).toHaveLength(72 + 6);
    expect(distinct(cells.map((cell) => cell.sizeBytes))).toEqual([64 * KiB, MiB, 16 * MiB, 64 * MiB]);
    expect(distinct(cells.map((cell) => cell.workers))).toEqual([1, 2, 4]);
    expect(notes).toEqual([]);
    expect(stopping).toEqual({ precision: 0.01, budgetNs: 8e9, samplesPerCell: null, isHard: false });
  });

  it("shmoo: quick over 81 sizes", () => {
    const { cells } = planOf({ preset: "shmoo" });
    expect(cells).toHaveLength(4 * 81 + 2);
    expect(distinct(cells.map((cell) => cell.sizeBytes))).toEqual(shmooSizes());
  });

  describe("fleet", () => {
    const devices = Array.from({ length: 8 }, (_, ordinal) => ({ ...h200, ordinal }));
    const withoutDevice = ({ id }: { id: string }) => id.replace(/^d\d+\//, "");

    it("has all devices alone and at once, in less than the 45 s of a node's health check", () => {
      const { cells, estimate } = planOf({ preset: "fleet" }, { devices });
      expect(distinct(cells.map(({ device }) => device))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(distinct(cells.map(withoutDevice))).toEqual([
        "h2d/pageable/67108864/w1/throughput/wall/cold",
        "h2d/host/67108864/w1/throughput/wall/cold",
        "h2d/pinned/67108864/w1/throughput/wall/cold",
        "h2d/pinned/67108864/w1/throughput/wall/cold/together-0-1-2-3-4-5-6-7",
        "h2d/pinned/4096/w1/latency/wall/cold",
        "d2h/pageable/67108864/w1/throughput/wall/cold",
        "d2h/host/67108864/w1/throughput/wall/cold",
        "d2h/pinned/67108864/w1/throughput/wall/cold",
        "d2h/pinned/67108864/w1/throughput/wall/cold/together-0-1-2-3-4-5-6-7",
        "d2h/pinned/4096/w1/latency/wall/cold",
      ]);
      expect(estimate.mostDurationNs).toBeLessThan(45e9);
    });

    it("has nothing at once if there is one device", () => {
      const { cells } = planOf({ preset: "fleet" }, { devices: devices.slice(0, 1) });
      expect(cells.filter(({ together }) => together !== undefined)).toEqual([]);
    });

    it("takes what is said of devices, modes and what is measured together", () => {
      const said = (settings: Parameters<typeof planOf>[0]) =>
        planOf({ preset: "fleet", ...settings }, { devices }).cells;
      expect(distinct(said({ devices: [2] }).map(({ device }) => device))).toEqual([2]);
      expect(distinct(said({ modes: ["throughput"] }).map(({ mode }) => mode))).toEqual(["throughput"]);
      const togetherIn = (settings: Parameters<typeof said>[0]) =>
        distinct(said(settings).flatMap(({ together, memory }) => (together === undefined ? [] : memory)));
      expect(togetherIn({})).toEqual(["pinned"]);
      expect(togetherIn({ together: false })).toEqual([]);
      expect(togetherIn({ together: true })).toEqual(["pageable", "pinned"]);
      const memory = said({ memory: ["pinned"], directions: ["h2d"], devices: [0] });
      expect(memory.map(withoutDevice)).toEqual(["h2d/pinned/67108864/w1/throughput/wall/cold"]);
    });
  });

  it("leave what is asked for as it is", () => {
    const { cells, preset } = planOf({ preset: "quick", workers: [2, 1, 2], caches: ["warm"] });
    expect(preset).toBe("quick");
    expect(cells).toHaveLength(8);
    expect(distinct(cells.map((cell) => cell.workers))).toEqual([1, 2]);
    expect(distinct(cells.map((cell) => cell.buffersPerWorker))).toEqual([1]);
  });

  it("are not named by a plan to which they added nothing", () => {
    const request = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
    expect(planOf(request).preset).toBeNull();
    for (const open of Object.keys(request)) {
      expect(planOf({ ...request, [open]: null }).preset, open).toBe("default");
    }
  });

  it("leave out worker counts above the usable CPUs, with a note", () => {
    const { cells, notes } = planOf({}, { cpusUsable: 3 });
    expect(distinct(cells.map((cell) => cell.workers))).toEqual([1, 2]);
    expect(notes).toEqual(["Left out 4 workers: only 3 CPUs are usable."]);
  });
});

describe("the order of cells", () => {
  it("puts what is compared side by side: the memory kinds of one size and worker count", () => {
    const { cells } = planOf({
      sizesBytes: [2 * MiB, MiB],
      workers: [1, 2],
      memory: ["pinned", "pageable"],
      directions: ["d2h", "h2d"],
    });
    expect(
      cells
        .slice(0, 10)
        .map(({ direction, sizeBytes, workers, memory }) => [direction, sizeBytes, workers, memory]),
    ).toEqual([
      ["h2d", MiB, 1, "pageable"],
      ["h2d", MiB, 1, "pinned"],
      ["h2d", MiB, 2, "pageable"],
      ["h2d", MiB, 2, "pinned"],
      ["h2d", 2 * MiB, 1, "pageable"],
      ["h2d", 2 * MiB, 1, "host"],
      ["h2d", 2 * MiB, 1, "pinned"],
      ["h2d", 2 * MiB, 2, "pageable"],
      ["h2d", 2 * MiB, 2, "host"],
      ["h2d", 2 * MiB, 2, "pinned"],
    ]);
    expect(cells.slice(10).every((cell) => cell.direction === "d2h")).toBe(true);
  });

  it("takes one device after the other, and every id is its cell's own", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const { cells } = planOf({ preset: "quick", devices: [1, 0] }, { devices });
    expect(cells.map((cell) => cell.device)).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    expect(cells.every((cell) => cell.id === cellId(cell))).toBe(true);
    expect(new Set(cells.map((cell) => cell.id)).size).toBe(12);
  });
});

describe("device-to-device copies", () => {
  const routes = (request: Parameters<typeof planOf>[0]) =>
    planOf({ preset: "quick", ...request }).cells.map((cell) => `${cell.direction}/${cell.memory}`);

  it("imply device memory, and device memory implies them", () => {
    expect(routes({ directions: ["d2d"] })).toEqual(["d2d/device"]);
    expect(routes({ memory: ["device"] })).toEqual(["d2d/device"]);
  });

  it("stand beside the others with device memory of their own", () => {
    expect(routes({ directions: ["h2d", "d2d"], memory: ["pinned"] })).toEqual(["h2d/pinned", "d2d/device"]);
    expect(routes({ memory: ["pinned", "device"] })).toEqual(["h2d/pinned", "d2h/pinned", "d2d/device"]);
  });

  it.each([
    { directions: ["d2d"], memory: ["pinned"], why: "memory pinned has no effect" },
    { directions: ["d2d"], memory: ["pinned", "device"], why: "memory pinned has no effect" },
    { directions: ["h2d"], memory: ["device"], why: "Only directions d2d and p2p copy memory device" },
    {
      directions: ["h2d"],
      memory: ["pinned", "device"],
      why: "Only directions d2d and p2p copy memory device",
    },
    { directions: ["h2d", "d2d"], memory: ["device"], why: "need host memory" },
  ] as const)("reject $directions with $memory", ({ directions, memory, why }) => {
    const error = errorOf(() => planOf({ directions, memory }));
    expect(error.kind).toBe("usage");
    expect(error.message).toContain(why);
  });

  it("are cold against the device's cache, not the host's", () => {
    const request = { sizesBytes: [MiB], workers: [1], directions: ["h2d", "d2d"] } as const;
    const { cells, arenas } = planOf({ ...request, memory: ["pinned"] });
    expect(cells.map((cell) => cell.buffersPerWorker)).toEqual([128, 100]);
    expect(arenas.deviceCopies).toBe(2);
    const devices = [h200, { ...h200, ordinal: 1, l2CacheBytes: 2 * h200.l2CacheBytes }];
    const ofBoth = planOf({ ...request, directions: ["d2d"], devices: [0, 1] }, { devices }).cells;
    expect(ofBoth.map((cell) => cell.buffersPerWorker)).toEqual([100, 200]);
  });
});

describe("skipped cells", () => {
  it("of the event timer are those whose copies need the host", () => {
    const { cells } = planOf({ timers: ["event"], memory: ["pageable", "staged", "pinned"] });
    const skipped = cells.filter((cell) => cell.skipReason !== null);
    expect(distinct(skipped.map((cell) => cell.memory))).toEqual(["pageable", "staged"]);
    expect(skipped[0]?.skipReason).toContain("the host takes part in pageable copies");
    const ofProcesses = { timers: ["event"], memory: ["pinned"], workerKinds: ["process"] } as const;
    expect(errorOf(() => planOf(ofProcesses)).message).toContain("the workers are several processes");
  });

  it("are listed but reserve nothing", () => {
    const request = { sizesBytes: [MiB], workers: [1], memory: ["staged", "pinned", "mapped"] } as const;
    const { arenas } = planOf({ ...request, timers: ["event"] }, { kernelsOff: "built without nvcc" });
    expect(Object.keys(arenas.host)).toEqual(["pinned"]);
    expect(arenas.staging).toBeNull();
  });

  it("leave latency of staged copies alone", () => {
    const { cells } = planOf({ modes: ["latency"], memory: ["staged"] });
    expect(cells.every((cell) => cell.skipReason === null)).toBe(true);
  });

  it.each([
    { request: { timers: ["event"], memory: ["pageable"] }, changes: {}, why: "the host takes part" },
    {
      request: { timers: ["event"] },
      changes: { eventTimerOff: "no cuStreamWaitValue32" },
      why: "no cuStreamWaitValue32",
    },
    {
      request: { memory: ["mapped"] },
      changes: { kernelsOff: "built without nvcc" },
      why: "built without nvcc",
    },
    {
      request: { memory: ["mapped"] },
      changes: { devices: [{ ...h200, canMapHostMemory: false }] },
      why: "cannot map host memory",
    },
    {
      request: { memory: ["registered"] },
      changes: { devices: [{ ...h200, canRegisterHostMemory: false }] },
      why: "cannot register memory; pinned memory copies as fast",
    },
    {
      request: { memory: ["system"] },
      changes: {},
      why: "does not access pageable memory by itself",
    },
    {
      request: { memory: ["system"] },
      changes: { devices: [{ ...h200, readsPageable: true }], kernelsOff: "built without nvcc" },
      why: "system memory is moved by a kernel, and kernels are off: built without nvcc",
    },
  ] as const)("are an error if nothing else is asked for ($why)", ({ request, changes, why }) => {
    const error = errorOf(() => planOf(request, changes));
    expect(error.kind).toBe("unsupported");
    expect(error.exitCode).toBe(3);
    expect(error.message).toContain(why);
  });
});

describe("what makes no sense", () => {
  const many = Array.from({ length: 7000 }, (_, index) => index + 1);

  it.each([
    { request: { sizesBytes: [0] }, why: "A size cannot be 0" },
    { request: { sizesBytes: [-1] }, why: "A size cannot be -1" },
    { request: { sizesBytes: [Number.NaN] }, why: "A size cannot be NaN" },
    { request: { sizesBytes: [1.5] }, why: "A size cannot be 1.5" },
    { request: { sizesBytes: [] }, why: "list of sizes is empty" },
    { request: { workers: [0] }, why: "cannot have 0 workers" },
    { request: { workers: [10_000] }, why: "cannot have 10000 workers: it has from 1 to 1024" },
    { request: { precision: 0 }, why: "precision cannot be 0" },
    { request: { precision: 0.6 }, why: "precision cannot be 0.6" },
    { request: { budgetNs: -1 }, why: "time budget cannot be -1" },
    { request: { budgetNs: Number.NaN }, why: "time budget cannot be NaN" },
    { request: { samplesPerCell: 0 }, why: "number of samples cannot be 0" },
    { request: { seed: 0.5 }, why: "seed cannot be 0.5" },
    { request: { stagingSlots: 1 }, why: "number of staging slots cannot be 1" },
    { request: { stagingChunkBytes: 1 }, why: "staging chunk cannot be 1" },
    { request: { sizesBytes: many }, why: "126000 cells" },
    { request: { sizesBytes: many, caches: ["cold", "warm"] }, why: "252000 cells" },
    { request: { sizesBytes: many, timers: ["wall", "event"] }, why: "252000 cells" },
    { request: { sizesBytes: many, modes: ["throughput", "latency"] }, why: "252000 cells" },
    { request: { sizesBytes: many, directions: ["h2d", "d2d"] }, why: "84000 cells" },
  ] as const)("is a usage error: $why", ({ request, why }) => {
    const error = errorOf(() => planOf(request));
    expect(error.message).toContain(why);
    expect(error.kind).toBe("usage");
    expect(error.exitCode).toBe(2);
  });

  it("is more than 20 000 cells, of all devices together", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const error = errorOf(() => planOf({ sizesBytes: many, devices: [0, 1] }, { devices }));
    expect(error.message).toContain("252000 cells");
  });

  it("a device that is not there is unavailable, exit code 3", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const error = errorOf(() => planOf({ devices: [0, 3] }, { devices }));
    expect(error.message).toBe("There is no device 3: the driver reports only 0, 1.");
    expect(error.exitCode).toBe(3);
    expect(errorOf(() => planOf({}, { devices: [] })).message).toContain("the driver reports no device");
    expect(errorOf(() => planOf({ devices: [] })).kind).toBe("unavailable");
  });

  it("an unknown choice is answered with the choices", () => {
    const error = errorOf(() => parseChoices("pinned,paged", "memory kind", memories));
    expect(error.message).toBe('"paged" is not a memory kind.');
    expect(error.hint).toContain("pageable, staged, host, pinned");
    expect(parseChoices("pinned, pageable,pinned", "memory kind", memories)).toEqual(["pageable", "pinned"]);
  });
});

describe("the limits", () => {
  it.each([
    {
      what: "a copy larger than the device's memory",
      request: { sizesBytes: [200 * GiB] },
      changes: {},
      why: "a copy of 200 GiB is larger than the 140 GiB of memory of device 0 (NVIDIA H200)",
    },
    {
      what: "more pinned memory than a quarter of what is available",
      request: { sizesBytes: [4 * GiB], workers: [2], memory: ["pinned"] },
      changes: { memoryAvailableBytes: 32 * GiB },
      why: "it would pin 16 GiB of host memory, above the limit of 8 GiB (a quarter of the 32 GiB of memory available)",
    },
    {
      what: "more pinned memory than --max-pinned",
      request: { sizesBytes: [64 * MiB], workers: [1], memory: ["pinned"], maxPinnedBytes: 100 * MiB },
      changes: {},
      why: "it would pin 128 MiB of host memory, above the limit of 100 MiB (--max-pinned)",
    },
    {
      what: "more host memory than 80 % of what is available",
      request: { sizesBytes: [GiB], workers: [4], memory: ["pageable"] },
      changes: { memoryAvailableBytes: 9 * GiB },
      why: "it would take 8 GiB of host memory, above 80 % of the 9 GiB available",
    },
    {
      what: "the emulated device's memory, which is the host's too",
      request: { sizesBytes: [GiB], workers: [4], memory: ["pageable"] },
      changes: { memoryAvailableBytes: 18 * GiB, emulated: true },
      why: "it would take 16 GiB of host memory (the emulated device's included)",
    },
    {
      what: "more device memory than 90 % of what is free",
      request: { sizesBytes: [GiB], workers: [4], memory: ["pageable"] },
      changes: { devices: [{ ...h200, freeMemoryBytes: 8 * GiB }] },
      why: "it would take 8 GiB of the memory of device 0 (NVIDIA H200), above 90 % of its 8 GiB",
    },
  ] as const)("reject $what", ({ request, changes, why }) => {
    const error = errorOf(() => planOf(request, changes));
    expect(error.kind).toBe("limit");
    expect(error.exitCode).toBe(2);
    expect(error.message).toContain(why);
    expect(error.hint).not.toBeNull();
  });

  it("leave out a preset's largest sizes first, with a note", () => {
    const { cells, notes } = planOf({}, { memoryAvailableBytes: 2 * GiB, lastLevelCacheBytes: 16 * MiB });
    expect(distinct(cells.map((cell) => cell.workers))).toEqual([1, 2, 4]);
    expect(Math.max(...cells.map((cell) => cell.sizeBytes))).toBe(16 * MiB);
    expect(notes).toEqual([
      "Left out 64 MiB, because otherwise the plan does not fit: it would pin 536 MiB of host memory, " +
        "above the limit of 512 MiB (a quarter of the 2 GiB of memory available).",
    ]);
  });

  it("leave out worker counts if smaller sizes are no help: the cold pool stays as large", () => {
    const { cells, notes } = planOf({}, { memoryAvailableBytes: 5 * GiB, lastLevelCacheBytes: 512 * MiB });
    expect(distinct(cells.map((cell) => cell.workers))).toEqual([1]);
    expect(notes[0]).toMatch(/^Left out 2, 4 workers, because/);
  });

  it("name what they leave out of sizes and of workers, by the ends if it is much", () => {
    const changes = { memoryAvailableBytes: GiB / 4, lastLevelCacheBytes: 16 * MiB };
    expect(planOf({ preset: "shmoo" }, changes).notes[0]).toMatch(
      /^Left out 8 sizes from 36 MiB to 64 MiB, /,
    );
    expect(planOf({}, changes).notes[0]).toMatch(/^Left out 64 MiB and 2, 4 workers, because/);
  });

  it("are those of the smallest plan if not even that fits", () => {
    const changes = { memoryAvailableBytes: 32 * MiB, lastLevelCacheBytes: 16 * MiB };
    expect(errorOf(() => planOf({ memory: ["pinned"] }, changes)).message).toContain("it would pin 32 MiB");
  });

  it("leave out nothing that was asked for by name", () => {
    const changes = { memoryAvailableBytes: 4 * GiB };
    expect(errorOf(() => planOf({ sizesBytes: [MiB, GiB], workers: [1] }, changes)).kind).toBe("limit");
    const { cells } = planOf({ sizesBytes: [256 * MiB], memory: ["pinned"] }, changes);
    expect(distinct(cells.map((cell) => cell.workers))).toEqual([1, 2]);
  });

  it("let --max-pinned raise what is pinned", () => {
    const request = {
      sizesBytes: [4 * GiB],
      workers: [2],
      memory: ["pinned"],
      maxPinnedBytes: 20 * GiB,
    } as const;
    expect(planOf(request, { memoryAvailableBytes: 32 * GiB }).estimate.pinnedBytes).toBe(16 * GiB);
  });

  it("warn of more workers than CPUs if those were asked for", () => {
    const { cells, notes } = planOf({ workers: [8], memory: ["pinned"] }, { cpusUsable: 2 });
    expect(cells.every((cell) => cell.workers === 8)).toBe(true);
    expect(notes).toEqual([
      "8 workers: only 2 CPUs are usable, so they take turns and their figures suffer.",
    ]);
  });
});
