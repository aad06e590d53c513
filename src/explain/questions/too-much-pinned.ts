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
const mostPoolBytes = 256 * MiB;
const shareOfAvailable = 0.02;
/** So often, for an interval. */
const repetitions = 7;
/** More than any address space has room for, so that refusing it costs the machine nothing: 1 PiB. */
const impossibleBytes = 2 ** 50;

/** What was seen of a modest pool, and of a request that nobody can grant. */
export interface PinnedPoolFigures {
  poolBytes: number;
  /** What the memory available to all programs fell by, over the pool's size: a share each time. */
  taken: MeasuredFigure;
  /** And how much of it came back when it was given back. */
  returned: MeasuredFigure;
  /** What the driver answered to the impossible request; null where it granted it. */
  refusal: { message: string; ns: number } | null;
  /** Whether a copy worked after that. */
  worksAfter: boolean;
  totalBytes: number;
  availableBytes: number;
}

/** A pool that takes so much of its size from the memory available is not paged out. */
const takenShare = 0.8;

/** What the figures make of the claim. */
export function concludeTooMuch(figures: PinnedPoolFigures): Conclusion {
  const { poolBytes, taken, returned, refusal, worksAfter, totalBytes, availableBytes } = figures;
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
      refusal === null
        ? "A request for 1 PiB was granted, as the device does not allocate what is not touched: a failure shows only later."
        : `A request for 1 PiB, for which no machine has room, is refused after ${durationText(refusal.ns)} (${refusal.message}), and copies ${worksAfter ? "work after it" : "no longer work after it"}: check for that error.`,
      `This machine has ${formatSizeRounded(totalBytes, Math.floor)}, of which ${formatSizeRounded(availableBytes, Math.floor)} are available: pinned pools should stay below ${formatSizeRounded(limit, Math.floor)}, a quarter of that, all programs together.`,
    ],
  };
}

/** Whether pinned memory is lost to other programs. */
export const tooMuchPinned: Question = {
  name: "too-much-pinned",
  title: "can too much memory be pinned?",
  claim:
    "Pinned memory cannot be paged out: too much of it leaves too little for all else, and an allocation can fail.",
  needs: "device",
  mostMs: 15_000,
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
      const before = available();
      const during = await inSession(tools, async (session) => {
        const chunks = { chunksOfWorker: [poolBytes / MiB], chunkBytes: MiB };
        await session.reserveHost("pinned", chunks);
        return available();
      });
      taken.push((before - during) / poolBytes);
      returned.push((available() - during) / poolBytes);
    }
    const tried = await inSession(tools, tryImpossible);
    const conclusion = concludeTooMuch({
      ...tried,
      poolBytes,
      taken: medianFigure("taken from the memory available, over the pool's size", "share", taken),
      returned: medianFigure("given back with the pool", "share", returned),
      totalBytes: memoryTotalBytes(),
      availableBytes,
    });
    return { ...conclusion, command };
  },
};

function available(): number {
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

async function tryImpossible(
  session: NativeSession,
): Promise<Pick<PinnedPoolFigures, "refusal" | "worksAfter">> {
  const startedMs = performance.now();
  const refusal = await session.measurePinning("pinned", impossibleBytes).then(
    () => null,
    (error: NativeError) => {
      if (error.sticky || error.code === "ABORTED") throw error;
      return { message: error.code, ns: (performance.now() - startedMs) * 1e6 };
    },
  );
  const worksAfter = await session.measureFirstCopy(0).then(
    () => true,
    () => false,
  );
  return { refusal, worksAfter };
}
