import { afterAll, beforeAll, beforeEach, inject } from "vitest";
import { choosePlacement } from "../../src/host/topology.js";
import type { Backend } from "../../src/native/backend.js";
import type { MeasureRequest, NativeSession } from "../../src/native/contract.js";
import { openTestBackend } from "./backend.js";
import type { Need } from "./setup.js";

export const KiB = 1024;
export const MiB = 1024 * KiB;

/** Skips the tests of the file or the `describe` in which it is called on a machine that lacks what they need. */
export function skipWithout(need: Need): void {
  const note = inject("missing")[need];
  beforeEach(({ skip }) => skip(note !== null, note ?? undefined));
}

/** Opens a session for the tests of a file, with memory of every kind, and closes it after them. */
export function useSession(geometry: { workers: number; chunkBytes: number }) {
  const opened = {} as { backend: Backend; session: NativeSession };
  beforeAll(async () => {
    opened.backend = await openTestBackend();
    opened.session = await openTestSession(opened.backend);
    const arena = {
      chunksOfWorker: Array<number>(geometry.workers).fill(1),
      chunkBytes: geometry.chunkBytes,
    };
    await opened.session.reserveDevice(arena, 2);
    for (const kind of ["pageable", "pinned", "registered", "write-combined"] as const) {
      await opened.session.reserveHost(kind, arena);
    }
    await opened.session.reserveStaging({
      workers: geometry.workers,
      slots: 3,
      chunkBytes: 2 * MiB,
      hostSlots: 0,
      hostChunkBytes: 0,
    });
  });
  afterAll(() => opened.session.close());
  return opened;
}

export function openTestSession(
  { driver, facts }: Backend,
  device = facts.devices[0]!,
): Promise<NativeSession> {
  return driver.openSession({
    device: device.ordinal,
    seed: 7,
    ...choosePlacement(device.pciBusId, "local"),
  });
}

export function requestOf(
  fields: Partial<MeasureRequest> & Pick<MeasureRequest, "direction" | "memory">,
): MeasureRequest {
  const sizeBytes = fields.sizeBytes ?? MiB;
  return {
    sizeBytes,
    workers: 1,
    mode: "throughput",
    cache: "cold",
    buffers: 2,
    firstBuffer: 0,
    warmupCopies: 1,
    warmupBytes: sizeBytes,
    copiesPerSample: 4,
    samples: 6,
    verify: "last",
    readLink: false,
    ...fields,
  };
}
