import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellId } from "../../src/results/cell-id.js";
import { shmooSizes } from "../../src/settings/units.js";
import { trialSeed } from "../helpers/trials.js";
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
});

/** Requests of every kind, each list in any order and with repetitions. */
const listOf = <const Value>(...values: Value[]) =>
  fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 4 });
const anyRequest = fc.record({
  sizesBytes: listOf(KiB, 3 * KiB, MiB, 5 * MiB, 64 * MiB, 300 * MiB, 2 * GiB),
  workers: listOf(1, 2, 3, 8),
  memory: listOf("pageable", "staged", "pinned", "mapped", "registered"),
  directions: listOf("h2d", "d2h", "bidir"),
  caches: listOf("cold", "warm"),
  workerKinds: listOf("thread", "process"),
});

it("a plan never exceeds its limits, and a request as it is fits or is refused", () => {
  const machine = fc.record({
    memoryAvailableBytes: fc.integer({ min: 64 * MiB, max: 256 * GiB }),
    ...{ freeMemoryBytes: fc.integer({ min: 64 * MiB, max: 139 * GiB }), emulated: fc.boolean() },
  });
  const planned = { fits: 0, refused: 0 };
  fc.assert(
    fc.property(anyRequest, machine, (request, { freeMemoryBytes, ...facts }) => {
      const changes = { ...facts, devices: [{ ...h200, freeMemoryBytes }] };
      let fitting: ReturnType<typeof planOf>;
      try {
        fitting = planOf(request, changes);
      } catch (error) {
        expect(error).toMatchObject({ kind: "limit" });
        ++planned.refused;
        return;
      }
      ++planned.fits;
      const { hostBytes, pinnedBytes, deviceBytes } = fitting.estimate;
      expect(pinnedBytes).toBeLessThanOrEqual(facts.memoryAvailableBytes / 4);
      expect(hostBytes + (facts.emulated ? deviceBytes : 0)).toBeLessThanOrEqual(
        0.8 * facts.memoryAvailableBytes,
      );
      expect(deviceBytes).toBeLessThanOrEqual(0.9 * freeMemoryBytes);
      const most = { memoryAvailableBytes: 1024 * GiB, devices: [{ ...h200, freeMemoryBytes: 140 * GiB }] };
      expect(planOf(request, { ...changes, ...most }).estimate).toMatchObject({ hostBytes, pinnedBytes });
    }),
    { seed: trialSeed, numRuns: 80 },
  );
  expect(Math.min(planned.fits, planned.refused)).toBeGreaterThan(10);
});

it("the order of what is asked for, and repetitions, do not matter", () => {
  const device = { ...h200, totalMemoryBytes: 1024 * GiB, freeMemoryBytes: 1024 * GiB };
  const machine = { memoryAvailableBytes: 4096 * GiB, devices: [device] };
  fc.assert(
    fc.property(anyRequest, (request) => {
      const turned = Object.fromEntries(
        Object.entries(request).map(([key, values]) => [key, [...values, ...values].reverse()]),
      );
      const plans = [request, turned].map((given) => {
        const { settings: _, ...plan } = planOf(given as typeof request, machine);
        return plan;
      });
      expect(plans[1]).toEqual(plans[0]);
    }),
    { seed: trialSeed, numRuns: 30 },
  );
});

it("a plan may need as much as its limits, to the byte", () => {
  const request = {
    sizesBytes: [MiB],
    workers: [1],
    memory: ["pageable"],
    directions: ["h2d"],
    caches: ["warm"],
  } as const;
  const { hostBytes, deviceBytes } = planOf(request).estimate;
  const fits = (hostShort: number, deviceShort: number) => {
    const freeMemoryBytes = deviceBytes / 0.9 - deviceShort;
    const facts = {
      memoryAvailableBytes: hostBytes / 0.8 - hostShort,
      devices: [{ ...h200, freeMemoryBytes }],
    };
    return planOf({ ...request, maxPinnedBytes: 0 }, facts).cells.length > 0;
  };
  expect(fits(-1, -1)).toBe(true);
  expect(errorOf(() => fits(3, -1)).message).toContain("above 80 %");
  expect(errorOf(() => fits(-1, 3)).message).toContain("above 90 %");
});

describe("the limits", () => {
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
