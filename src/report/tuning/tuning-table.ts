import type { ChalkInstance } from "chalk";
import { describeSetting, settingKey } from "../../results/loader-setting.js";
import type { Tuning } from "../../results/tuning.js";
import { formatSizeRounded } from "../../settings/units.js";
import { formatGBps, formatHalfWidth, roundUp } from "../format-number.js";
import { type Fact, type Figure, figure, type Grid, type Note, type Tone } from "../report-parts.js";
import { terminalGrid } from "../terminal-grid.js";
import { factLines, joinBlocks, noteLines, paint } from "../terminal-text.js";
import { counted, listed } from "../wording.js";
import { formatRate, tuningReasons } from "./tuning-reasons.js";

const indent = "  ";

/** What was tried and what is recommended, for people at a terminal. */
export function tuningTable(tuning: Tuning, chalk: ChalkInstance): string {
  return joinBlocks([
    [
      chalk.bold(`pinbench ${tuning.tool.version} tune`),
      ...alerts(tuning).map(({ text, tone }) => chalk.bold(paint(`! ${text}`, tone, chalk))),
      ...factLines(facts(tuning), indent, chalk),
    ],
    ...(tuning.tried.length === 0 ? [] : [terminalGrid(grid(tuning), chalk).map((line) => indent + line)]),
    tuningNotes(tuning).flatMap((note) => noteLines(note, indent, chalk)),
    outcome(tuning).flatMap((note) => noteLines(note, "=> ", chalk)),
  ]);
}

function alerts({ run, method }: Tuning): Note[] {
  if (run.status === "aborted") {
    return [{ text: "interrupted: this is what was found until then", tone: "warning" }];
  }
  if (run.error !== null) {
    return [{ text: `${run.error} This is what was found until then.`, tone: "failure" }];
  }
  if (run.status === "budget") {
    const what = method.search === "grid" ? "grid" : "search";
    return [
      { text: `the budget was used before the ${what} was done: --budget gives more`, tone: "warning" },
    ];
  }
  return [];
}

function facts({ probe, machine, method, run }: Tuning): Fact[] {
  const { batch, link } = probe;
  const quota = machine.cpuQuota === null ? "" : ` (quota ${machine.cpuQuota})`;
  const ranks = machine.ranks === 1 ? "" : `, ${machine.ranks} ranks share them`;
  const gbps = (bytesPerSecond: number) => formatGBps(bytesPerSecond / 1e9);
  return [
    { label: "Data", value: probe.source },
    {
      label: "Batch",
      value: `${counted(batch.samples, "sample")}, ${formatSizeRounded(batch.bytes)}: ${batch.description}`,
    },
    {
      label: "Device",
      value: `${probe.device ?? "none: batches arrive in host memory"}${probe.runtime === null ? "" : `; ${probe.runtime}`}`,
    },
    ...(link === null
      ? []
      : [
          {
            label: "Copies",
            value: `${gbps(link.pinnedBytesPerSecond)} GB/s pinned, ${gbps(link.pageableBytesPerSecond)} not pinned, one batch, nothing beside it`,
          },
        ]),
    ...(probe.stepNs === null ? [] : [{ label: "Step", value: `${roundUp(probe.stepNs / 1e6, 1)} ms` }]),
    {
      label: "Host",
      value: `${machine.cpuModel}, ${counted(machine.usableCpus, "CPU")}${quota}${ranks}, at most ${counted(method.maxWorkers, "worker")}`,
    },
    {
      label: "Measured",
      value: `${method.epochBatches === null ? "batches arriving in the steady state" : `an epoch of ${method.epochBatches} batch${method.epochBatches === 1 ? "" : "es"} with its start`}, ${method.search === "grid" ? "a grid" : "a search"} of ${(run.searchNs / 1e9).toFixed(1)} s`,
    },
  ];
}

function grid({ tried, probe, recommendation }: Tuning): Grid {
  const rows = tried.map((one) => {
    const { setting, score, trials } = one;
    const last = trials.at(-1);
    const failure = trials.find((trial) => trial.failure !== null)?.failure ?? null;
    const isChosen = recommendation !== null && settingKey(recommendation.setting) === settingKey(setting);
    const tone: Tone = failure !== null && score === null ? "failure" : "plain";
    const peak = (of: "sharedMemoryBytes" | "pinnedBytes") => {
      const known = trials.flatMap((trial) => trial[of] ?? []);
      return figure(known.length === 0 ? "-" : formatSizeRounded(Math.max(...known), Math.ceil));
    };
    return [
      figure(String(setting.numWorkers)),
      figure(setting.pinMemory ? "yes" : "no"),
      figure(setting.prefetchFactor === null ? "-" : String(setting.prefetchFactor)),
      rateFigure(score, failure?.fault ?? null, tone),
      figure(score === null ? "" : formatGBps((score.batchesPerSecond * probe.batch.bytes) / 1e9)),
      figure(last?.arrivalsNs[0] === undefined ? "" : roundUp(last.arrivalsNs[0] / 1e9, 2)),
      peak("sharedMemoryBytes"),
      peak("pinnedBytes"),
      figure(isChosen ? "<=" : ""),
    ];
  });
  return {
    caption: "",
    columns: [
      { head: ["workers"], align: "right" },
      { head: ["pinned"], align: "left" },
      { head: ["prefetch"], align: "right" },
      { head: ["batches/s"], align: "right" },
      { head: ["GB/s"], align: "right" },
      { head: ["first", "batch, s"], align: "right" },
      { head: ["/dev/shm"], align: "right" },
      { head: ["pinned", "memory"], align: "right" },
      { head: [""], align: "left" },
    ],
    rows,
  };
}

