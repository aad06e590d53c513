import type { MeasureRequest } from "../../src/native/contract.js";

/** Three samples of two copies of 100 000 bytes to a device, through four pinned buffers, verified; but for `part`. */
export function measureRequest(part: Partial<MeasureRequest> = {}): MeasureRequest {
  return {
    direction: "h2d",
    memory: "pinned",
    sizeBytes: 100_000,
    workers: 1,
    mode: "throughput",
    cache: "cold",
    buffers: 4,
    firstBuffer: 0,
    warmupCopies: 1,
    warmupBytes: part.sizeBytes ?? 100_000,
    copiesPerSample: 2,
    samples: 3,
    verify: "last",
    readLink: false,
    ...part,
  };
}
