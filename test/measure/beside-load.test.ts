import { describe, expect, it } from "vitest";
import { BesideLoads } from "../../src/measure/beside-load.js";
import type { LoadCompletions, MeasureResult } from "../../src/native/contract.js";
import { emptyResult, FakeSession } from "./support.js";

const nowNs = () => Number(process.hrtime.bigint());

/** A load that completes one piece after the other; `pieceNs` is the time of a piece that begins at `atNs`. */
class FakeLoad {
  readonly #pieceNs: (atNs: number) => number;
  #doneNs = nowNs();

  constructor(
    pieceNs: (atNs: number) => number,
    readonly stop: () => Promise<void>,
  ) {
    this.#pieceNs = pieceNs;
  }

  completions(): LoadCompletions {
    const atNs: number[] = [];
    for (;;) {
      const nextNs = this.#doneNs + this.#pieceNs(this.#doneNs);
      if (nextNs > nowNs()) break;
      atNs.push(nextNs);
      this.#doneNs = nextNs;
    }
    return { atNs: Float64Array.from(atNs), unitsEach: this.#pieceNs(0) };
  }
}

async function besides(
  pieceNs: number | ((atNs: number) => number),
  stop = () => Promise.resolve(),
  onStart: (kind: string) => void = () => undefined,
): Promise<BesideLoads> {
  const session = new FakeSession();
  const startLoad = async ({ kind }: { kind: string }) => {
    onStart(kind);
    return new FakeLoad(typeof pieceNs === "number" ? () => pieceNs : pieceNs, stop);
  };
  const loads = new BesideLoads(Object.assign(session, { startLoad: startLoad as () => Promise<never> }), {
    hostThreads: 1,
    hostBytes: 0,
  });
  await loads.switchTo("host");
  return loads;
}

/** Copies that take a while, in two samples. */
async function measure(sampleNs = 2e6): Promise<MeasureResult> {
  const startNs = Float64Array.of(nowNs(), nowNs() + sampleNs);
  while (nowNs() < startNs[1]! + sampleNs);
  const durationNs = Float64Array.of(sampleNs / 2, sampleNs / 2);
  return { ...emptyResult, columns: [{ direction: "h2d", startNs, durationNs }] };
}

describe("a load beside copies", () => {
  it("is credited with the part of each work item that falls into the measured time", async () => {
    const loads = await besides(40e6);
    for (let visit = 0; visit < 2; ++visit) {
      const [, load] = await loads.visit(() => measure());
      expect(load!.alone).toBeCloseTo(1, 6);
      expect(load!.during).toBeCloseTo(1, 6);
    }
  });

  it("has a rate alone that is taken only before and after the copies", async () => {
    const copies = { beginNs: Number.POSITIVE_INFINITY, endNs: Number.POSITIVE_INFINITY };
    const loads = await besides((atNs) => (atNs < copies.beginNs ? 1e6 : atNs < copies.endNs ? 5e6 : 2e6));
    const [, load] = await loads.visit(async () => {
      const beginNs = nowNs();
      const result = await measure(20e6);
      Object.assign(copies, { beginNs, endNs: nowNs() });
      return result;
    });
    // Alone, half of the time is at the full rate and half at half of it; during the copies a fifth is left.
    expect(load!.alone).toBeGreaterThan(0.65);
    expect(load!.alone).toBeLessThan(0.85);
    expect(load!.during).toBeGreaterThan(0.15);
    expect(load!.during).toBeLessThan(0.3);
  });

  it("has no known rate if it completed nothing alone, as on a busy machine", async () => {
    const loads = await besides(3600e9);
    const [result, load] = await loads.visit(() => measure());
    expect(load).toBeNull();
    expect(result.columns).toHaveLength(1);
  });

  it("runs alone: the next load starts once the previous one has stopped", async () => {
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

  it("has no recorded rate if the copies were aborted", async () => {
    const loads = await besides(1e6);
    const [, load] = await loads.visit(async () => ({ ...(await measure()), aborted: true }));
    expect(load).toBeNull();
  });

  it("that failed is ended without another error, as its cells already report it", async () => {
    const loads = await besides(1e6, () => Promise.reject(new Error("it was lost")));
    await expect(loads.switchTo(null)).resolves.toBeUndefined();
  });
});
