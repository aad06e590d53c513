import { describe, expect, it } from "vitest";
import { addReuses, measurePinning, pinningSizes, reusesToPayOff } from "../../src/measure/cold-start.js";
import { FakeSession, KiB, MiB, nativeError, progressOf } from "./support.js";

const cost = (allocateNs: number, freeNs = 0) => ({ allocateNs, freeNs, hugePageBytes: null });

describe("reusesToPayOff", () => {
  it.each([
    ["what pinning costs over what a copy saves, rounded up", 1000, 300, 100, 5],
    ["not a whole number of copies", 1001, 300, 100, 6],
    ["one copy that saves it all", 100, 300, 100, 1],
  ])("is %s", (_, costNs, pageableNs, pinnedNs, copies) => {
    expect(reusesToPayOff(costNs, pageableNs, pinnedNs)).toBe(copies);
  });
});

describe("pinningSizes", () => {
  it("are all of a few sizes, ascending and each once", () => {
    expect(pinningSizes([4, 1, 4, 2])).toEqual([1, 2, 4]);
  });

  it("are six of many, the ends among them", () => {
    const sizes = Array.from({ length: 81 }, (_, i) => i + 1);
    expect(pinningSizes(sizes)).toEqual([1, 17, 33, 49, 65, 81]);
  });
});

describe("measurePinning", () => {
  it("prefers the way that costs less, freeing included", async () => {
    const session = new FakeSession();
    session.pinningCost = (kind, sizeBytes) =>
      kind === "pinned" ? cost(sizeBytes, 0) : cost(MiB, sizeBytes / 4);
    const records = await measurePinning(session, [MiB, 4 * MiB], new AbortController().signal);
    expect(records.map(({ sizeBytes, reuses }) => [sizeBytes, reuses.cheapest])).toEqual([
      [MiB, "pinned"],
      [4 * MiB, "registered"],
    ]);
  });

  it("gives null for a way that fails, and prefers the other", async () => {
    const session = new FakeSession();
    session.pinningCost = (kind) => {
      if (kind === "pinned") throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
      return cost(1000);
    };
    const [record] = await measurePinning(session, [MiB], new AbortController().signal);
    expect(record).toMatchObject({
      pinned: null,
      registered: cost(1000),
      reuses: { cheapest: "registered" },
    });
  });

  it("ends with what it has when it is aborted", async () => {
    const controller = new AbortController();
    const session = new FakeSession();
    session.pinningCost = () => {
      controller.abort();
      return cost(1000);
    };
    expect(await measurePinning(session, [KiB, MiB], controller.signal)).toHaveLength(1);
  });
});

describe("addReuses", () => {
  const record = {
    sizeBytes: MiB,
    pinned: cost(900_000, 100_000),
    registered: null,
    reuses: { cheapest: "pinned", h2d: null, d2h: null },
  } as const;

  /** Six samples, the fewest with an interval: it then reaches from the first to the last. */
  const around = (ns: number, relative = 0) =>
    [-1, -0.5, 0, 0, 0.5, 1].map((part) => ns * (1 + part * relative));

  function measured(part: Parameters<typeof progressOf>[0], time: number | number[]) {
    const durationNs = Float64Array.from(typeof time === "number" ? around(time) : time);
    const progress = progressOf(part);
    progress.copiesPerSample = 1;
    progress.add(
      {
        columns: [{ direction: "h2d", startNs: new Float64Array(durationNs.length), durationNs }],
        verification: { checkedBytes: 0, mismatches: [] },
        link: null,
        aborted: false,
        prepareNs: 0,
        verifyNs: 0,
      },
      0,
    );
    return progress;
  }

  it("takes the copies of one worker of that size, in each direction", () => {
    const cells = [
      measured({ memory: "pageable" }, 300_000),
      measured({ memory: "pinned" }, 100_000),
      measured({ memory: "pageable", workers: 2 }, 1e9),
      measured({ memory: "pageable", sizeBytes: KiB }, 1e9),
    ];
    const [{ reuses }] = addReuses([record], cells) as [typeof record];
    expect(reuses).toEqual({ cheapest: "pinned", h2d: 5, d2h: null });
  });

  it("takes registered memory's copies where there are none of pinned", () => {
    const cells = [measured({ memory: "pageable" }, 300_000), measured({ memory: "registered" }, 200_000)];
    expect(addReuses([record], cells)[0]?.reuses.h2d).toBe(10);
  });

  describe("gives none", () => {
    const pageable = () => measured({ memory: "pageable" }, 300_000);
    const pinned = () => measured({ memory: "pinned" }, 100_000);
    const reusesWith = (...cells: ReturnType<typeof measured>[]) => addReuses([record], cells)[0]?.reuses.h2d;

    it("where one of the two was not measured", () => {
      expect(reusesWith(pageable())).toBeNull();
      expect(reusesWith(pinned())).toBeNull();
      expect(reusesWith(progressOf({ memory: "pageable" }), pinned())).toBeNull();
    });

    it("where one has too few samples for an interval", () => {
      expect(reusesWith(pageable(), measured({ memory: "pinned" }, [100_000]))).toBeNull();
      expect(reusesWith(measured({ memory: "pageable" }, [300_000]), pinned())).toBeNull();
    });

    it("where pinned is as fast or slower", () => {
      expect(reusesWith(pageable(), measured({ memory: "pinned" }, 300_000))).toBeNull();
      expect(reusesWith(pageable(), measured({ memory: "pinned" }, 400_000))).toBeNull();
    });

    it("where the intervals overlap, however far the medians are apart", () => {
      const wide = measured({ memory: "pageable" }, around(300_000, 0.7));
      expect(reusesWith(wide, pinned())).toBeNull();
      const narrower = measured({ memory: "pageable" }, around(300_000, 0.6));
      expect(reusesWith(narrower, pinned())).toBe(5);
    });

    it.each(["failed", "mismatch"] as const)("where one of the two is a %s cell", (outcome) => {
      for (const memory of ["pageable", "pinned"] as const) {
        const cells = [pageable(), pinned()];
        cells.find(({ cell }) => cell.memory === memory)!.outcome = outcome;
        expect(reusesWith(...cells)).toBeNull();
      }
    });
  });
});
