import { describe, expect, it } from "vitest";
import { addReuses, measurePinning, pinningSizes, reusesToPayOff } from "../../src/measure/cold-start.js";
import { FakeSession, KiB, MiB, nativeError, progressOf } from "./support.js";

const cost = (allocateNs: number, freeNs = 0) => ({ allocateNs, freeNs, hugePageBytes: null });

describe("reusesToPayOff", () => {
  it.each([
    ["what pinning costs over what a copy saves, rounded up", 1000, 300, 100, 5],
    ["not a whole number of copies", 1001, 300, 100, 6],
    ["one copy that saves it all", 100, 300, 100, 1],
    ["nothing where pinned is as fast", 1000, 100, 100, null],
    ["nothing where pinned is slower", 1000, 100, 300, null],
    ["nothing where pageable was not measured", 1000, null, 100, null],
    ["nothing where pinned was not measured", 1000, 300, null, null],
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

  function measured(part: Parameters<typeof progressOf>[0], durationNs: number) {
    const progress = progressOf(part);
    progress.copiesPerSample = 1;
    progress.add(
      {
        columns: [{ direction: "h2d", startNs: Float64Array.of(0), durationNs: Float64Array.of(durationNs) }],
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
});
