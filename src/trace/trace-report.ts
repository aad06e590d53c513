import type { DocumentKind } from "../draw/document-kind.js";
import { formatGBps, formatMilliseconds } from "../draw/numbers.js";
import {
  detail,
  environment,
  type Fact,
  figure,
  fold,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  shortened,
  tables,
  texts,
  wordColumn,
} from "../draw/report.js";
import { counted, listed, timeText } from "../draw/words.js";
import { formatMeasuredTime, formatSizeRounded } from "../settings/units.js";
import { sumOf } from "../stats/variance.js";
import { blockedNsOf, joinedCopies, sumsOf, type TraceSums } from "./copy-sums.js";
import { type Trace, type TracedCopy, type TracedProcess, traceSchema } from "./trace-document.js";

export const traceKind: DocumentKind<Trace> = {
  schema: traceSchema,
  report: traceReport,
  changeOf: ({ createdAt, command, processes }, after) => ({
    ...after,
    earlier: { createdAt, command, processes },
  }),
  async pictures(trace) {
    return { charts: (await import("./trace-charts.js")).traceCharts(trace) };
  },
};

const mostBriefRows = 8;
/** Smaller shares of the time do not matter. */
const leastShare = 0.01;

function traceReport(trace: Trace): Report {
  const { tool, command, createdAt, processes } = trace;
  const sums = sumsOf(processes);
  const copies = joinedCopies(processes);
  const earlier = trace.earlier && sumsOf(trace.earlier.processes);
  const first = [
    ...texts("alert", alertsOf([...processes, ...(trace.earlier?.processes ?? [])])),
    ...texts("answer", earlier === null ? answersOf(processes, sums) : [changeOf(earlier, sums)]),
    ...texts("finding", findingsOf(sums)),
    environment(factsOf(trace)),
  ];
  const parts = processes.length > 1 ? processes : [];
  const rows: SumRow[] = parts.map((one) => [nameOf(one), sumsOf([one])]);
  if (earlier !== null) rows.push(["before", earlier], ["now", sums]);
  else if (parts.length > 0) rows.push(["sum", sums]);
  const last = [...(rows.length > 0 ? tables([sumGrid(rows)]) : []), ...texts("note", notesOf(trace))];
  return {
    command: "trace",
    version: tool.version,
    hasTerms: false,
    name: `Copies of ${command}, ${timeText(createdAt)}`,
    brief: {
      blocks: [...first, ...shortened(tables(copyGrids(copies)), mostBriefRows), ...last],
      leavesOut: "all rows, calls and processes",
    },
    blocks: [
      ...first,
      ...tables(copyGrids(copies)),
      ...last,
      ...parts.map((one) => fold(nameOf(one), tables(copyGrids(joinedCopies([one]))))),
    ],
  };
}

/** "1.28 GB": decimal, as rates are. */
function amount(bytes: number): string {
  const [unit, scale] = bytes >= 1e9 ? (["GB", 1e9] as const) : (["MB", 1e6] as const);
  return bytes === 0 ? "0 B" : `${formatGBps(bytes / scale)} ${unit}`;
}

const timeOf = (timeNs: number) => (timeNs === 0 ? "0 s" : formatMeasuredTime(timeNs));

const nameOf = ({ rank, pid }: TracedProcess) => (rank === "" ? `process ${pid}` : `rank ${rank}`);

const notesIf = (tone: Note["tone"], ...sentences: readonly (string | false)[]): Note[] =>
  sentences.flatMap((text) => (text === false ? [] : [note(text, tone)]));

function alertsOf(processes: readonly TracedProcess[]): Note[] {
  const errors = new Set(processes.flatMap(({ error }) => error ?? []));
  const silent = processes.filter(({ isSilent }) => isSilent).map(nameOf);
  const dropped = sumOf(processes.map(({ droppedRecords }) => droppedRecords));
  const adviceOn = (error: string) =>
    error.includes("refuses")
      ? "Stop other profilers of the program, or name its CUDA's libcupti.so with --cupti."
      : "Install CUPTI (pip install nvidia-cuda-cupti), or name its libcupti.so with --cupti.";
  return notesIf(
    "warning",
    ...[...errors].map((error) => `Not traced: ${error}. ${adviceOn(error)}`),
    silent.length > 0 &&
      `CUPTI stopped reporting before the end of ${listed(silent)}: another profiler, such as torch.profiler, has probably used it.`,
    dropped > 0 && `CUPTI dropped ${counted(dropped, "record")}: real counts are higher.`,
  );
}

function answersOf(processes: readonly TracedProcess[], sums: TraceSums): Note[] {
  const { h2d, d2h, observedNs } = sums;
  if (processes.length === 0) return [note("No process used CUDA: there is nothing to report.")];
  const isTraced = processes.every(({ error, isSilent }) => error === null && !isSilent);
  if (h2d.count + d2h.count === 0)
    return isTraced ? [note("There were no copies between host and GPU.")] : [];
  const answers = [
    ...pageableAnswer(h2d, observedNs, "to the GPU came from"),
    ...pageableAnswer(d2h, observedNs, "from the GPU went to"),
  ];
  if (answers.length > 0) return answers;
  const copies = processes.flatMap((one) => one.copies);
  const isWhole =
    isTraced && processes.every(({ droppedRecords, isComplete }) => droppedRecords === 0 && isComplete);
  // No large pageable copies were found.
  if (!isWhole || copies.some(({ memory }) => memory !== "pinned" && memory !== "pageable")) return [];
  const isPinned = copies.some(({ memory }) => memory === "pinned");
  return [
    note(isPinned ? "All large copies are pinned; nothing to gain here." : "No large copy is pageable."),
  ];
}

