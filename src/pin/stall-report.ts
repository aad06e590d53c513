import { formatMilliseconds, formatWholeShare } from "../draw/numbers.js";
import { blank, figure, type Grid, type Note, note, numberColumn, wordColumn } from "../draw/report.js";
import { type WatchedCall, watchedCalls } from "../settings/choices.js";
import { formatDuration, formatSize } from "../settings/units.js";
import type { CallStalls, Pinning } from "./pinning-document.js";
import { bearablePieces, bearableStallNs, longestStallNs } from "./stalls.js";

const callName: Readonly<Record<WatchedCall, string>> = { launch: "launch", "small-copy": "4 KiB copy" };

/** A note on the size of pieces in which a server can pin. */
export function stallNotes({ stalls }: Pinning): Note[] {
  if (stalls === null || stalls.pieces.length === 0) return [];
  const limit = formatDuration(bearableStallNs);
  if (longestStallNs(stalls.quiet) >= bearableStallNs) {
    return [note(`Undecided: calls wait ${limit} and longer without pinning too.`)];
  }
  const pieces = bearablePieces(stalls);
  if (pieces === null) {
    return [
      note(`In a server, pin before work begins: calls wait ${limit} or longer for the smallest piece.`),
    ];
  }
  const wait = formatDuration(longestStallNs(pieces.calls));
  const size = formatSize(pieces.pieceBytes);
  const isLargest = pieces.pieceBytes === Math.max(...stalls.pieces.map(({ pieceBytes }) => pieceBytes));
  return [
    note(
      isLargest
        ? `In a server, pieces of up to ${size} by ${pieces.way} let calls wait up to ${wait}; larger ones were not measured.`
        : `In a server, pin at most ${size} at once by ${pieces.way}: calls then wait up to ${wait}.`,
    ),
  ];
}

/** Tables of each call's waits, by size of piece. */
export function stallGrids({ stalls }: Pinning): Grid[] {
  if (stalls === null) return [];
  const calls = watchedCalls.filter((call) => stalls.quiet.some((one) => one.call === call));
  const figuresOf = (of: readonly CallStalls[]) => [
    ...calls.map((call) => {
      const one = of.find((stall) => stall.call === call);
      return figure(one === undefined ? "-" : formatMilliseconds(one.longestNs));
    }),
    figure(formatWholeShare(Math.max(0, ...of.map(({ stalledShare }) => stalledShare)))),
  ];
  return [
    {
      caption: "Longest waits of this process's calls while another thread pins, in ms",
      columns: [
        wordColumn("method"),
        numberColumn("piece"),
        numberColumn("pinned"),
        numberColumn("allocate"),
        ...calls.map((call) => numberColumn(callName[call])),
        numberColumn("stalled"),
      ],
      rows: [
        ...stalls.pieces.map(({ way, pieceBytes, bytes, obtainNs, calls: of }) => [
          ...[figure(way), figure(formatSize(pieceBytes)), figure(formatSize(bytes))],
          ...[figure(formatMilliseconds(obtainNs)), ...figuresOf(of)],
        ]),
        [figure("none, for a second"), blank, blank, blank, ...figuresOf(stalls.quiet)],
      ],
      labels: 2,
      keepsRepeats: true,
      footnote: "stalled: share of the time in which a call had no answer for a millisecond or more",
    },
  ];
}
