import { describe, expect, it } from "vitest";
import { addPayOff, copiesToPayOff, measurePinning, pinningRecord } from "../../src/measure/cold-start.js";
import type { ColdStart } from "../../src/results/schema.js";
import { emptyResult, FakeSession, KiB, MiB, nativeError, progressOf } from "./support.js";

const cost = (allocateNs: number, freeNs = 0) => ({ allocateNs, freeNs, hugePageBytes: null });

describe("copiesToPayOff", () => {
  it.each([
    ["what pinning costs divided by what a copy saves", 1000, 300, 100, 5],
    ["rounded up to the next whole copy", 1001, 300, 100, 6],
    ["one copy if that saves the whole cost", 100, 300, 100, 1],
    ["0 copies without a cost", 0, 300, 100, 0],
    ["0 copies with a negative cost", -50, 300, 100, 0],
  ])("is %s", (_, costNs, pageableNs, pinnedNs, copies) => {
    expect(copiesToPayOff(costNs, pageableNs, pinnedNs)).toBe(copies);
  });
});

describe("measurePinning", () => {
  const { signal } = new AbortController();

  it("gives the median of three costs, taken in turns so that a disturbance hits all methods", async () => {
    const session = new FakeSession();
    const kinds: string[] = [];
    session.pinningCost = (kind) => {
      kinds.push(kind);
      const turn = Math.ceil(kinds.length / 3);
      return {
        ...cost([700, 100, 200][turn - 1]!, 10 * turn),
        hugePageBytes: kind === "pinned" ? null : MiB,
      };
    };
    const [record] = await measurePinning(session, [MiB], signal);
    const turn = ["pageable", "pinned", "registered"];
    expect(kinds).toEqual([...turn, ...turn, ...turn]);
    expect(record).toEqual({
      sizeBytes: MiB,
      repetitions: 3,
      pageable: { allocateNs: 200, freeNs: 20, hugePageBytes: MiB },
      pinned: cost(200, 20),
      registered: { allocateNs: 200, freeNs: 20, hugePageBytes: MiB },
    });
  });

  it("gives null for a method that fails, which is not repeated, and goes on with the others", async () => {
    const session = new FakeSession();
    let refused = 0;
    session.pinningCost = (kind) => {
      if (kind !== "pinned") return cost(1000);
      ++refused;
      throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const [record] = await measurePinning(session, [MiB], signal);
    expect(record).toMatchObject({
      pageable: cost(1000),
      pinned: null,
      registered: cost(1000),
      refusals: { pinned: nativeError("CUDA_ERROR_OUT_OF_MEMORY").message },
    });
    expect(refused).toBe(1);
  });

  it("rejects if the device's context is lost", async () => {
    const session = new FakeSession();
    session.pinningCost = () => {
      throw nativeError("CUDA_ERROR_ILLEGAL_ADDRESS", true);
    };
    const lost = measurePinning(session, [MiB], signal);
    await expect(lost).rejects.toMatchObject({ code: "CUDA_ERROR_ILLEGAL_ADDRESS" });
  });

  it("returns the sizes measured so far when it is aborted", async () => {
    const controller = new AbortController();
    const session = new FakeSession();
    session.pinningCost = (_, sizeBytes) => {
      if (sizeBytes === MiB) controller.abort();
      return cost(1000);
    };
    expect(await measurePinning(session, [KiB, MiB], controller.signal)).toHaveLength(1);
  });
});

it("the median cost is null if a repetition failed, and has huge pages only if all report them", () => {
  const costs = [3, 1, 2].map((n) => ({ allocateNs: n, freeNs: 10 * n, hugePageBytes: n * MiB }));
  const record = { pageable: costs, pinned: [...costs, cost(2, 20)], registered: [...costs, null] };
  expect(pinningRecord(KiB, 3, record, {})).toEqual({
    ...{ sizeBytes: KiB, repetitions: 3, registered: null },
    pageable: { allocateNs: 2, freeNs: 20, hugePageBytes: 2 * MiB },
    pinned: expect.objectContaining({ hugePageBytes: null }),
  });
});

describe("addPayOff", () => {
  const record = {
    sizeBytes: MiB,
    repetitions: 3,
    pageable: cost(400_000, 100_000),
    pinned: cost(1_300_000, 200_000),
    registered: cost(300_000, 100_000),
  } as const;

  /** Six samples, the fewest with an interval: it then reaches from the first to the last. */
  const around = (ns: number, relative = 0) =>
    [-1, -0.5, 0, 0, 0.5, 1].map((part) => ns * (1 + part * relative));

  function measured(part: Parameters<typeof progressOf>[0], time: number | number[]) {
    const durationNs = Float64Array.from(typeof time === "number" ? around(time) : time);
    const progress = progressOf(part);
    progress.copiesPerSample = 1;
    const startNs = new Float64Array(durationNs.length);
    progress.add({ ...emptyResult, columns: [{ direction: "h2d", startNs, durationNs }] }, 0);
    return progress;
  }

  const payOffOf = (
    cells: ReturnType<typeof measured>[],
    changes: Partial<ColdStart["pinning"][number]> = {},
  ) =>
    addPayOff(
      [{ ...record, ...changes }],
      cells.map(({ cell, outcome, stats }) => ({ ...cell, outcome, stats })),
    )[0]!.payOff!;
  const pageable = () => measured({ memory: "pageable" }, 300_000);
  const pinned = () => measured({ memory: "pinned" }, 100_000);

  it("compares each method with pageable memory's own cost, by one worker's copies of that size", () => {
    const cells = [pageable(), pinned()];
    // Cells with several threads, other sizes, processes, other devices or a load do not count.
    const others = [
      measured({ memory: "pageable", workers: 2 }, 1e9),
      measured({ memory: "pageable", sizeBytes: KiB }, 1e9),
      measured({ memory: "pageable", workerKind: "process" }, 1e9),
      measured({ memory: "pageable", together: [0, 1] }, 1e9),
      measured({ memory: "pageable", beside: "memory" }, 1e9),
      measured({ memory: "pageable", chunks: 4 }, 1e9),
      measured({ memory: "pageable", mode: "latency" }, 1e9),
    ];
    expect(payOffOf([...others, ...cells])).toEqual(payOffOf(cells));
    // 1 ms more than pageable memory, and 0.2 ms a copy; registered memory costs less from the start.
    expect(payOffOf(cells)).toEqual({ pinned: { h2d: 5, d2h: null }, registered: { h2d: 0, d2h: null } });
  });

  it("uses the method's own copies, or those of the other pinned kind if it has none", () => {
    const changes = { registered: record.pinned };
    const slower = measured({ memory: "registered" }, 200_000);
    expect(payOffOf([pageable(), pinned(), slower], changes)).toMatchObject({
      pinned: { h2d: 5 },
      registered: { h2d: 10 },
    });
    expect(payOffOf([pageable(), slower], changes)).toMatchObject({
      pinned: { h2d: 10 },
      registered: { h2d: 10 },
    });
  });

  describe("gives no number of copies", () => {
    const copiesWith = (...cells: ReturnType<typeof measured>[]) => payOffOf(cells).pinned.h2d;

    it("if pageable or pinned copies were not measured", () => {
      expect(copiesWith(pageable())).toBeNull();
      expect(copiesWith(pinned())).toBeNull();
      expect(copiesWith(progressOf({ memory: "pageable" }), pinned())).toBeNull();
    });

    it("if the cost of pinned or of pageable memory is unknown", () => {
      expect(payOffOf([pageable(), pinned()], { pinned: null }).pinned.h2d).toBeNull();
      expect(payOffOf([pageable(), pinned()], { pageable: null }).pinned.h2d).toBeNull();
    });

    it("if pageable or pinned copies have too few samples for an interval", () => {
      expect(copiesWith(pageable(), measured({ memory: "pinned" }, [100_000]))).toBeNull();
      expect(copiesWith(measured({ memory: "pageable" }, [300_000]), pinned())).toBeNull();
    });

    it("if pinned is as fast or slower", () => {
      expect(copiesWith(pageable(), measured({ memory: "pinned" }, 300_000))).toBeNull();
      expect(copiesWith(pageable(), measured({ memory: "pinned" }, 400_000))).toBeNull();
    });

    it("if the intervals allow both to be equally fast", () => {
      const fast = measured({ memory: "pinned" }, 250_000);
      expect(copiesWith(measured({ memory: "pageable" }, around(300_000, 0.6)), fast)).toBeNull();
      expect(copiesWith(pageable(), fast)).toBe(20);
    });

    it("if pinned is faster by less than 5 %", () => {
      expect(copiesWith(pageable(), measured({ memory: "pinned" }, 290_000))).toBeNull();
      expect(copiesWith(pageable(), measured({ memory: "pinned" }, 275_000))).toBe(40);
    });

    it.each(["failed", "mismatch"] as const)("if the pageable or the pinned cell is a %s one", (outcome) => {
      for (const memory of ["pageable", "pinned"] as const) {
        const cells = [pageable(), pinned()];
        cells.find(({ cell }) => cell.memory === memory)!.outcome = outcome;
        expect(copiesWith(...cells)).toBeNull();
      }
    });
  });
});
