import type { ArenaKind } from "../native/contract.js";
import { arenaBytes, type PlannedArenas } from "./geometry.js";

/** Bytes that a session reserves. Devices are measured one after the other, so this is the need of one. */
export interface MemoryNeed {
  /** Host memory of every kind, staging rings included. */
  hostBytes: number;
  /** The part of it that is page-locked. */
  pinnedBytes: number;
  deviceBytes: number;
}

/** The sum of a session's arenas. */
export function memoryNeed(arenas: PlannedArenas): MemoryNeed {
  const bytesOf = (kind: ArenaKind) => {
    const geometry = arenas.host[kind];
    return geometry === undefined ? 0 : arenaBytes(geometry);
  };
  const { staging } = arenas;
  const stagingBytes = staging === null ? 0 : staging.workers * staging.slots * staging.chunkBytes;
  const pinnedBytes = bytesOf("pinned") + bytesOf("registered") + bytesOf("write-combined") + stagingBytes;
  return {
    hostBytes: bytesOf("pageable") + pinnedBytes,
    pinnedBytes,
    deviceBytes: arenaBytes(arenas.device) * arenas.deviceCopies,
  };
}
