import type { BackendName } from "../settings/choices.js";
import type { LinkRecord } from "../settings/schema-parts.js";

/** In every output with figures of the emulated device. */
export const emulatedNotice = "emulated device: figures describe this machine's memory, not a GPU";

export const emulatedNote = `${emulatedNotice}.`;

export function noticeOf(backend: BackendName): string | null {
  return backend === "emulated" ? emulatedNotice : null;
}

/** The name of a version from cuDriverGetVersion: 13000 is "13.0". */
export function cudaVersionName(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

/**
 * Payload of a lane in Gbit/s by PCIe generation, from the PCI Express Base Specification: its raw rate times its line
 * code, which is 8b/10b up to generation 2 and 128b/130b from 3 to 5; in generation 6 (PAM4, FLIT mode) 242 of a flit's
 * 256 bytes, the rest being CRC and forward error correction.
 */
const laneGbps: ReadonlyMap<number, number> = new Map([
  [1, 2.5 * (8 / 10)],
  [2, 5 * (8 / 10)],
  [3, 8 * (128 / 130)],
  [4, 16 * (128 / 130)],
  [5, 32 * (128 / 130)],
  [6, 64 * (242 / 256)],
]);

const bitsPerByte = 8;

/**
 * Limit of a PCIe link in one direction, in decimal GB/s: lane rate x encoding x width. Packet headers and flow control
 * are not subtracted, so no copy reaches it. Generation 5 x16 has 63.015. Null if generation or width is unknown.
 */
export function linkLimitGBps(generation: number | null, width: number | null): number | null {
  const lane = generation === null ? undefined : laneGbps.get(generation);
  if (lane === undefined || width === null || !(width > 0)) return null;
  return (lane * width) / bitsPerByte;
}

/** The limit of a device's current link; null if copies do not go through PCIe, whatever NVML says of that. */
export function pcieLimitGBps(
  { integrated, coherent }: { integrated: boolean; coherent: boolean },
  { generation, width }: Pick<LinkRecord, "generation" | "width">,
): number | null {
  return integrated || coherent ? null : linkLimitGBps(generation, width);
}
