import type { MeasureRequest, NativeSession } from "../../native/contract.js";
import { median } from "../../stats/order-statistics.js";
import { interrupted } from "./faults.js";

export interface LinkSpeed {
  pinnedBytesPerSecond: number;
  pageableBytesPerSecond: number;
}

/** Copies that are timed: the median of these is within a few per cent. */
const copies = 15;
/** What memory of the device is given out in, and a buffer is rounded up to. */
const granularityBytes = 512;

/**
 * Times copies of one batch to the device, from pinned and from pageable memory, with nothing beside them. What is
 * reserved for it stays with the session, which should be one for this alone.
 */
export async function measureLink(session: NativeSession, batchBytes: number): Promise<LinkSpeed> {
  const geometry = {
    chunksOfWorker: [1],
    chunkBytes: Math.ceil(batchBytes / granularityBytes) * granularityBytes,
  };
  await session.reserveDevice(geometry, 1);
  const speed = async (memory: "pinned" | "pageable") => {
    await session.reserveHost(memory, geometry);
    const { columns, aborted } = await session.measure(requestOf(memory, batchBytes));
    if (aborted) throw interrupted();
    return batchBytes / (median([...columns[0]!.durationNs]) / 1e9);
  };
  return { pinnedBytesPerSecond: await speed("pinned"), pageableBytesPerSecond: await speed("pageable") };
}

function requestOf(memory: "pinned" | "pageable", sizeBytes: number): MeasureRequest {
  return {
    direction: "h2d",
    memory,
    sizeBytes,
    workers: 1,
    mode: "throughput",
    timer: "wall",
    cache: "warm",
    buffers: 1,
    firstBuffer: 0,
    warmupCopies: 2,
    warmupBytes: sizeBytes,
    copiesPerSample: 1,
    samples: copies,
    verify: false,
    readLink: false,
  };
}
