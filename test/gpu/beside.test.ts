import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { LoadOptions, MeasureRequest, NativeLoad } from "../../src/native/contract.js";
import { median } from "../../src/stats/order-statistics.js";
import { isEmulated } from "./backend.js";
import { MiB, requestOf, useSession } from "./session.js";

const opened = useSession({ workers: 2, chunkBytes: 128 * MiB });

const device = (kind: "compute" | "memory"): LoadOptions => ({ kind, hostThreads: 0, hostBytes: 0 });
const host: LoadOptions = { kind: "host", hostThreads: 2, hostBytes: 512 * MiB };

/** Units a second, and the median time between two completions in ns, over `ms`. */
async function watch(load: NativeLoad, ms: number): Promise<{ unitsPerSecond: number; pieceNs: number }> {
  load.completions();
  await sleep(ms);
  const { atNs, unitsEach } = load.completions();
  const between = [...atNs].slice(1).map((ns, i) => ns - atNs[i]!);
  const spanNs = atNs.at(-1)! - atNs[0]!;
  return { unitsPerSecond: (between.length * unitsEach) / (spanNs / 1e9), pieceNs: median(between) };
}

async function measure(request: Parameters<typeof requestOf>[0]): Promise<number> {
  const result = await opened.session.measure(requestOf(request));
  expect(result.verification.mismatches).toEqual([]);
  expect(result.verification.checkedBytes).toBeGreaterThan(0);
  return median([...result.columns[0]!.durationNs]);
}

describe("a load", () => {
  it.each([device("compute"), device("memory"), host])(
    "runs beside copies of every kind, which stay right: $kind",
    async (options) => {
      const load = await opened.session.startLoad(options);
      for (const memory of ["pageable", "staged", "pinned", "registered", "mapped"] as const) {
        for (const direction of ["h2d", "d2h", "bidir"] as const) {
          load.completions();
          await measure({ direction, memory, sizeBytes: 16 * MiB });
          expect(load.completions().atNs.length, `${direction} ${memory}`).toBeGreaterThan(0);
        }
      }
      await load.stop();
    },
  );

  it("of the device's arithmetic does more than arithmetic without tensor cores can", async () => {
    const load = await opened.session.startLoad(device("compute"));
    await sleep(500);
    const { unitsPerSecond, pieceNs } = await watch(load, 500);
    await load.stop();
    expect(pieceNs).toBeGreaterThan(0.3e6);
    if (isEmulated) return;
    expect(pieceNs).toBeLessThan(1.5e6);
    // 128 lanes a multiprocessor at 2.5 GHz or less, a multiply-add each: what single precision comes to at most.
    const { multiprocessors } = opened.backend.facts.devices[0]!;
    expect(unitsPerSecond).toBeGreaterThan(multiprocessors * 128 * 2.5e9 * 2);
  });

  it.skipIf(isEmulated)("of the device's memory moves about what a copy within it does", async () => {
    const sizeBytes = 64 * MiB;
    const copiesPerSample = 8;
    const copyNs = await measure({ direction: "d2d", memory: "device", sizeBytes, copiesPerSample });
    const load = await opened.session.startLoad(device("memory"));
    const { unitsPerSecond } = await watch(load, 500);
    await load.stop();
    const copied = (2 * sizeBytes * copiesPerSample) / (copyNs / 1e9);
    expect(unitsPerSecond / copied).toBeGreaterThan(0.7);
    expect(unitsPerSecond / copied).toBeLessThan(1.3);
  });

  it("gives all of the device's memory back", async () => {
    const before = opened.session.memoryInfo().freeBytes;
    for (let i = 0; i < 3; ++i) await (await opened.session.startLoad(device("memory"))).stop();
    expect(Math.abs(opened.session.memoryInfo().freeBytes - before)).toBeLessThan(64 * MiB);
  });
});

describe("a pipeline", () => {
  const sizeBytes = 64 * MiB;
  const batch = (memory: MeasureRequest["memory"], pipeline?: MeasureRequest["pipeline"]) =>
    measure({ direction: "h2d", memory, sizeBytes, copiesPerSample: 2, ...(pipeline && { pipeline }) });

  it.each(["pinned", "registered", "pageable"] as const)(
    "in one chunk takes the sum of its parts, and in any number of chunks is verified: %s",
    async (memory) => {
      const copyNs = await batch(memory);
      const computeNs = 2 * 2e6;
      const sumNs = await batch(memory, { chunks: 1, computeNs: computeNs / 2 });
      expect(sumNs).toBeGreaterThan(computeNs);
      if (!isEmulated) {
        // The rate of pageable copies is the host's, which other programs use too.
        const copiesNs = [copyNs, await batch(memory)];
        expect(sumNs / (Math.min(...copiesNs) + computeNs)).toBeGreaterThan(0.9);
        expect(sumNs / (Math.max(...copiesNs) + computeNs)).toBeLessThan(1.2);
      }
      for (const chunks of [2, 16, 100]) {
        expect(await batch(memory, { chunks, computeNs: computeNs / 2 })).toBeGreaterThan(computeNs);
      }
    },
  );

  it.skipIf(isEmulated)("of pinned memory hides most of the shorter part behind the longer", async () => {
    const copyNs = (await batch("pinned")) / 2;
    const computeNs = Math.round(copyNs);
    const one = await batch("pinned", { chunks: 1, computeNs });
    const sixteen = await batch("pinned", { chunks: 16, computeNs });
    expect(one / sixteen).toBeGreaterThan(1.4);
  });
});
