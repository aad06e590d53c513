import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type { MeasureRequest, NativeDriver, NativeSession, PeerCopy } from "../../src/native/contract.js";
import type { DriverFacts } from "../../src/native/device-contract.js";
import { loadAddon } from "../../src/native/load.js";
import { peerPaths } from "../../src/settings/choices.js";
import { measureRequest } from "../helpers/measure-request.js";

const devicesVariable = "PINBENCH_EMULATED_DEVICES";
let driver: NativeDriver;
let facts: DriverFacts;
beforeAll(async () => {
  process.env[devicesVariable] = "2";
  ({ driver, facts } = await openBackend("emulated", loadAddon()));
});
afterAll(() => {
  delete process.env[devicesVariable];
});

const arena = { chunksOfWorker: [1, 1], chunkBytes: 1024 * 1024 };

async function openSession(device: number): Promise<NativeSession> {
  const session = await driver.openSession({ device, cpus: [], threads: 2, numaNode: null, seed: 3 });
  await session.reserveDevice(arena, 2);
  return session;
}

function requestTo(peer: Partial<MeasureRequest["peer"]>, fields: Partial<MeasureRequest> = {}) {
  const to = { path: "write", ...peer } as PeerCopy;
  return measureRequest({ direction: "p2p", memory: "device", workers: 2, peer: to, ...fields });
}

let first: NativeSession;
let second: NativeSession;
beforeEach(async () => {
  [first, second] = await Promise.all([openSession(0), openSession(1)]);
});
afterEach(() => Promise.all([first.close(), second.close()]));

describe("copies between two devices", () => {
  it("are between emulated devices that list each other as peers", () => {
    expect(facts.devices.map(({ peers }) => peers)).toEqual([[1], [0]]);
  });

  it.each(peerPaths)("by path %s report one direction, and compare each buffer's last copy", async (path) => {
    const result = await first.measure(requestTo({ session: second, path }));
    expect(result.aborted).toBe(false);
    expect(result.verification).toEqual({
      checkedBytes: 2 * 4 * 100_000,
      mismatches: [],
      copies: 2 * 6,
      provenCopies: 2 * 2,
    });
    expect(result.columns.map(({ direction }) => direction)).toEqual(["p2p"]);
    expect(result.columns[0]!.durationNs).toHaveLength(3);
    expect(Math.min(...result.columns[0]!.durationNs)).toBeGreaterThan(0);
  });

  it.each(["read", "kernel-read"] as const)(
    "by path %s write into their own device, so that the peer needs only one buffer",
    async (path) => {
      await second.reserveDevice(arena, 1);
      const { aborted, verification } = await first.measure(requestTo({ session: second, path }));
      expect({ aborted, mismatches: verification.mismatches }).toEqual({ aborted: false, mismatches: [] });
    },
  );

  it("fail with an error code if a device has not reserved its memory", async () => {
    await second.reserveDevice(arena, 1);
    await expect(first.measure(requestTo({ session: second }))).rejects.toMatchObject({
      code: "NOT_RESERVED",
    });
    await expect(first.measure(requestTo({ session: first }))).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
  });

  it.each([
    ["no session", { session: {} as NativeSession }],
    ["an unknown path", { path: "sideways" as "read" }],
  ])("are refused if the request has %s", (_, peer) => {
    expect(() => first.measure(requestTo({ session: second, ...peer }))).toThrow(TypeError);
  });

  it("are refused if the peer's session is closed", async () => {
    await second.close();
    expect(() => first.measure(requestTo({ session: second }))).toThrow("the session is closed");
  });

  it("are finished before a session that takes part in them closes", async () => {
    const measuring = first.measure(requestTo({ session: second }));
    await Promise.all([second.close(), first.close()]);
    const { aborted, verification } = await measuring;
    expect({ aborted, mismatches: verification.mismatches }).toEqual({ aborted: false, mismatches: [] });
  });

  it("end if the other session is aborted", async () => {
    const endless = requestTo({ session: second }, { samples: 1, copiesPerSample: 100_000_000 });
    const measuring = first.measure(endless);
    second.abort();
    expect(await measuring).toMatchObject({ aborted: true, columns: [] });
    const { peer: _, ...within } = requestTo({}, { direction: "d2d" });
    expect((await first.measure(within)).aborted).toBe(false);
  });
});