function rateFigure(score: Tuning["tried"][number]["score"], fault: string | null, tone: Tone): Figure {
  if (score === null) return figure(fault ?? "-", "", fault === null ? "muted" : "failure");
  const { batchesPerSecond, low, high, isSettled } = score;
  const half = low === null || high === null ? "±?" : formatHalfWidth((high - low) / 2 / batchesPerSecond);
  return figure(
    formatRate(batchesPerSecond),
    `${half}${isSettled ? "" : " *"}${fault === null ? "" : " !"}`,
    tone,
  );
}

function outcome(tuning: Tuning): Note[] {
  const { recommendation } = tuning;
  if (recommendation === null) return [{ text: "no setting could be measured", tone: "failure" }];
  const { setting } = recommendation;
  const flags = [
    `num_workers=${setting.numWorkers}`,
    `pin_memory=${setting.pinMemory ? "True" : "False"}`,
    ...(setting.prefetchFactor === null ? [] : [`prefetch_factor=${setting.prefetchFactor}`]),
    `persistent_workers=${setting.persistentWorkers ? "True" : "False"}`,
    ...(tuning.probe.device === null ? [] : [`non_blocking=${setting.nonBlocking ? "True" : "False"}`]),
  ];
  return [
    { text: flags.join(" "), tone: "plain" },
    ...tuningReasons(tuning).map((text): Note => ({ text, tone: "plain" })),
  ];
}

/** What must be known to read the table: failures, what was left out, and doubts. */
function tuningNotes(tuning: Tuning): Note[] {
  return [
    ...failures(tuning),
    ...skipped(tuning),
    ...rough(tuning),
    ...storage(tuning),
    ...fromProbe(tuning),
  ];
}

function failures({ tried }: Tuning): Note[] {
  const settingsOf = new Map<string, string[]>();
  for (const { setting, trials } of tried) {
    for (const { failure } of trials) {
      if (failure === null) continue;
      const text = `${failure.message}${failure.hint === null ? "" : ` ${failure.hint}`}`;
      settingsOf.set(text, [...(settingsOf.get(text) ?? []), describeSetting(setting)]);
    }
  }
  return [...settingsOf].map(([text, all]) => {
    const settings = [...new Set(all)];
    // Most messages name their setting.
    const isNamed = settings.length === 1 && text.includes(settings[0]!);
    return { text: isNamed ? text : `${listed(settings)}: ${text}`, tone: "failure" };
  });
}

/** Settings with one reason in one note. */
function skipped({ skipped }: Tuning): Note[] {
  const settingsOf = new Map<string, string[]>();
  for (const { setting, reason } of skipped) {
    // The need grows with the workers; the first of them says where it begins.
    const kind = reason.replaceAll(/\d[\d.]*( [KMGT]?i?B\b)?/g, "#");
    settingsOf.set(kind, [...(settingsOf.get(kind) ?? []), `${describeSetting(setting)}: ${reason}`]);
  }
  return [...settingsOf.values()].map((reasons) => ({
    text: `skipped: ${reasons[0]}${reasons.length === 1 ? "" : `; and ${reasons.length - 1} more for the same reason`}`,
    tone: "warning",
  }));
}

function rough({ tried }: Tuning): Note[] {
  if (tried.every(({ score }) => score?.isSettled !== false)) return [];
  return [
    {
      text: "* a rough figure: the trial ended while batches came that were made before the clock started",
      tone: "muted",
    },
  ];
}

/** A share of the batches' bytes from which on storage is part of what was measured; less is Python's own modules. */
const notableShare = 0.05;
const notableBytes = 16 * 2 ** 20;

/** Data that come from storage in the first trials and from the page cache in later ones flatter the later ones. */
function storage({ tried, probe }: Tuning): Note[] {
  const trials = tried.flatMap((one) => one.trials);
  const readBytes = trials.reduce((sum, { storageReadBytes }) => sum + (storageReadBytes ?? 0), 0);
  const batches = trials.reduce((sum, { arrivalsNs }) => sum + arrivalsNs.length, 0);
  if (readBytes <= Math.max(notableBytes, notableShare * batches * probe.batch.bytes)) return [];
  return [
    {
      text: `${formatSizeRounded(readBytes)} came from storage, the rest from the page cache: trials that came later may look faster than a first epoch is. Run it again to compare all of them from the page cache.`,
      tone: "warning",
    },
  ];
}

function fromProbe({ probe }: Tuning): Note[] {
  const off = probe.workersOff === null ? [] : [`no workers were tried: ${probe.workersOff}`];
  return [...off, ...probe.notes].map((text) => ({ text, tone: "muted" }));
}
