import type { DocumentKind } from "../draw/document-kind.js";
import {
  formatGBps,
  formatHalfWidth,
  formatMilliseconds,
  formatRatio,
  formatWholeShare,
  unknownInterval,
} from "../draw/numbers.js";
import {
  type Block,
  blank,
  detail,
  environment,
  type Fact,
  type Figure,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  reasonNotes,
  section,
  shortened,
  tables,
  texts,
  wordColumn,
} from "../draw/report.js";
import { counted, listed, timeText } from "../draw/words.js";
import { pcieLink } from "../results/naming/wording.js";
import { formatDuration, formatMeasuredTime, formatSize, formatSizeRounded } from "../settings/units.js";
import { groupBy } from "../stats/group-by.js";
import { median } from "../stats/order-statistics.js";
import { type PinnedPool, type Pinning, pinningSchema } from "./pinning-document.js";
import { cProgram, type ProgrammedPool, pythonProgram } from "./pool-programs.js";
import { shapeId } from "./pool-shapes.js";
import { wayInWords } from "./recommend-pool.js";
import { stallGrids, stallNotes } from "./stall-report.js";

function pinningReport(pinning: Pinning): Report {
  const { tool, device, createdAt, recommendation } = pinning;
  const answers = [pinningAnswer, stallNotes, torchNotes].flatMap((say) => say(pinning));
  const first = [...texts("alert", pinningAlerts(pinning)), ...texts("answer", answers)];
  const [pools, stalls] = [tables(poolGrids(pinning)), tables(stallGrids(pinning))];
  const last = recommendation === null ? [] : texts("note", [programsNote]);
  return {
    command: "pin",
    version: tool.version,
    hasTerms: true,
    name: `Pinned memory: ${device.name}, ${timeText(createdAt)}`,
    brief: {
      blocks: [
        ...first,
        ...shortened(pools.slice(0, 1), mostBriefRows),
        ...shortened(stalls, mostBriefRows),
        ...last,
      ],
      leavesOut: "all pools and conditions",
    },
    blocks: [
      ...first,
      environment(pinningFacts(pinning)),
      ...pools,
      ...stalls,
      ...texts("note", [...pinningNotes(pinning), ...omissionNotes(pinning)]),
      ...programs(pinning),
      ...last,
    ],
  };
}

export const pinningKind: DocumentKind<Pinning> = {
  schema: pinningSchema,
  report: pinningReport,
  rawExports: {
    c: (pinning) => programOf(pinning, cProgram) ?? "/* pinbench pin found nothing to recommend. */\n",
    python: (pinning) => programOf(pinning, pythonProgram) ?? "# pinbench pin found nothing to recommend.\n",
  },
};

/** Uses the recommendation's numbers, but never a text of the document. */
function programOf(
  { recommendation, device, machine }: Pinning,
  write: (pool: ProgrammedPool) => string,
): string | null {
  if (recommendation === null) return null;
  const { numaNode, hugePageBytes } = machine;
  return write({ ...recommendation, device: device.ordinal, numaNode, hugePageBytes });
}

const programsNote = note(
  "--output pool.c or --output pool.py writes the recommended method as a program",
  "muted",
);

function programs(pinning: Pinning): Block[] {
  const [c, python] = [cProgram, pythonProgram].map((write) => programOf(pinning, write));
  if (c == null || python == null) return [];
  return [
    section("In C, for the CUDA runtime:", [{ type: "code", language: "c", text: c }]),
    section("In Python, for torch:", [{ type: "code", language: "python", text: python }]),
  ];
}

function pinningAlerts({ notice, status, error, others }: Pinning): Note[] {
  return [
    ...(notice === null ? [] : [note(notice, "warning")]),
    ...(status === "aborted"
      ? [note("interrupted: these figures were measured before that", "warning")]
      : []),
    ...(status === "failed" ? [note(`the device failed: ${error?.message}`, "failure")] : []),
    ...others.map((text) => note(text, "warning")),
  ];
}

/** The answer: the recommended method, its gain, limits, and why no faster method is recommended. */
function pinningAnswer({ recommendation, pools, limits, status }: Pinning): Note[] {
  if (recommendation === null) {
    const isRefused = pools.some(({ outcome }) => outcome === "refused");
    const [reason, ...others] = new Set(pools.flatMap((pool) => pool.reason ?? []));
    const why = reason === undefined || others.length > 0 || status !== "complete" ? "" : `: ${reason}`;
    return [note(isRefused ? "No pinned memory could be allocated." : `Nothing was measured${why}.`)];
  }
  const { sizeBytes, obtainNs, hostAllocNs, timesAsFast, reason } = recommendation;
  const isPlain = recommendation.way === "host-alloc";
  const against =
    isPlain || hostAllocNs === null || timesAsFast === null
      ? ""
      : timesAsFast >= 1
        ? `, ${formatRatio(timesAsFast)} as fast as cuMemHostAlloc (${formatMeasuredTime(hostAllocNs)})`
        : `, where cuMemHostAlloc takes ${formatMeasuredTime(hostAllocNs)}`;
  const stopped = limits.map(
    ({ way, largestBytes, refusedBytes }) =>
      `${largestBytes === 0 ? "none" : `less than ${formatSizeRounded(refusedBytes, Math.ceil)}`} by ${way}`,
  );
  return [
    note(
      `Recommended for ${formatSize(sizeBytes)}: ${wayInWords(recommendation)}: ${formatMeasuredTime(obtainNs)}${against}.`,
    ),
    note(reason),
    ...(stopped.length === 0 ? [] : [note(`Not all can be allocated: ${listed(stopped)}.`, "warning")]),
  ];
}

