import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type {
  MeasureRequest,
  NativeDriver,
  NativeRendezvous,
  NativeSession,
} from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import { measureRequest } from "../helpers/measure-request.js";

/** More than Node's pool has threads, which is four. */
const deviceCount = 6;
const devicesVariable = "PINBENCH_EMULATED_DEVICES";
const arena = { chunksOfWorker: [1], chunkBytes: 1024 * 1024 };
const { addon } = loadAddon();
let driver: NativeDriver;
let rendezvous: NativeRendezvous;
let sessions: NativeSession[];

beforeAll(async () => {
  process.env[devicesVariable] = String(deviceCount);
  ({ driver } = await openBackend("emulated", loadAddon()));
});
afterAll(() => {
  delete process.env[devicesVariable];
});
beforeEach(async () => {
  rendezvous = addon.createRendezvous();
  rendezvous.reset(Array(deviceCount).fill(1));
  sessions = await Promise.all(Array.from({ length: deviceCount }, (_, device) => openSession(device)));
});
afterEach(() => Promise.all(sessions.map((session) => session.close())));

async function openSession(device: number): Promise<NativeSession> {
  const session = await driver.openSession({ device, cpus: [], threads: 1, numaNode: null, seed: 3 });
  await session.reserveHost("pinned", arena);
  await session.reserveDevice(arena, 1);
  return session;
}

function requestOf(flow: number, fields: Partial<MeasureRequest> = {}): MeasureRequest {
  return measureRequest({ company: { rendezvous, flow }, ...fields });
}

describe("measurements that wait for each other", () => {
  it("all run at once, though Node's thread pool has fewer threads", async () => {
    const results = await Promise.all(sessions.map((session, flow) => session.measure(requestOf(flow))));
    for (const { aborted, columns, verification } of results) {
      expect(aborted).toBe(false);
      expect(columns[0]!.durationNs).toHaveLength(3);
      // Two of the four buffers get two copies.
      expect(verification).toEqual({
        checkedBytes: 4 * 100_000,
        mismatches: [],
        copies: 6,
        provenCopies: 2,
      });
    }
  });

  it("all end if one of them is refused", async () => {
    const [refused, ...others] = await Promise.allSettled(
      sessions.map((session, flow) =>
        session.measure(requestOf(flow, flow === 0 ? { memory: "registered" } : {})),
      ),
    );
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "NOT_RESERVED" } });
    for (const other of others) expect(other).toMatchObject({ value: { aborted: true } });
  });
});
