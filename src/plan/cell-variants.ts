import { PinbenchError } from "../errors.js";
import type { Cell } from "../results/cell-schema.js";
import { copiesHostMemory, peerPaths } from "../settings/choices.js";
import type { Axes } from "./axes.js";
import { blockCells, blockCheck, problemOfBlocks, type VariantCheck } from "./blocks.js";
import { cellsAtPlacements } from "./numa.js";

/*
 * Variants of a plain cell: copied by processes, on several devices at once, between two devices, during a load, in
 * chunks followed by kernels, in scattered blocks, or on chosen NUMA nodes.
 */

export function variantsOf(plain: Cell, axes: Axes): Cell[] {
  const { placements } = axes;
  const ordinals = axes.devices.map(({ ordinal }) => ordinal);
  if (placements !== null)
    return isBetweenHostAndDevice(plain) ? cellsAtPlacements(plain, placements, ordinals) : [];
  if (plain.direction === "p2p") {
    const peers = ordinals.filter((ordinal) => ordinal !== plain.device);
    return peers.flatMap((peer) => peerPaths.map((path) => ({ ...plain, peer, path })));
  }
  const kinds = axes.workerKinds.flatMap((kind): Cell[] => {
    if (kind === "thread") return [plain];
    return isBetweenHostAndDevice(plain) ? [{ ...plain, workerKind: kind }] : [];
  });
  // Threads measure what processes cannot, even if only processes were requested.
  const alone = kinds.length > 0 ? kinds : [plain];
  const together = isTogether(plain, axes) ? alone.map((cell) => ({ ...cell, together: ordinals })) : [];
  const chunked = isPipelined(plain) ? axes.pipelineChunks.map((chunks) => ({ ...plain, chunks })) : [];
  const inBlocks = blockCells(plain, axes);
  const loads = axes.besides.flatMap((beside) => (beside === "none" ? [] : beside));
  const loaded = isBetweenHostAndDevice(plain) ? loads.map((beside) => ({ ...plain, beside })) : [];
  const loadedBlocks = axes.blocksDuringLoads
    ? loads.flatMap((beside) => inBlocks.map((cell) => ({ ...cell, beside })))
    : [];
  const ofThreads = [...loaded, ...chunked, ...inBlocks, ...loadedBlocks];
  // Their results are relative to threads, even if only processes were requested.
  const compared = ofThreads.length > 0 && !alone.includes(plain) ? [plain] : [];
  return [...compared, ...alone, ...together, ...ofThreads];
}

function isTogether({ memory, mode }: Cell, { together, togetherMemory }: Axes): boolean {
  if (!together || memory === "host") return false;
  return togetherMemory === null || (togetherMemory.includes(memory) && mode === "throughput");
}

const hostCopies = "copies between host memory and a device";

export function checkVariants(cells: readonly Cell[], axes: Axes): void {
  const checks: VariantCheck[] = [
    {
      flag: "--worker-kind process",
      isRequested: axes.workerKinds.includes("process"),
      isThere: ({ workerKind }) => workerKind === "process",
      what: hostCopies,
    },
    {
      flag: "--together",
      isRequested: axes.together,
      isThere: ({ together }) => together !== undefined,
      what: "copies of a device, by itself or with the host",
    },
    {
      flag: "--beside",
      isRequested: axes.besides.some((beside) => beside !== "none"),
      isThere: ({ beside }) => beside !== undefined,
      what: hostCopies,
    },
    {
      flag: "--pipeline",
      isRequested: axes.pipelineChunks.length > 0,
      isThere: ({ chunks }) => chunks !== undefined,
      what: "h2d throughput of pageable, pinned or registered memory with 1 worker and a cold cache",
    },
    {
      flag: "--numa all",
      isRequested: (axes.placements?.length ?? 0) > 0,
      isThere: ({ memoryNode }) => memoryNode !== undefined,
      what: hostCopies,
    },
    blockCheck(axes),
  ];
  const unused = checks.find(({ isRequested, isThere }) => isRequested && !cells.some(isThere));
  if (unused === undefined) return;
  throw new PinbenchError("usage", `${unused.flag} measures ${unused.what}, and no cell is of that kind.`, {
    hint: `Leave ${unused.flag} out, or add such cells.`,
  });
}

/**
 * Processes and loads are only for copies between host and device: threads make the host's own copies, and a device's
 * own copies do not use the host.
 */
function isBetweenHostAndDevice({ direction, memory }: Cell): boolean {
  return copiesHostMemory(direction) && memory !== "host";
}

/** What a training loop does with a batch: one thread copies it to the device, then computes with it. */
function isPipelined({ direction, memory, workers, mode, cache }: Cell): boolean {
  return (
    direction === "h2d" &&
    (memory === "pageable" || memory === "pinned" || memory === "registered") &&
    workers === 1 &&
    mode === "throughput" &&
    cache === "cold"
  );
}

/** Why such a cell is impossible, as a clause; null if it is possible. */
export function problemOfVariant(cell: Cell): string | null {
  const { workerKind, together, peer, beside, chunks } = cell;
  if ((cell.direction === "p2p") !== (peer !== undefined))
    return "direction p2p needs a peer, and no other direction has one";
  if (peer === cell.device) return "a device cannot be its own peer";
  if (peer !== undefined && (workerKind ?? together ?? beside ?? chunks) !== undefined)
    return "direction p2p is measured by itself";
  if (workerKind === "process" && !isBetweenHostAndDevice(cell))
    return "processes copy only between host and device";
  if (together !== undefined) {
    const isAscending = together.every((ordinal, i) => i === 0 || ordinal > together[i - 1]!);
    if (together.length < 2 || !isAscending) return "several devices, in ascending order, copy together";
    if (!together.includes(cell.device)) return "its own device is not among those that copy together";
    if (cell.memory === "host") return "copies of the host alone have no device";
  }
  if ((cell.cpuNode === undefined) !== (cell.memoryNode === undefined))
    return "the nodes of CPUs and of memory go together";
  if (cell.memoryNode !== undefined) {
    if ((peer ?? beside ?? chunks ?? cell.blockBytes) !== undefined || workerKind === "process")
      return "with chosen NUMA nodes, threads make whole copies";
    return isBetweenHostAndDevice(cell) ? null : "NUMA nodes are those of copies between host and device";
  }
  const isPlain = workerKind !== "process" && together === undefined;
  if (beside !== undefined && !(isPlain && chunks === undefined && isBetweenHostAndDevice(cell))) {
    return "beside a load, threads copy between one device and the host";
  }
  if (chunks !== undefined && !(isPlain && chunks >= 1 && isPipelined(cell))) {
    return "a pipeline copies pageable, pinned or registered memory to the device, with one thread and a cold cache";
  }
  return problemOfBlocks(cell);
}