function pinningFacts({ host, labels, device, machine, pools, wallNs, budgetNs }: Pinning): Fact[] {
  const named = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const { link } = device;
  const where = [
    device.name,
    ...(device.pciBusId === null ? [] : [device.pciBusId]),
    ...(link === null || link.generation === null || link.width === null
      ? []
      : [`PCIe ${pcieLink(link.generation, link.width)}`]),
  ];
  const limits = [
    ...(machine.cgroupMemoryLimitBytes === null
      ? []
      : [`cgroup ${formatSizeRounded(machine.cgroupMemoryLimitBytes, Math.floor)}`]),
    ...(machine.memlockLimitBytes === null
      ? []
      : [`ulimit -l ${formatSizeRounded(machine.memlockLimitBytes, Math.floor)}`]),
  ];
  const hugetlb = machine.hugetlbFreeBytes ?? 0;
  return [
    [
      "Host",
      `${host}, ${counted(machine.cpusUsable, "CPU")}${machine.numaNode === null ? "" : ` of NUMA node ${machine.numaNode}`}${machine.virtualization === null ? "" : `, in a virtual machine (${machine.virtualization})`}`,
    ],
    ...(named.length === 0 ? [] : [["Labels", named.join(", ")] as const]),
    ["Device", where.join(", ")],
    [
      "Memory",
      [
        `${formatSizeRounded(machine.memoryAvailableBytes, Math.floor)} available`,
        `at most ${formatSizeRounded(machine.maxPinnedBytes, Math.floor)} pinned`,
        ...limits,
      ].join(", "),
    ],
    [
      "Huge pages",
      `transparent: ${machine.transparentHugePages ?? "not known"}; set aside in hugetlbfs: ${hugetlb === 0 ? "none" : formatSize(hugetlb)}`,
    ],
    ...pagesFact(pools, machine.numaNode),
    ["Time", `${formatDuration(wallNs)} of ${formatDuration(budgetNs)}`],
  ];
}

/**
 * NUMA nodes of the pools' pages, because a full node is skipped without an error. Empty if no node was requested and
 * all pages are on one.
 */
function pagesFact(pools: readonly PinnedPool[], requested: number | null): Fact[] {
  const known = pools.flatMap((pool) =>
    pool.pagesOfNode?.length ? [{ ...pool, pages: pool.pagesOfNode }] : [],
  );
  const nodes = new Set(known.flatMap(({ pages }) => pages.map(({ node }) => node)));
  if (requested === null && nodes.size < 2) return [];
  if (known.length === 0) return [["Pages", "their NUMA node is not known"]];
  const strays = known.flatMap(({ way, pages }) => {
    const all = pages.reduce((sum, one) => sum + one.pages, 0);
    const others = pages.filter(({ node }) => node !== requested);
    return others.map((one) => `${formatWholeShare(one.pages / all)} of ${way} on node ${one.node}`);
  });
  return [["Pages", strays.length === 0 ? `on NUMA node ${requested}` : strays.join("; ")]];
}

const mostBriefRows = 5;

/** A table per size, the recommended size first. Rows are fastest first; those without figures come last. */
function poolGrids(pinning: Pinning): Grid[] {
  const sizes = [...groupBy(pinning.pools, ({ sizeBytes }) => String(sizeBytes)).values()];
  const isMain = ([pool]: PinnedPool[]) => Number(pool!.sizeBytes === pinning.recommendation?.sizeBytes);
  return sizes.sort((a, b) => isMain(b) - isMain(a)).map((pools) => poolGrid(pools, pinning));
}

