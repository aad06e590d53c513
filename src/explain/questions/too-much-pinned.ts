import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../../errors.js";
import { memoryAvailableBytes, systemAvailableBytes } from "../../host/memory.js";
import { choosePlacement } from "../../host/topology.js";
import { Bench } from "../../measure/bench.js";
import { formatSizeRounded, MiB } from "../../settings/units.js";
import type { Question } from "../question.js";
import { figureText, isAtLeast, medianFigure } from "../run-figures.js";

/** Maximum size of the tested pool, safe on any machine. */
const mostPoolBytes = 512 * MiB;
const shareOfAvailable = 0.02;
/** Minimum number of samples for an interval of the median. */
const repetitions = 6;
/** Delay in ms before memory is read: the kernel counts pages per CPU, and adds them up now and then. */
const settlingMs = 300;

/** Share of a pool's size by which available memory must fall, to show that other programs cannot use the pool. */
const takenShare = 0.8;

export const tooMuchPinned: Question = {
  name: "too-much-pinned",
  title: "can too much memory be pinned?",
  claim: "Pinned memory cannot be paged out: too much of it leaves too little for other uses.",
  needs: "device",
  async answer({ backend, devices: [device], signal }) {
    if (device === undefined) throw new PinbenchError("unavailable", "There is no device here.");
    if (systemAvailableBytes() === null) {
      throw new PinbenchError("unavailable", "/proc/meminfo does not show how much memory is available.");
    }
    // Within a container's limit, beyond which the kernel kills processes.
    const availableBytes = memoryAvailableBytes();
    const poolBytes = Math.min(mostPoolBytes, Math.floor((availableBytes * shareOfAvailable) / MiB) * MiB);
    if (poolBytes < MiB) {
      const available = formatSizeRounded(availableBytes, Math.floor);
      throw new PinbenchError(
        "unavailable",
        `Only ${available} are available, too little to pin a part safely.`,
      );
    }
    const placement = choosePlacement(device.pciBusId, "local");
    const { driver } = backend;
    const bench = await Bench.open({ driver, device: device.ordinal, placement, signal });
    const [takenShares, returnedShares]: [number[], number[]] = [[], []];
    try {
      for (let i = 0; i < repetitions; ++i) {
        signal.throwIfAborted();
        const before = await settledBytes();
        const pool = await bench.session.obtainPool({
          way: "host-alloc",
          bytes: poolBytes,
          pieces: 1,
          threads: 1,
        });
        // Writes to the pool, because some systems take memory only then.
        await pool.copy("d2h", MiB, poolBytes / MiB);
        const during = await settledBytes();
        await pool.release();
        takenShares.push((before - during) / poolBytes);
        returnedShares.push(((await settledBytes()) - during) / poolBytes);
      }
    } finally {
      await bench.close();
    }
    const taken = medianFigure("taken from the memory available, over the pool's size", "share", takenShares);
    const returned = medianFigure("given back with the pool", "share", returnedShares);
    return {
      holds: isAtLeast(taken, takenShare),
      summary: `A pinned pool of ${formatSizeRounded(poolBytes)} takes ${figureText(taken)} of its size from all programs. How much can be pinned: pinbench pin.`,
      figures: [taken, returned],
    };
  },
};

/** Available memory after a delay. */
async function settledBytes(): Promise<number> {
  await sleep(settlingMs);
  return systemAvailableBytes() ?? 0;
}
