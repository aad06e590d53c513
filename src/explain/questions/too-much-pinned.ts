import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../../host/files.js";
import { memoryTotalBytes, systemAvailableBytes } from "../../host/memory.js";
import { choosePlacement } from "../../host/placement.js";
import type { NativeError, NativeSession } from "../../native/contract.js";
import { pinnedLimitBytes } from "../../plan/limits.js";
import { formatSizeRounded, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import { durationText, figureText } from "../figure-text.js";
import type { Conclusion, Question, Tools } from "../question.js";
import { isAtLeast, medianFigure, verdictOf } from "../run-figures.js";

/** The pool that is tried: small enough to endanger no machine. */
const mostPoolBytes = 512 * MiB;
const shareOfAvailable = 0.02;
/** The least that a median has an interval of. */
const repetitions = 6;
/** The kernel counts each CPU's pages by themselves, and adds them up now and then. */
const settlingMs = 300;
/**
 * 64 TiB, the most that pinbench's engine asks for: the list of its pages alone is more than a machine has, so that it is
 * refused before a page is taken.
 */
const impossibleBytes = 2 ** 46;

/** What was seen of a modest pool, and of a request that nobody can grant. */
export interface PinnedPoolFigures {
  poolBytes: number;
  /** What the memory available to all programs fell by, over the pool's size: a share each time. */
  taken: MeasuredFigure;
  /** And how much of it came back when it was given back. */
  returned: MeasuredFigure;
  /** What became of the impossible request; null where it was not made, as the kernel promises memory that it lacks. */
  impossible: { refusal: string | null; ns: number; worksAfter: boolean } | null;
  totalBytes: number;
  availableBytes: number;
}

/** A pool that takes so much of its size from the memory available is not paged out. */
const takenShare = 0.8;

/** What the figures make of the claim. */
export function concludeTooMuch(figures: PinnedPoolFigures): Conclusion {
  const { poolBytes, taken, returned, impossible, totalBytes, availableBytes } = figures;
  const isTaken = isAtLeast(taken, takenShare);
  const pool = formatSizeRounded(poolBytes);
  const limit = pinnedLimitBytes({ memoryAvailableBytes: availableBytes }, null);
  return {
    verdict: verdictOf(isTaken),
    figures: [taken, returned],
    sentences: [
      isTaken === true
        ? `A pinned pool of ${pool} takes ${figureText(taken)} of its size from the memory that all programs share, and the kernel cannot page it out: ${figureText(returned)} comes back when it is freed.`
        : isTaken === false
          ? `A pinned pool of ${pool} takes only ${figureText(taken)} of its size from the memory that all programs share.`
          : `Of a pinned pool of ${pool} the memory available tells nothing certain (${figureText(taken)} of its size): other programs take and give back as much meanwhile.`,
      impossibleText(impossible),
      `This machine has ${formatSizeRounded(totalBytes, Math.floor)}, of which ${formatSizeRounded(availableBytes, Math.floor)} are available: pinned pools should stay below ${formatSizeRounded(limit, Math.floor)}, a quarter of that, all programs together.`,
    ],
  };
}

function impossibleText(impossible: PinnedPoolFigures["impossible"]): string {
  if (impossible === null) {
    return "How the driver refuses more than there is was not tried: the kernel is set to promise any amount (vm.overcommit_memory is 1).";
  }
  const { refusal, ns, worksAfter } = impossible;
  if (refusal === null)
    return "A request for 64 TiB was granted, so that a failure would show only when it is used.";
  const after = worksAfter ? "copies work as before: check for that error" : "copies no longer work";
  return `A request for 64 TiB, for which no machine has room, is refused within ${durationText(ns)} (${refusal}), and ${after}.`;
}

/** Whether pinned memory is lost to other programs. */
export const tooMuchPinned: Question = {
  name: "too-much-pinned",
  title: "can too much memory be pinned?",
  claim:
    "Pinned memory cannot be paged out: too much of it leaves too little for all else, and an allocation can fail.",
  needs: "device",
  mostMs: 20_000,
  async answer(tools) {
    const command = "pinbench explain too-much-pinned";
    const availableBytes = systemAvailableBytes();
    if (availableBytes === null) {
      const why = "The system does not tell how much memory is available (MemAvailable in /proc/meminfo).";
      return { verdict: "cannot be told", figures: [], sentences: [why], command };
    }
    const poolBytes = Math.min(mostPoolBytes, Math.floor((availableBytes * shareOfAvailable) / MiB) * MiB);
    if (poolBytes < MiB) {
      const why = `Only ${formatSizeRounded(availableBytes, Math.floor)} are available, too little to try it without danger.`;
      return { verdict: "cannot be told", figures: [], sentences: [why], command };
    }
    const taken: number[] = [];
    const returned: number[] = [];
    for (let i = 0; i < repetitions; ++i) {
      const before = await available();
      const during = await inSession(tools, async (session) => {
        await session.reserveHost("pinned", { chunksOfWorker: [1], chunkBytes: poolBytes });
        return available();
      });
      taken.push((before - during) / poolBytes);
      returned.push(((await available()) - during) / poolBytes);
    }
    const promisesAll = readText("/", "proc/sys/vm/overcommit_memory")?.trim() === "1";
    const conclusion = concludeTooMuch({
      impossible: promisesAll ? null : await inSession(tools, tryImpossible),
      poolBytes,
      taken: medianFigure("taken from the memory available, over the pool's size", "share", taken),
      returned: medianFigure("given back with the pool", "share", returned),
      totalBytes: memoryTotalBytes(),
      availableBytes,
    });
    return { ...conclusion, command };
  },
};

/** What all programs can take, once that has settled. */
async function available(): Promise<number> {
  await sleep(settlingMs);
  return systemAvailableBytes() ?? 0;
}

/** In a session of its own, so that its memory is given back with it. */
async function inSession<Result>(
  { backend, devices: [device], signal }: Tools,
  work: (session: NativeSession) => Promise<Result>,
): Promise<Result> {
  const { ordinal, pciBusId } = device!;
  const { cpus, threads } = choosePlacement(pciBusId, "local");
  const session = await backend.driver.openSession({
    device: ordinal,
    cpus,
    threads,
    numaNode: null,
    seed: 1,
  });
  const abort = () => session.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    return await work(session);
  } finally {
    signal.removeEventListener("abort", abort);
    await session.close();
  }
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