function poolGrid(pools: readonly PinnedPool[], { recommendation }: Pinning): Grid {
  const { sizeBytes } = pools[0]!;
  const time = ({ obtain }: PinnedPool) => obtain?.median ?? Number.POSITIVE_INFINITY;
  const sorted = [...pools].sort((a, b) => Math.sign(time(a) - time(b)) || 0);
  const isRepeated = pools.some(({ samples }) => samples.length > 1);
  const isTooWide = pools.some((pool) => spreadText(pool) === unknownInterval);
  const isChosen = (pool: PinnedPool) =>
    recommendation?.sizeBytes === sizeBytes && shapeId(recommendation) === shapeId(pool);
  return {
    caption: `Pools of ${formatSize(sizeBytes)}, times in ms, copies in GB/s`,
    columns: [
      wordColumn("method"),
      numberColumn("threads"),
      numberColumn("allocate"),
      detail(numberColumn("touch")),
      detail(numberColumn("register")),
      detail(numberColumn("free")),
      numberColumn("H2D"),
      numberColumn("D2H"),
      detail(numberColumn("huge", "pages")),
      detail(numberColumn("RSS")),
      wordColumn(""),
    ],
    rows: sorted.map((pool) => rowOf(pool, isChosen(pool))),
    labels: 2,
    keepsRepeats: true,
    ...(isRepeated && {
      footnote: `±: half the range of times, for pools that were allocated several times${isTooWide ? "; ?: too wide to be of use" : ""}`,
    }),
  };
}

function rowOf(pool: PinnedPool, isChosen: boolean): Figure[] {
  const { way, threads, outcome, obtain, release, memory, hugePageShare } = pool;
  const names = [figure(way), figure(String(threads))];
  if (obtain === null || release === null) {
    return [
      ...names,
      figure(outcome, "", outcome === "refused" ? "warning" : "muted"),
      ...Array(8).fill(blank),
    ];
  }
  const middle = (key: "touchNs" | "registerNs") => {
    const times = pool.samples.flatMap((sample) => sample[key] ?? []);
    return figure(times.length === 0 ? "-" : formatMilliseconds(median(times)));
  };
  const rate = (value: PinnedPool["h2dGigabytesPerSecond"]) =>
    figure(value === null ? "-" : formatGBps(value.median));
  const { before, held } = memory ?? {};
  return [
    ...names,
    figure(formatMilliseconds(obtain.median), spreadText(pool)),
    middle("touchNs"),
    middle("registerNs"),
    figure(formatMilliseconds(release.median)),
    rate(pool.h2dGigabytesPerSecond),
    rate(pool.d2hGigabytesPerSecond),
    figure(hugePageShare === null ? "-" : formatWholeShare(hugePageShare)),
    before?.residentBytes == null || held?.residentBytes == null
      ? figure("-")
      : figure(
          `${held.residentBytes < before.residentBytes ? "−" : "+"}${formatSizeRounded(Math.abs(held.residentBytes - before.residentBytes))}`,
        ),
    isChosen ? figure("<=") : blank,
  ];
}

function spreadText({ samples, obtain }: PinnedPool): string {
  if (obtain === null || samples.length < 2) return "";
  return formatHalfWidth((obtain.most - obtain.least) / 2 / obtain.median);
}

const mostNamed = 3;

/** Names of pools, or their number if there are many. */
function poolsText(list: readonly PinnedPool[]): string {
  return list.length > mostNamed
    ? `${list.length} pools`
    : listed(list.map((pool) => `${formatSize(pool.sizeBytes)} by ${shapeId(pool)}`));
}

const reasonOf = ({ reason }: PinnedPool) => [reason ?? "no reason is known"];

/** Pools that were not tried, and why; a terminal shows their rows only with --all. */
function omissionNotes({ pools }: Pinning): Note[] {
  const left = pools.filter(({ outcome }) => outcome === "omitted");
  return reasonNotes(left, reasonOf, poolsText, "left out", "muted");
}

/** Notes on limits, refused pools, and what was left out. */
function pinningNotes({ pools, limits, omitted }: Pinning): Note[] {
  const refused = pools.filter(
    (pool) => pool.outcome === "refused" && !limits.some(({ way }) => way === pool.way),
  );
  return [
    ...limits.map((limit) =>
      note(
        `By ${wayInWords(limit)}, ${limit.largestBytes === 0 ? "nothing can be allocated" : `${formatSizeRounded(limit.largestBytes, Math.floor)} can be allocated`}: ${formatSizeRounded(limit.refusedBytes, Math.ceil)} is refused (${limit.error.code}). Likely reason: ${limit.reason}.`,
        "warning",
      ),
    ),
    ...reasonNotes(refused, reasonOf, poolsText, "refused", "warning"),
    ...omitted.map((text) => note(`left out: ${text}`, "muted")),
  ];
}

/** How to make torch pin no more than requested. */
const againstRounding = "PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb:1 turns that off in torch 2.13.";

/** How much torch pins for the largest size. */
function torchNotes({ torchRounding }: Pinning): Note[] {
  if (torchRounding == null) return [];
  const { sizeBytes, pinnedBytes, extraNs } = torchRounding;
  const extra = formatSizeRounded(pinnedBytes - sizeBytes);
  return [
    note(
      `torch's pin_memory=True would pin ${formatSizeRounded(pinnedBytes)} for these ${formatSizeRounded(sizeBytes)}: ${extra} more memory${extraNs === null ? "" : ` and about ${formatDuration(extraNs)}`}. ${againstRounding}`,
    ),
  ];
}
