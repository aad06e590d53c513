import { KiB } from "../settings/units.js";
import { groupBy } from "../stats/group-by.js";
import { sumOf } from "../stats/variance.js";
import { isLargePageable } from "./pinned-rates.js";
import type { TracedCopy, TracedProcess } from "./trace-document.js";

/** Maximum size of a single value such as a loss; larger copies back are results. */
const mostValueBytes = 4 * KiB;

/** Time for which the program's threads were blocked. */
export const blockedNsOf = ({ blockedNs, waitNs }: Pick<TracedCopy, "blockedNs" | "waitNs">) =>
  blockedNs + waitNs;

/** Sums over copies; savings are null if unknown for any copy. */
function sumsOfCopies(copies: readonly TracedCopy[]) {
  const sum = (of: (copy: TracedCopy) => number) => sumOf(copies.map(of));
  return {
    count: sum(({ count }) => count),
    totalBytes: sum(({ totalBytes }) => totalBytes),
    engineNs: sum(({ engineNs }) => engineNs),
    blockedNs: sum(({ blockedNs }) => blockedNs),
    waitNs: sum(({ waitNs }) => waitNs),
    behindKernelsNs: sum(({ behindKernelsNs }) => behindKernelsNs),
    savedNs: copies.some(({ savedNs }) => savedNs === null) ? null : sum(({ savedNs }) => savedNs ?? 0),
  };
}

export type TraceSums = ReturnType<typeof sumsOf>;

export function sumsOf(processes: readonly TracedProcess[]) {
  const copies = processes.flatMap((one) => one.copies);
  const calls = processes.flatMap((one) => one.pinningCalls);
  const ofDirection = (direction: TracedCopy["direction"]) => {
    const all = copies.filter((copy) => copy.direction === direction);
    return { ...sumsOfCopies(all), pageable: sumsOfCopies(all.filter(isLargePageable)) };
  };
  const isValue = ({ direction, sizeBytes }: TracedCopy) =>
    direction === "d2h" && sizeBytes > 0 && sizeBytes <= mostValueBytes;
  return {
    observedNs: sumOf(processes.map((one) => one.observedNs)),
    h2d: ofDirection("h2d"),
    d2h: ofDirection("d2h"),
    /** Single values copied back, which wait for the GPU. */
    values: sumsOfCopies(copies.filter(isValue)),
    pinned: sumsOfCopies(copies.filter(({ memory }) => memory === "pinned")),
    pinning: {
      count: sumOf(calls.map(({ count }) => count)),
      timeNs: sumOf(calls.map(({ timeNs }) => timeNs)),
      names: [...new Set(calls.map(({ name }) => name))],
    },
  };
}

/** Copies of all processes, with equal ones added; largest savings first, then longest blocked times. */
export function joinedCopies(processes: readonly TracedProcess[]): TracedCopy[] {
  const keyOf = ({ direction, memory, sizeBytes, call, range }: TracedCopy) =>
    JSON.stringify([direction, memory, sizeBytes, call, range]);
  const groups = groupBy(
    processes.flatMap(({ copies }) => copies),
    keyOf,
  );
  return [...groups.values()]
    .map((copies) => ({ ...copies[0]!, ...sumsOfCopies(copies) }))
    .sort((a, b) => (b.savedNs ?? 0) - (a.savedNs ?? 0) || blockedNsOf(b) - blockedNsOf(a));
}
