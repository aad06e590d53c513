import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NativeSession } from "../../src/native/contract.js";
import { peerPaths } from "../../src/settings/choices.js";
import { openTestBackend } from "./backend.js";
import { KiB, MiB, openTestSession, requestOf, skipWithout } from "./session.js";

const backend = await openTestBackend();
const [source, destination] = backend.facts.devices;
const paths = peerPaths.filter(
  (path) => path === "through-host" || source!.peers.includes(destination?.ordinal ?? -1),
);
const arena = { chunksOfWorker: [1, 1], chunkBytes: 64 * MiB };

describe("between two devices every byte arrives", () => {
  skipWithout("twoGpus");
  let sessions: NativeSession[] = [];
  beforeAll(async () => {
    if (destination === undefined) return;
    sessions = await Promise.all([source!, destination!].map((device) => openTestSession(backend, device)));
    await Promise.all(sessions.map((session) => session.reserveDevice(arena, 2)));
  });
  afterAll(() => Promise.all(sessions.map((session) => session.close())));

  for (const path of paths) {
    it.each([0, 1])(`by path ${path}, driven by device %i`, async (driving) => {
      for (const sizeBytes of [1, 1000, 64 * KiB + 8, MiB, 16 * MiB]) {
        const request = requestOf({
          direction: "p2p",
          memory: "device",
          workers: 2,
          sizeBytes,
          peer: { session: sessions[1 - driving]!, path },
        });
        const result = await sessions[driving]!.measure(request);
        const { checkedBytes, mismatches, copies } = result.verification;
        expect(mismatches).toEqual([]);
        expect({ checkedBytes, copies }).toEqual({ checkedBytes: 2 * 2 * sizeBytes, copies: 2 * 4 * 6 });
        expect(result.columns[0]!.durationNs).toHaveLength(request.samples);
        expect(Math.min(...result.columns[0]!.durationNs)).toBeGreaterThan(0);
      }
    });
  }
});
