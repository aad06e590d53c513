import { readFileSync } from "node:fs";
import type { DocumentKind } from "../draw/document-kind.js";
import { formatGBps, formatHalfWidth, formatRatio } from "../draw/numbers.js";
import {
  blank,
  environment,
  type Figure,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  section,
  tables,
  texts,
  wordColumn,
} from "../draw/report.js";
import { capital, counted, timeText } from "../draw/words.js";
import { formatMeasuredTime, formatSizeRounded } from "../settings/units.js";
import { median } from "../stats/order-statistics.js";
import { type LoadedWay, loadSchema, type WeightsLoad } from "./load-document.js";

function loadReport(load: WeightsLoad): Report {
  const { device, host, files, totalBytes, copiedBytes, pieces } = load;
  const named = files.length === 1 ? files[0]!.path : counted(files.length, "file");
  const part =
    copiedBytes < totalBytes ? `, of which the first ${formatSizeRounded(copiedBytes)} are copied` : "";
  const blocks = [
    ...texts("alert", alertsOf(load)),
    ...texts("answer", answersOf(load)),
    environment([
      ["Host", host],
      ["Device", device.name],
      ["Files", `${named}, ${formatSizeRounded(totalBytes)}${part}`],
      ["Pieces", `${pieces.count}, median ${formatSizeRounded(pieces.medianBytes)}`],
    ]),
    ...tables([false, true].flatMap((isCold) => gridOf(load, isCold))),
    ...texts("note", notesOf(load)),
  ];
  const code = { type: "code", language: "python", text: program } as const;
  return {
    command: "load",
    version: load.tool.version,
    hasTerms: true,
    name: `Loading weights: ${device.name}, ${timeText(load.createdAt)}`,
    brief: { blocks, leavesOut: "code for torch that registers the file; --output load.py writes it" },
    blocks: [...blocks, section("Registered read-only, in torch:", [code])],
  };
}

const program = readFileSync(new URL("programs/registered.py", import.meta.url), "utf8");

export const loadKind: DocumentKind<WeightsLoad> = {
  schema: loadSchema,
  report: loadReport,
  rawExports: { python: () => program },
};

function alertsOf({ notice, status, verification: { mismatchedBytes }, others }: WeightsLoad): Note[] {
  return [
    ...(mismatchedBytes > 0
      ? [note(`DATA MISMATCH: ${counted(mismatchedBytes, "byte")} arrived wrong`, "mismatch")]
      : []),
    ...(notice === null ? [] : [note(notice, "warning")]),
    ...(status === "aborted" ? [note("interrupted: not all passes were made", "warning")] : []),
    ...others.map((text) => note(text, "warning")),
  ];
}

const rateOf = (way: LoadedWay | undefined) => way?.gigabytesPerSecond?.median ?? 0;
const rateText = (way: LoadedWay) => `${formatGBps(rateOf(way))} GB/s`;

/** Smallest ratio of rates that counts as a gain. */
const leastGain = 1.1;

function answersOf(load: WeightsLoad): Note[] {
  const [warm, cold] = [false, true].map((isCold) => {
    const ways = load.ways.filter((way) => way.isCold === isCold && way.way !== "storage" && rateOf(way) > 0);
    const best = ways.reduce((one, other) => (rateOf(other) > rateOf(one) ? other : one), ways[0]!);
    return { best, mapped: ways.find(({ way }) => way === "mapped") };
  });
  const { best, mapped } = warm!;
  if (best === undefined) return [note("Nothing was measured.")];
  const bestText = `${capital(inWords(best))}: ${rateText(best)}`;
  const againstMapped = (way: LoadedWay) => {
    const gain = rateOf(best) / rateOf(way);
    const other =
      gain < leastGain ? "No other way is clearly faster." : `${bestText}, ${formatRatio(gain)} as fast.`;
    return `Mapped, as safetensors copies it: ${rateText(way)}. ${other}`;
  };
  const times = (ways: { mapped: LoadedWay | undefined; best: LoadedWay }) =>
    [...new Set([ways.mapped ?? ways.best, ways.best])]
      .map((way) => `${formatMeasuredTime(load.totalBytes / rateOf(way))} ${inWords(way)}`)
      .join(", ");
  const storage = load.ways.find(({ way }) => way === "storage");
  const alone = rateOf(storage) > 0 ? `, which gives ${rateText(storage!)} alone` : "";
  return [
    note(mapped === undefined ? `${bestText}.` : againstMapped(mapped)),
    note(`All ${formatSizeRounded(load.totalBytes)} take ${times(warm!)} once they are in memory.`),
    ...(cold?.best === undefined ? [] : [note(`From this storage${alone}, they take ${times(cold)}.`)]),
  ];
}

const words: Readonly<Record<LoadedWay["way"], string>> = {
  mapped: "mapped",
  registered: "registered read-only",
  "mapped-slots": "mapped through pinned slots",
  "read-slots": "read into pinned slots",
  "direct-slots": "read into pinned slots with O_DIRECT",
  storage: "read with O_DIRECT, without the GPU",
};

function inWords({ way, threads }: LoadedWay): string {
  return way === "mapped" || way === "registered"
    ? words[way]
    : `${words[way]} by ${counted(threads, "thread")}`;
}

function gridOf({ ways, copiedBytes }: WeightsLoad, isCold: boolean): Grid[] {
  const rows = ways.filter((way) => way.isCold === isCold).map((way) => rowOf(way, copiedBytes));
  const caption = isCold ? "From storage, GB/s" : "From the page cache, GB/s";
  const columns = [
    wordColumn("way"),
    numberColumn("threads"),
    numberColumn("GB/s"),
    numberColumn("copy alone"),
  ];
  return rows.length === 0 ? [] : [{ caption, columns, rows, labels: 2, keepsRepeats: true }];
}

function rowOf(
  { way, threads, passes, gigabytesPerSecond: rate, error }: LoadedWay,
  bytes: number,
): Figure[] {
  const names = [figure(way), figure(String(threads))];
  if (rate === null) return [...names, figure(error === null ? "-" : "refused", "", "muted"), blank];
  const spread = passes.length < 2 ? "" : formatHalfWidth((rate.most - rate.least) / 2 / rate.median);
  const copyRate = bytes / median(passes.map(({ copyNs }) => copyNs));
  return [...names, figure(formatGBps(rate.median), spread), figure(formatGBps(copyRate))];
}

/** Minimum share of a cold pass that must come from storage, as the system counts it. */
const coldShare = 0.9;

function notesOf({ ways, copiedBytes }: WeightsLoad): Note[] {
  const refused = new Map(ways.flatMap(({ way, error }) => (error === null ? [] : [[way, error.message]])));
  const colds = ways.filter(({ isCold }) => isCold).flatMap(({ passes }) => passes);
  const isWarm = colds.some(({ storageBytes }) => storageBytes < coldShare * copiedBytes);
  return [
    ...[...refused].map(([way, message]) => note(`${way} is refused: ${message}`, "warning")),
    ...(isWarm ? [note("storage delivered less than the files: cold figures may be warm", "warning")] : []),
    ...(colds.length > 0 ? [note("other readers of these files waited for storage meanwhile", "muted")] : []),
  ];
}