function pageableAnswer(
  { totalBytes, pageable }: TraceSums["h2d"],
  observedNs: number,
  cameFrom: string,
): Note[] {
  if (pageable.count === 0) return [];
  const { savedNs } = pageable;
  const blocked = `${timeOf(blockedNsOf(pageable))} of ${timeOf(observedNs)}`;
  const gain =
    (savedNs ?? 0) >= leastShare * observedNs ? `about ${timeOf(savedNs ?? 0)}` : "less than 1 % of the time";
  const saving = savedNs === null ? "" : ` Pinned memory would save ${gain}.`;
  return [
    note(
      `${amount(pageable.totalBytes)} of ${amount(totalBytes)} ${cameFrom} pageable memory and blocked its thread for ${blocked}.${saving}`,
    ),
  ];
}

/** Findings on other calls that block, if they matter. */
function findingsOf({ observedNs, values, pinning, pinned }: TraceSums): Note[] {
  const valuesNs = blockedNsOf(values);
  const matters = (timeNs: number) => timeNs > 0 && timeNs >= leastShare * observedNs;
  return notesIf(
    "plain",
    matters(valuesNs) &&
      `${counted(values.count, "small copy", "small copies")} from the GPU waited ${timeOf(valuesNs)} for it, as Tensor.item() and .cpu() do.`,
    matters(pinning.timeNs) &&
      `Pinning and freeing took ${timeOf(pinning.timeNs)} in ${counted(pinning.count, "call")} (${listed(pinning.names)}): in a loop, pin once before it.`,
    matters(pinned.behindKernelsNs) &&
      `Pinned copies took ${timeOf(pinned.behindKernelsNs)} on streams that also run kernels: on another stream they could overlap.`,
  );
}

function notesOf({ processes }: Trace): Note[] {
  const copies = processes.flatMap((one) => one.copies);
  const cut = processes.filter(({ isComplete }) => !isComplete).map(nameOf);
  const withoutCall = sumOf(processes.map(({ copiesWithoutCall }) => copiesWithoutCall));
  return notesIf(
    "muted",
    cut.length > 0 && `the end of ${listed(cut)} is missing: it was killed, runs on, or the disk is full`,
    withoutCall > 0 && `the time blocked by ${counted(withoutCall, "copy", "copies")} is unknown`,
    copies.some(({ savedNs }) => savedNs === null) &&
      "what pinning saves is unknown without this machine's pinned rate for that size: see --reference",
  );
}

const pageableNs = ({ h2d, d2h }: TraceSums) => blockedNsOf(h2d.pageable) + blockedNsOf(d2h.pageable);

const changeOf = (before: TraceSums, now: TraceSums): Note =>
  note(`Large pageable copies blocked ${timeOf(pageableNs(before))} before, ${timeOf(pageableNs(now))} now.`);

function factsOf({ host, command, createdAt, processes, pinnedRates }: Trace): Fact[] {
  const libraries = new Set(processes.flatMap(({ cupti, error }) => (error === null ? cupti : [])));
  return [
    ["Host", `${host}, ${timeText(createdAt)}`],
    ["Command", command],
    ...(libraries.size === 0 ? [] : [["CUPTI", listed([...libraries])] as const]),
    ...(pinnedRates === null ? [] : [["Pinned rate", pinnedRates] as const]),
  ];
}

function copyGrids(copies: readonly TracedCopy[]): Grid[] {
  if (copies.length === 0) return [];
  const hasRanges = copies.some(({ range }) => range !== "");
  const columns = [
    wordColumn(""),
    wordColumn("memory"),
    numberColumn("size"),
    numberColumn("count"),
    numberColumn("GB/s"),
    numberColumn("GB/s", "if pinned"),
    numberColumn("blocked"),
    numberColumn("saved", "if pinned"),
    detail(wordColumn("call")),
    ...(hasRanges ? [detail(wordColumn("NVTX range"))] : []),
  ];
  const rows = copies.map((copy) => [
    figure(copy.direction.toUpperCase()),
    figure(copy.memory, "", copy.memory === "pageable" ? "warning" : "plain"),
    figure(copy.sizeBytes === 0 ? "others" : formatSizeRounded(copy.sizeBytes)),
    figure(String(copy.count)),
    figure(copy.engineNs === 0 ? "-" : formatGBps(copy.totalBytes / copy.engineNs)),
    figure(copy.pinnedGBps === null ? "-" : formatGBps(copy.pinnedGBps)),
    figure(copy.call === "" ? "-" : formatMilliseconds(blockedNsOf(copy))),
    figure(copy.savedNs === null ? "?" : copy.savedNs === 0 ? "-" : formatMilliseconds(copy.savedNs)),
    figure(copy.call || "-"),
    ...(hasRanges ? [figure(copy.range || "-")] : []),
  ]);
  return [{ caption: "Copies, rates in GB/s, times in ms", columns, rows, keepsRepeats: true }];
}

type SumRow = readonly [name: string, sums: TraceSums];

/** A row for each process and a sum, or for before and now. */
function sumGrid(rows: readonly SumRow[]): Grid {
  return {
    caption: "Sums, times in ms",
    columns: [
      wordColumn(""),
      numberColumn("H2D"),
      numberColumn("pageable"),
      numberColumn("blocked"),
      detail(numberColumn("small", "D2H")),
      detail(numberColumn("pinning")),
      numberColumn("traced"),
    ],
    rows: rows.map(([name, sums]) => {
      const { h2d, values, pinning, observedNs } = sums;
      const times = [pageableNs(sums), blockedNsOf(values), pinning.timeNs, observedNs];
      const texts = [name, amount(h2d.totalBytes), amount(h2d.pageable.totalBytes)];
      return [...texts, ...times.map(formatMilliseconds)].map((text) => figure(text));
    }),
  };
}
