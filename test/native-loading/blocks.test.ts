import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type { BlockCopy, MeasureRequest, NativeSession } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import { blockWays } from "../../src/settings/choices.js";
import { measureRequest } from "../helpers/measure-request.js";

const KiB = 1024;
const arena = { chunksOfWorker: [1, 1], chunkBytes: 1024 * KiB };

let session: NativeSession;
beforeEach(async () => {
  const { driver } = await openBackend("emulated", loadAddon());
  session = await driver.openSession({ device: 0, cpus: [], threads: 2, numaNode: null, seed: 3 });
  await session.reserveDevice(arena, 1);
  await session.reserveHost("pinned", arena);
  await session.reserveStaging({
    workers: 2,
    slots: 3,
    chunkBytes: 16 * KiB,
    hostSlots: 0,
    hostChunkBytes: 0,
  });
});
afterEach(() => session.close());

function requestOf(blocks: Partial<BlockCopy>, fields: Partial<MeasureRequest> = {}): MeasureRequest {
  return measureRequest({
    sizeBytes: 64 * KiB,
    workers: 2,
    blocks: { bytes: 4 * KiB, way: "loop", ...blocks },
    ...fields,
  });
}

describe("copies in blocks", () => {
  for (const direction of ["h2d", "d2h"] as const) {
    it.each(blockWays)(
      `${direction} by method %s compare each buffer's last copy, and report the host's time`,
      async (way) => {
        const result = await session.measure(requestOf({ way }, { direction }));
        expect(result.verification).toEqual({
          checkedBytes: 2 * 4 * 64 * KiB,
          mismatches: [],
          copies: 2 * 6,
          provenCopies: 2 * 2,
        });
        const [{ durationNs, hostNs } = { durationNs: [], hostNs: undefined }] = result.columns;
        expect(durationNs).toHaveLength(3);
        expect(hostNs).toBeInstanceOf(Float64Array);
        expect(hostNs).toHaveLength(3);
        for (const [i, ns] of hostNs!.entries()) {
          expect(ns).toBeGreaterThan(0);
          expect(ns).toBeLessThanOrEqual(durationNs[i]!);
        }
      },
    );
  }

  it("report the host's time like plain copies, which report none in latency mode", async () => {
    const { blocks: _, ...plain } = requestOf({});
    expect((await session.measure(plain)).columns[0]!.hostNs).toHaveLength(plain.samples);
    const single = { ...plain, mode: "latency", copiesPerSample: 1 } as const;
    expect((await session.measure(single)).columns[0]!.hostNs).toHaveLength(0);
  });

  it.each([
    ["something else than an object", { blocks: 4096 as unknown as BlockCopy }, "an object"],
    ["an unknown method", { blocks: { bytes: 4096, way: "hop" as "loop" } }, "one of the names"],
    ["a size that is no number", { blocks: { bytes: "4k" as unknown as number, way: "loop" } }, "bytes"],
  ] as const)("with %s are refused by the addon's check of arguments", (_, fields, message) => {
    expect(() => session.measure({ ...requestOf({}), ...fields })).toThrow(message);
  });

  it("of sizes that do not fit, of warm buffers or in both directions fail with an error code", async () => {
    const invalid = { code: "INVALID_REQUEST" };
    await expect(session.measure(requestOf({ bytes: 3 * KiB }))).rejects.toMatchObject(invalid);
    await expect(session.measure(requestOf({}, { cache: "warm", buffers: 1 }))).rejects.toMatchObject(
      invalid,
    );
    await expect(session.measure(requestOf({}, { direction: "bidir" }))).rejects.toMatchObject({
      code: expect.stringMatching(/NOT_RESERVED|INVALID_REQUEST/),
    });
  });
});
