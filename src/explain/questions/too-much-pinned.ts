import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../../host/files.js";
import { memoryAvailableBytes, memoryTotalBytes, systemAvailableBytes } from "../../host/memory.js";
import type { NativeError, NativeSession } from "../../native/contract.js";
import { pinnedLimitBytes } from "../../plan/limits.js";
import { formatSizeRounded, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import { type Conclusion, explainCommand, type Question } from "../question.js";
import { durationText, figureText, isAtLeast, medianFigure, verdictOf } from "../run-figures.js";

/** Size of the tested pool: small enough to be safe on any machine. */
const mostPoolBytes = 512 * MiB;
const shareOfAvailable = 0.02;
/** The smallest number with an interval of the median. */
const repetitions = 6;
/** The kernel counts pages by CPU, and adds them up now and then. */
const settlingMs = 300;
/**
 * 64 TiB, the largest request of pinbench's engine: even the list of its pages exceeds any memory, so it is refused
 * before a page is taken.
 */
const impossibleBytes = 2 ** 46;

/** Observations on a small pool, and on an impossible request. */
interface PinnedPoolFigures {
  poolBytes: number;
  /** Decrease of the memory available to all programs, as a share of the pool's size. */
  taken: MeasuredFigure;
  /** The share that became available again when the pool was freed. */
  returned: MeasuredFigure;
  /**
   * The result of the impossible request; null if it was not made, because the kernel promises memory that it lacks.
   */
  impossible: { refusal: string | null; ns: number; worksAfter: boolean } | null;
  totalBytes: number;
  /** Also within a container's limit. */
  availableBytes: number;
}

/** This share of a pool's size must be missing from the available memory to show that other programs cannot use it. */
const takenShare = 0.8;

/** The verdict on the claim. */
export function concludeTooMuch(figures: PinnedPoolFigures): Conclusion {
  const { poolBytes, taken, returned, impossible, totalBytes, availableBytes } = figures;
  const isTaken = isAtLeast(taken, takenShare);
  const pool = formatSizeRounded(poolBytes);
  const limit = pinnedLimitBytes({ memoryAvailableBytes: availableBytes }, null);
  return {
    verdict: verdictOf(isTaken),
    parts: [
      { name: "it leaves less for other uses", verdict: verdictOf(isTaken) },
      { name: "an allocation can fail", verdict: verdictOf(impossible && impossible.refusal !== null) },
    ],
    figures: [taken, returned],
    sentences: [
      isTaken === true
        ? `A pinned pool of ${pool} takes ${figureText(taken)} of its size from the memory that all programs share; ${figureText(returned)} comes back when it is freed.`
        : isTaken === false
          ? `A pinned pool of ${pool} takes only ${figureText(taken)} of its size from the memory that all programs share, as /proc/meminfo counts it.`
          : `The effect of a pinned pool of ${pool} on the available memory is not certain (${figureText(taken)} of its size): other programs take and give back as much meanwhile.`,
      impossibleText(impossible),
      "Whether the kernel can page it out was not tried: the machine would have to run out of memory.",
      `This machine has ${formatSizeRounded(totalBytes, Math.floor)}, of which ${formatSizeRounded(availableBytes, Math.floor)} are available here: pinbench itself pins at most a quarter of those, ${formatSizeRounded(limit, Math.floor)}, unless --max-pinned allows more.`,
    ],
  };
}

function impossibleText(impossible: PinnedPoolFigures["impossible"]): string {
  if (impossible === null) {
    return "A request for more memory than there is was not tried: the kernel is set to promise any amount (vm.overcommit_memory is 1).";
  }
  const { refusal, ns, worksAfter } = impossible;
  if (refusal === null) return "A request for 64 TiB was granted: a failure would show only in use.";
  const after = worksAfter
    ? "copies work as before: a program that checks for the error can go on"
    : "copies no longer work";
  return `A request for 64 TiB, for which no machine has room, is refused within ${durationText(ns)} (${refusal}), and ${after}.`;
}

/** Whether pinned memory is lost to other programs. */
export const tooMuchPinned: Question = {
  name: "too-much-pinned",
  title: "can too much memory be pinned?",
  claim:
    "Pinned memory cannot be paged out: too much of it leaves too little for other uses, and an allocation can fail.",
  needs: "device",
  mostMs: 20_000,
  async answer(tools) {
    const command = explainCommand({ name: "too-much-pinned", needs: "device" }, tools);
    if (systemAvailableBytes() === null) {
      const why = "The system does not show how much memory is available (MemAvailable in /proc/meminfo).";
      return { verdict: "inconclusive", figures: [], sentences: [why], command };
    }
    // In a container, the rest of its limit: beyond that the kernel kills processes.
    const availableBytes = memoryAvailableBytes();
    const poolBytes = Math.min(mostPoolBytes, Math.floor((availableBytes * shareOfAvailable) / MiB) * MiB);
    if (poolBytes < MiB) {
      const why = `Only ${formatSizeRounded(availableBytes, Math.floor)} are available, too little to try it without danger.`;
      return { verdict: "inconclusive", figures: [], sentences: [why], command };
    }
    const { taken, returned, impossible } = await tools.inSession(async (session) => ({
      ...(await weighPools(session, poolBytes, tools.signal)),
      impossible: promisesAll() ? null : await tryImpossible(session),
    }));
    const conclusion = concludeTooMuch({
      ...{ impossible, poolBytes, availableBytes },
      taken: medianFigure("taken from the memory available, over the pool's size", "share", taken),
      returned: medianFigure("given back with the pool", "share", returned),
      totalBytes: memoryTotalBytes(),
    });
    return { ...conclusion, command };
  },
};

/** Changes of the available memory with and without a pool, as shares of the pool's size. */
async function weighPools(session: NativeSession, poolBytes: number, signal: AbortSignal) {
  const taken: number[] = [];
  const returned: number[] = [];
  for (let i = 0; i < repetitions; ++i) {
    signal.throwIfAborted();
    const before = await available();
    const pool = await session.obtainPool({ way: "host-alloc", bytes: poolBytes, pieces: 1, threads: 1 });
    // The pool is written to, because some systems take the memory only then.
    await pool.copy("d2h", MiB, poolBytes / MiB);
    const during = await available();
    await pool.release();
    taken.push((before - during) / poolBytes);
    returned.push(((await available()) - during) / poolBytes);
  }
  return { taken, returned };
}

/** Whether the kernel promises memory that it lacks, and kills processes when it is used. */
export function promisesAll(root = "/"): boolean {
  return readText(root, "proc/sys/vm/overcommit_memory")?.trim() === "1";
}

/** The memory available to all programs, after a pause to settle. */
async function available(): Promise<number> {
  await sleep(settlingMs);
  return systemAvailableBytes() ?? 0;
}

async function tryImpossible(session: NativeSession): Promise<NonNullable<PinnedPoolFigures["impossible"]>> {
  const startedMs = performance.now();
  const refusal = await session.measurePinning("pinned", impossibleBytes).then(
    () => null,
    (error: NativeError) => {
      if (error.sticky || error.code === "ABORTED") throw error;
      return error.code;
    },
  );
  const ns = (performance.now() - startedMs) * 1e6;
  const worksAfter = await session.measureFirstCopy(0).then(
    () => true,
    () => false,
  );
  return { refusal, ns, worksAfter };
}
