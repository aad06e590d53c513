import { formatMilliseconds, formatWholeShare } from "../draw/numbers.js";
import { blank, figure, type Grid, type Note, note, numberColumn, wordColumn } from "../draw/report.js";
import { type WatchedCall, watchedCalls } from "../settings/choices.js";
import { formatDuration, formatSize, formatSizeRounded } from "../settings/units.js";
import type { PinnedPool, Pinning } from "./pinning-document.js";
import { wayInWords } from "./recommend-pool.js";
import { bearablePool, bearableStallNs, longestStallNs, type WatchedPool, watchedPools } from "./stalls.js";

const callName: Readonly<Record<WatchedCall, string>> = {
  "memory-info": "cuMemGetInfo",
  "nvml-memory": "NVML",
  "small-copy": "4 KiB copy",
};

/** How long another process waits while the recommended pool is obtained, and how to make it wait less. */
export function neighbourAnswer({ pools, quietStalls, recommendation }: Pinning): Note[] {
  const watched = watchedPools(pools);
  if (watched.length === 0) return [];
  const chosen = watched.find((pool) => isSame(pool, recommendation)) ?? watched[0]!;
  const waitNs = longestStallNs(chosen.stalls);
  const quietNs = quietStalls == null ? 0 : longestStallNs(quietStalls);
  const quiet = quietStalls == null ? "" : ` (with nothing pinned: ${formatDuration(quietNs)})`;
  const said = `Calls of another process wait up to ${formatDuration(waitNs)} meanwhile${quiet}`;
  if (waitNs < bearableStallNs) return [note(`${said}.`)];
  if (quietNs >= waitNs) return [note(`${said}: pinning is not the cause.`)];
  const bearable = bearablePool(watched);
  const remedy =
    bearable === null
      ? `No measured way keeps that below ${formatDuration(bearableStallNs)}.`
      : `With ${wayInWords(bearable)}${pieceText(bearable)}, they wait up to ${formatDuration(longestStallNs(bearable.stalls))}, and it takes ${formatDuration(bearable.obtain!.median)}.`;
  return [note(`${said}.`, "warning"), note(remedy)];
}

/** The stalls of each call by pool, the quickest pool first. */
export function neighbourGrids({ pools, quietStalls }: Pinning): Grid[] {
  const watched = watchedPools(pools).sort((a, b) => a.obtain!.median - b.obtain!.median);
  if (watched.length === 0) return [];
  const calls = watchedCalls.filter((call) =>
    watched.some(({ stalls }) => stalls.some((one) => one.call === call)),
  );
  const figuresOf = (stalls: WatchedPool["stalls"]) => [
    ...calls.map((call) => {
      const stall = stalls.find((one) => one.call === call);
      return figure(stall === undefined ? "-" : formatMilliseconds(stall.longestNs));
    }),
    figure(shareText(Math.max(...stalls.map(({ stalledShare }) => stalledShare)))),
  ];
  return [
    {
      caption: `Longest waits of another process during pools of ${formatSize(watched[0]!.sizeBytes)}, in ms`,
      columns: [
        wordColumn("way"),
        numberColumn("pieces"),
        numberColumn("piece"),
        numberColumn("threads"),
        ...calls.map((call) => numberColumn(callName[call])),
        numberColumn("stalled"),
      ],
      rows: [
        ...watched.map(({ way, pieces, threads, sizeBytes, stalls }) => [
          ...[figure(way), figure(String(pieces)), figure(formatSizeRounded(sizeBytes / pieces))],
          ...[figure(String(threads)), ...figuresOf(stalls)],
        ]),
        ...(quietStalls == null || quietStalls.length === 0
          ? []
          : [[figure("none, for a second"), blank, blank, blank, ...figuresOf(quietStalls)]]),
      ],
      labels: 4,
      keepsRepeats: true,
      footnote:
        "stalled: share of the time in which the call that waited most had no answer for a millisecond or more",
    },
  ];
}

/** How many of the requested huge pages the kernel provided, and its effort. */
export function hugePageNotes({ pools }: Pinning): Note[] {
  const huge = pools.filter(({ way, samples }) => way === "register-huge" && samples.length > 0);
  if (huge.length === 0) return [];
  const sizeBytes = Math.max(...huge.map((pool) => pool.sizeBytes));
  const ofSize = huge.filter((pool) => pool.sizeBytes === sizeBytes);
  const shares = ofSize.flatMap(({ hugePageShare }) => hugePageShare ?? []);
  const events = ofSize.flatMap(({ samples }) => samples.flatMap(({ pageEvents }) => pageEvents ?? []));
  const mostOf = (key: "compactionStalls" | "hugePagesRefused") => {
    const counts = events.flatMap((event) => event[key] ?? []);
    return counts.length === 0 ? null : Math.max(...counts);
  };
  const [stalls, refused] = [mostOf("compactionStalls"), mostOf("hugePagesRefused")];
  if (shares.length === 0 || stalls === null || refused === null) return [];
  const least = Math.min(...shares);
  const cost =
    refused === 0 && stalls === 0
      ? "the kernel refused none, and stopped no program to make room for them"
      : `during one pool the kernel refused up to ${refused}, and stopped programs up to ${stalls} times to make room for them`;
  return [
    note(
      `Huge pages for ${formatSize(sizeBytes)}: ${least === 1 ? "all" : `at least ${shareText(least)}`} of the requested ones; ${cost}.`,
      refused > 0 || stalls > 0 ? "warning" : "muted",
    ),
  ];
}

/** How to make torch pin no more than was asked for. */
export const againstRounding =
  "PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb:1 turns that off in torch 2.13.";

/** How much torch pins for the largest size. */
export function torchNotes({ torchRounding }: Pinning): Note[] {
  if (torchRounding == null) return [];
  const { sizeBytes, pinnedBytes, extraNs } = torchRounding;
  const extra = formatSizeRounded(pinnedBytes - sizeBytes);
  return [
    note(
      `torch's pin_memory=True would pin ${formatSizeRounded(pinnedBytes)} for these ${formatSizeRounded(sizeBytes)}: ${extra} more memory${extraNs === null ? "" : ` and about ${formatDuration(extraNs)}`}. ${againstRounding}`,
    ),
  ];
}

function isSame(pool: PinnedPool, other: Pinning["recommendation"]): boolean {
  return (
    other !== null &&
    pool.sizeBytes === other.sizeBytes &&
    pool.way === other.way &&
    pool.pieces === other.pieces &&
    pool.threads === other.threads
  );
}

function pieceText({ pieces, sizeBytes }: PinnedPool): string {
  return pieces === 1 ? "" : ` (${formatSizeRounded(sizeBytes / pieces)} each)`;
}

function shareText(share: number): string {
  return share === 0 ? "0 %" : formatWholeShare(share);
}
