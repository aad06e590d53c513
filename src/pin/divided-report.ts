import { formatHalfWidth, formatMilliseconds } from "../draw/numbers.js";
import {
  blank,
  figure,
  type Grid,
  groupBy,
  type Note,
  note,
  numberColumn,
  reasonNotes,
  wordColumn,
} from "../draw/report.js";
import { counted } from "../draw/words.js";
import { formatMeasuredTime, formatSize, formatSizeRounded } from "../settings/units.js";
import type { DividedPool, PinnedPool, Pinning } from "./pinning-document.js";
import { wayInWords } from "./recommend-pool.js";
import { longestStallNs } from "./stalls.js";

/** For each way, the time in which most processes together have a pool, and one alone. */
export function dividedAnswer({ divided = [] }: Pinning): Note[] {
  const measured = divided.filter(({ obtain, processes }) => obtain !== null && processes > 1);
  return [...groupBy(measured, ({ way }) => way).values()].map((pools) => {
    const most = pools.reduce((best, pool) => (pool.processes > best.processes ? pool : best));
    const { processes, sizeBytes, obtain, aloneNs } = most;
    return note(
      `${counted(processes, "process", "processes")} that obtain ${shareText(most)} each at once (${wayInWords(most)}) have all ${formatSize(sizeBytes)} in ${formatMeasuredTime(obtain!.median)}; one process alone takes ${formatMeasuredTime(aloneNs)}.`,
    );
  });
}

/** Pools that several processes obtained at the same time. */
export function dividedGrids({ divided = [] }: Pinning): Grid[] {
  if (divided.length === 0) return [];
  const isWatched = divided.some(({ stalls }) => stalls !== null);
  const isPlaced = divided.some(({ nodes }) => nodes.some((node) => node !== null));
  return [
    {
      caption: `Pools of ${formatSize(divided[0]!.sizeBytes)} from several processes at once, times in ms`,
      columns: [
        wordColumn("way"),
        numberColumn("processes"),
        numberColumn("each"),
        numberColumn("pieces"),
        numberColumn("threads"),
        ...(isPlaced ? [wordColumn("nodes")] : []),
        numberColumn("obtain"),
        numberColumn("alone"),
        ...(isWatched ? [numberColumn("longest", "wait")] : []),
      ],
      rows: divided.map((pool) => {
        const { way, processes, pieces, threads, nodes, obtain, aloneNs, stalls } = pool;
        return [
          figure(way),
          figure(String(processes)),
          figure(shareText(pool)),
          figure(String(pieces)),
          figure(String(threads)),
          ...(isPlaced ? [figure([...new Set(nodes.map((node) => node ?? "-"))].join(", "))] : []),
          obtain === null
            ? figure("-", "", "warning")
            : figure(
                formatMilliseconds(obtain.median),
                pool.samples.length < 2
                  ? ""
                  : formatHalfWidth((obtain.most - obtain.least) / 2 / obtain.median),
              ),
          figure(formatMilliseconds(aloneNs)),
          ...(isWatched
            ? [stalls === null ? blank : figure(formatMilliseconds(longestStallNs(stalls)))]
            : []),
        ];
      }),
      labels: 2,
      keepsRepeats: true,
      footnote: `each, pieces, threads: of each process; alone: one process obtains all${isWatched ? "; longest wait: of a process that obtains none" : ""}`,
    },
  ];
}

/** Why divided pools have no figures. */
export function dividedNotes({ divided = [] }: Pinning): Note[] {
  return reasonNotes(
    divided.filter(({ obtain }) => obtain === null),
    ({ reason }) => [reason ?? "interrupted before"],
    (pools) =>
      pools.map(({ way, processes }) => `${way} in ${counted(processes, "process", "processes")}`).join(", "),
    "left out",
    "warning",
  );
}

/** A divided pool as a row of the pools' CSV. */
export function dividedRow(pool: DividedPool): PinnedPool {
  const { way, pieces, threads, sizeBytes, samples, obtain, reason, stalls } = pool;
  return {
    ...{ way, pieces, threads, sizeBytes, obtain, reason, stalls },
    outcome: obtain === null ? "omitted" : "measured",
    error: null,
    samples: samples.map((obtainNs) => ({ obtainNs, touchNs: null, registerNs: null, releaseNs: 0 })),
    ...{ release: null, h2dGigabytesPerSecond: null, d2hGigabytesPerSecond: null },
    pagesOfNode: [],
    ...{ memory: null, hugePageShare: null },
  };
}

function shareText({ sizeBytes, processes }: DividedPool): string {
  return formatSizeRounded(sizeBytes / processes);
}
