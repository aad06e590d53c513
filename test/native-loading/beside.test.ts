import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type {
  LoadOptions,
  MeasureRequest,
  NativeDriver,
  NativeLoad,
  NativeSession,
} from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import { measureRequest } from "../helpers/measure-request.js";

const KiB = 1024;
const MiB = 1024 * KiB;

let driver: NativeDriver;
const open: NativeSession[] = [];
beforeAll(async () => {
  ({ driver } = await openBackend("emulated", loadAddon()));
});
afterEach(async () => {
  for (const session of open.splice(0)) await session.close();
});

/** A session with room for six buffers of 64 KiB. */
async function openSession(): Promise<NativeSession> {
  const session = await driver.openSession({ device: 0, cpus: [], threads: 2, numaNode: null, seed: 1 });
  open.push(session);
  const arena = { chunksOfWorker: [1], chunkBytes: 6 * 64 * KiB };
  await session.reserveDevice(arena, 1);
  for (const kind of ["pinned", "pageable"] as const) await session.reserveHost(kind, arena);
  return session;
}

const request = measureRequest({ sizeBytes: 64 * KiB, buffers: 6, copiesPerSample: 3, samples: 2 });

const kinds: LoadOptions[] = [
  { kind: "compute", hostThreads: 0, hostBytes: 0 },
  { kind: "memory", hostThreads: 0, hostBytes: 0 },
  { kind: "host", hostThreads: 2, hostBytes: 4 * MiB },
  { kind: "launch", hostThreads: 0, hostBytes: 0 },
  { kind: "small-copy", hostThreads: 0, hostBytes: 0 },
];

/** At least this many completions, however long they take. */
async function take(load: NativeLoad, count: number): Promise<number[]> {
  const atNs: number[] = [];
  while (atNs.length < count) {
    const news = load.completions();
    expect(news.atNs).toBeInstanceOf(Float64Array);
    expect(news.unitsEach).toBeGreaterThan(0);
    atNs.push(...news.atNs);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return atNs;
}

describe("startLoad", () => {
  it.each(kinds)("runs a load during copies until it is stopped: $kind", async (options) => {
    const session = await openSession();
    const load = await session.startLoad(options);
    const before = await take(load, 1);
    const result = await session.measure(request);
    expect(result.verification).toMatchObject({ checkedBytes: 6 * 64 * KiB, mismatches: [] });
    const startNs = result.columns[0]!.startNs[0]!;
    expect(before[0]).toBeLessThan(startNs);
    // On a busy machine the first completions may be older than the copies.
    let last = before[0]!;
    while (last <= startNs) last = (await take(load, 1)).at(-1)!;
    await load.stop();
    await load.stop();
    load.completions();
    expect(load.completions().atNs).toHaveLength(0);
  });

  it("starts a load that ends when its session is closed or aborted", async () => {
    for (const end of [
      (session: NativeSession) => session.close(),
      (session: NativeSession) => session.abort(),
    ]) {
      const session = await openSession();
      const loads: NativeLoad[] = [];
      for (const options of kinds) loads.push(await session.startLoad(options));
      await take(loads[0]!, 1);
      await end(session);
      for (const load of loads) {
        await load.stop();
        load.completions();
        expect(load.completions().atNs).toHaveLength(0);
      }
    }
  });

  it("is refused for a session that is closed or aborted", async () => {
    const session = await openSession();
    session.abort();
    await expect(session.startLoad(kinds[0]!)).rejects.toMatchObject({ code: "ABORTED" });
    await session.close();
    expect(() => session.startLoad(kinds[0]!)).toThrow("the session is closed");
  });

  it("rejects unavailable memory and invalid loads with an error code", async () => {
    const session = await openSession();
    await expect(
      session.startLoad({ kind: "host", hostThreads: 1, hostBytes: 2 ** 52 }),
    ).rejects.toMatchObject({
      code: "OUT_OF_HOST_MEMORY",
    });
    await expect(session.startLoad({ kind: "host", hostThreads: 0, hostBytes: MiB })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    const wrong = [
      [{ kind: "cpu" }, "kind must be one of"],
      [{ hostThreads: -1 }, "hostThreads must be a whole number"],
      [{ hostBytes: 0.5 }, "hostBytes must be a whole number"],
    ] as const;
    for (const [change, message] of wrong) {
      expect(() => session.startLoad({ ...kinds[2]!, ...change } as LoadOptions)).toThrow(message);
    }
  });
});

describe("a pipeline", () => {
  it.each([
    ["pinned", 1],
    ["pinned", 4],
    ["pageable", 4],
  ] as const)(
    "of %s memory in %d chunks is verified, and lasts at least as long as its kernels",
    async (memory, chunks) => {
      const session = await openSession();
      const computeNs = 1e6;
      const result = await session.measure({ ...request, memory, pipeline: { chunks, computeNs } });
      expect(result.verification).toMatchObject({ checkedBytes: 6 * 64 * KiB, mismatches: [] });
      for (const durationNs of result.columns[0]!.durationNs) {
        expect(durationNs).toBeGreaterThan(0.999 * request.copiesPerSample * computeNs);
      }
    },
  );

  it("is refused with the name of a wrong field, and if it is invalid as a whole", async () => {
    const session = await openSession();
    const wrong = [
      [{ chunks: 1 }, "computeNs must be a whole number"],
      [{ chunks: -1, computeNs: 0 }, "chunks must be a whole number"],
    ] as const;
    for (const [pipeline, message] of wrong) {
      expect(() => session.measure({ ...request, pipeline } as MeasureRequest)).toThrow(message);
    }
    const pipeline = { chunks: 2, computeNs: 0 };
    for (const change of [{ direction: "d2h" }, { pipeline: { chunks: 129, computeNs: 0 } }] as const) {
      await expect(session.measure({ ...request, pipeline, ...change })).rejects.toMatchObject({
        code: "INVALID_REQUEST",
      });
    }
  });
});
