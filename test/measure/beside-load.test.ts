import { describe, expect, it } from "vitest";
import { BesideLoads } from "../../src/measure/beside-load.js";
import type { LoadCompletions, MeasureResult } from "../../src/native/contract.js";
import { FakeSession } from "./support.js";

const nowNs = () => Number(process.hrtime.bigint());

/** A load that has completed pieces one after the other from the start, each of a number of ns and units. */
class FakeLoad {
  readonly deviceBytes = 0;
  readonly #pieceNs: number;
  #doneNs = nowNs();

  constructor(
    pieceNs: number,
    readonly stop: () => Promise<void>,
  ) {
    this.#pieceNs = pieceNs;
  }

  completions(): LoadCompletions {
    const atNs: number[] = [];
    while (this.#doneNs + this.#pieceNs <= nowNs()) {
      this.#doneNs += this.#pieceNs;
      atNs.push(this.#doneNs);
    }
    return { atNs: Float64Array.from(atNs), unitsEach: this.#pieceNs };
  }
}

async function besides(
  pieceNs: number,
  stop = () => Promise.resolve(),
  onStart: (kind: string) => void = () => undefined,
): Promise<BesideLoads> {
  const session = new FakeSession();
  const startLoad = async ({ kind }: { kind: string }) => {
    onStart(kind);
    return new FakeLoad(pieceNs, stop);
  };
  const loads = new BesideLoads(Object.assign(session, { startLoad: startLoad as () => Promise<never> }), {
    hostThreads: 1,
    hostBytes: 0,
  });
  await loads.switchTo("host");
  return loads;
}

/** Copies that take a while, in two samples. */
async function measure(): Promise<MeasureResult> {
  const startNs = Float64Array.of(nowNs(), nowNs() + 2e6);
  while (nowNs() < startNs[1]! + 2e6);
  return {
    columns: [{ direction: "h2d", startNs, durationNs: Float64Array.of(1e6, 1e6) }],
    verification: { checkedBytes: 0, mismatches: [], copies: 0, provenCopies: 0 },
    link: null,
    aborted: false,
    prepareNs: 0,
    verifyNs: 0,
  };
}

describe("what a load does by itself and during the copies", () => {
  it("counts of a piece the part that lies in the time, and no time of which nothing is known yet", async () => {
    const loads = await besides(40e6);
    for (let visit = 0; visit < 2; ++visit) {
      const [, load] = await loads.visit(measure);
      expect(load!.alone).toBeCloseTo(1, 6);
      expect(load!.during).toBeCloseTo(1, 6);
    }
  });

  it("is not told where it did nothing by itself, on a machine too busy for it", async () => {
    const loads = await besides(3600e9);
    const [result, load] = await loads.visit(measure);
    expect(load).toBeNull();
    expect(result.columns).toHaveLength(1);
  });

  it("is that of one load at a time: the next one starts once the one before has stopped, however late", async () => {
    const happened: string[] = [];
    const stop = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      happened.push("stopped");
    };
    const loads = await besides(1e6, stop, (kind) => happened.push(kind));
    await loads.switchTo("host");
    await loads.switchTo("compute");
    await loads.switchTo(null);
    expect(happened).toEqual(["host", "stopped", "compute", "stopped"]);
  });

  it("is not that of copies that were aborted", async () => {
    const loads = await besides(1e6);
    const [, load] = await loads.visit(async () => ({ ...(await measure()), aborted: true }));
    expect(load).toBeNull();
  });

  it("ends the one before, whatever became of it: that was told to the cells beside it", async () => {
    const loads = await besides(1e6, () => Promise.reject(new Error("it was lost")));
    await expect(loads.switchTo(null)).resolves.toBeUndefined();
  });
});
