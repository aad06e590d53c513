import { bandwidthUnit, formatBandwidth, formatGBps, formatHalfWidth, roundUp } from "../../draw/numbers.js";
import {
  type Column,
  environment,
  type Fact,
  type Figure,
  figure,
  type Grid,
  groupBy,
  type Note,
  note,
  numberColumn,
  type Report,
  spared,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { emulatedNote, emulatedNotice } from "../../results/device-facts.js";
import { describeSetting, settingKey, toPaste } from "../../results/loader-setting.js";
import { countedCpus } from "../../results/naming/wording.js";
import type { TrialRecord, Tuning, TuningScore } from "../../results/tuning.js";
import { formatSizeRounded } from "../../settings/units.js";
import { median, relativeHalfWidth } from "../../stats/order-statistics.js";
import { readsStorage } from "../score.js";
import { formatRate } from "./tuning-gain.js";
import { tuningReasons } from "./tuning-reasons.js";

/** The tried settings and the recommendation. */
export function tuningReport(tuning: Tuning): Report {
  const { tool, probe, run } = tuning;
  const [gain, ...reasons] = tuningReasons(tuning);
  return {
    command: "tune",
    version: tool.version,
    hasTerms: true,
    name: `Tuning of ${probe.source}, ${timeText(run.startedAt)}`,
    blocks: [
      ...texts("alert", alerts(tuning)),
      ...texts("answer", recommendationOf(tuning, gain)),
      environment(factsOf(tuning)),
      ...(tuning.tried.length === 0 ? [] : tables([grid(tuning)])),
      ...texts("note", tuningNotes(tuning)),
      ...texts(
        "finding",
        reasons.map((text) => note(text)),
      ),
    ],
  };
}

function alerts(tuning: Tuning): Note[] {
  const isEmulated = tuning.probe.notes.includes(emulatedNote);
  return [...(isEmulated ? [note(emulatedNotice, "warning")] : []), ...endings(tuning)];
}

function endings({ run }: Tuning): Note[] {
  if (run.status === "aborted")
    return [note("interrupted: these results were measured before that", "warning")];
  if (run.error !== null) return [note(`${run.error} These results were found before that.`, "failure")];
  if (run.status === "ended") {
    return [note("the job ended before the search: these results were measured before that", "warning")];
  }
  if (run.status === "budget") {
    return [note("the budget ended before the search was done: raise --budget", "warning")];
  }
  return [];
}

function factsOf({ probe, machine, method, run, recommendation }: Tuning): Fact[] {
  const { batch, link, stepNs } = probe;
  const ranks = machine.ranks === 1 ? "" : `, ${machine.ranks} ranks share them`;
  const rate = (bytesPerSecond: number) => formatBandwidth(bytesPerSecond / 1e9);
  const copies = (rates: NonNullable<typeof link>): Fact => [
    "Copies",
    `${rate(rates.pinnedBytesPerSecond)} pinned, ${rate(rates.pageableBytesPerSecond)} not pinned, one batch, measured alone`,
  ];
  const { epochs } = recommendation ?? {};
  const measured = epochs
    ? `whole epochs of ${counted(epochs.batches, "batch", "batches")}, including the time between epochs`
    : "batches arriving in the steady state";
  return [
    ["Data", probe.source],
    ["Batch", `${counted(batch.samples, "sample")}, ${formatSizeRounded(batch.bytes)}: ${batch.description}`],
    [
      "Device",
      `${probe.device ?? "none: batches arrive in host memory"}${probe.runtime === null ? "" : `; ${probe.runtime}`}`,
    ],
    ...(link === null ? [] : [copies(link)]),
    ...(stepNs === null ? [] : [["Step", `${roundUp(stepNs / 1e6, 1)} ms`] as const]),
    [
      "Host",
      `${machine.cpuModel}, ${countedCpus(machine.usableCpus, machine.cpuQuota)}${ranks}, at most ${counted(method.maxWorkers, "worker")}`,
    ],
    ["Measured", `${measured}, a search of ${(run.searchNs / 1e9).toFixed(1)} s`],
  ];
}

const columnsFor = (unit: string): readonly Column[] => [
  numberColumn("workers"),
  wordColumn("pinned"),
  numberColumn("prefetch"),
  numberColumn("batches/s"),
  spared(numberColumn(unit), 4),
  spared(numberColumn("first", "batch, s"), 3),
  spared(numberColumn("/dev/shm"), 1),
  spared(numberColumn("pinned", "memory"), 2),
  wordColumn(""),
];

function grid({ tried, probe, recommendation }: Tuning): Grid {
  const isOfInterest = tellsPersistence({ tried });
  const gbps = ({ batchesPerSecond }: TuningScore) => (batchesPerSecond * probe.batch.bytes) / 1e9;
  const { unit, perGB } = bandwidthUnit(
    Math.max(0, ...tried.flatMap(({ score }) => (score === null ? [] : gbps(score)))),
  );
  const rows = tried.map((one) => {
    const { setting, score, trials } = one;
    const { numWorkers, pinMemory, prefetchFactor, persistentWorkers } = setting;
    const firstNs = firstBatchNs(probe, one);
    const fault = trials.find(({ failure }) => failure !== null)?.failure?.fault ?? null;
    const isChosen = recommendation !== null && settingKey(recommendation.setting) === settingKey(setting);
    const peak = (of: "sharedMemoryBytes" | "pinnedBytes") => {
      const known = trials.flatMap((trial) => trial[of] ?? []);
      return figure(known.length === 0 ? "-" : formatSizeRounded(Math.max(...known), Math.ceil));
    };
    return [
      figure(String(numWorkers), isOfInterest && persistentWorkers ? " persist" : ""),
      figure(pinMemory ? "yes" : "no"),
      figure(prefetchFactor === null ? "-" : String(prefetchFactor)),
      rateFigure(score, fault),
      figure(score === null ? "" : formatGBps(gbps(score) * perGB)),
      figure(firstNs === undefined ? "" : roundUp(firstNs / 1e9, 2)),
      peak("sharedMemoryBytes"),
      peak("pinnedBytes"),
      figure(isChosen ? "<=" : ""),
    ];
  });
  return { name: "Settings that were tried", columns: columnsFor(unit), rows, labels: 3, keepsRepeats: true };
}

/**
 * Time from a loader's start to its first batch. A trial of a running job's current setting starts no loader, and its
 * next batch comes at once. So the first trial of the script's own setting is left out, and the longest of the others
 * counts.
 */
function firstBatchNs(
  { kind, startingPoint }: Tuning["probe"],
  { setting, trials }: Tuning["tried"][number],
) {
  if (kind !== "live") return trials.at(-1)?.arrivalsNs[0];
  const isOwn = startingPoint !== null && settingKey(startingPoint) === settingKey(setting);
  const firsts = trials.slice(isOwn ? 1 : 0).flatMap(({ arrivalsNs }) => arrivalsNs[0] ?? []);
  return firsts.length === 0 ? undefined : Math.max(...firsts);
}

function rateFigure(score: TuningScore | null, fault: string | null): Figure {
  if (score === null) return figure(fault ?? "-", "", fault === null ? "muted" : "failure");
  const { batchesPerSecond, low, high, isSettled } = score;
  const half = formatHalfWidth(relativeHalfWidth({ low, high }, batchesPerSecond));
  const signs = `${isSettled ? "" : " *"}${fault === null ? "" : " !"}`;
  return figure(formatRate(batchesPerSecond), half + signs);
}

/** The recommended setting and its gain. */
function recommendationOf({ recommendation, probe }: Tuning, gain: string | undefined): Note[] {
  if (recommendation === null) return [note("no setting could be measured", "failure")];
  const { setting } = recommendation;
  return [toPaste(probe, setting), ...(gain === undefined ? [] : [gain])].map((text) => note(text));
}

/** Notes for reading the table: failures, omissions and doubts. */
function tuningNotes(tuning: Tuning): Note[] {
  const { tried, probe } = tuning;
  const isRough = tried.some(({ score }) => score?.isSettled === false);
  const rough = "* a rough figure: the trial ended before all batches made before its start had arrived";
  return [
    ...(probe.bindingFaults ?? []).map((text) => note(text, "warning")),
    ...failures(tuning),
    ...withoutRate(tuning),
    ...skipped(tuning),
    ...(isRough ? [note(rough, "muted")] : []),
    ...storage(tuning),
    ...copies(tuning),
    ...ownedMemory(tuning),
    ...(probe.workersOff === null ? [] : [note(`no workers were tried: ${probe.workersOff}`, "muted")]),
    ...persistence(tuning, tellsPersistence(tuning)),
    ...probe.notes.filter((text) => text !== emulatedNote).map((text) => note(text, "muted")),
  ];
}

/** Whether some settings restart their workers in each epoch and others keep them. */
function tellsPersistence({ tried }: Pick<Tuning, "tried">): boolean {
  const withWorkers = tried.filter(({ setting }) => setting.numWorkers > 0);
  return new Set(withWorkers.map(({ setting }) => setting.persistentWorkers)).size > 1;
}

const copiesKept =
  "Such workers keep their own copies of the data set. If the data set changes between epochs, leave it False.";

/** The gain and the risk of persistent workers. */
function persistence({ recommendation, tried, probe }: Tuning, isTried: boolean): Note[] {
  if (!recommendation?.setting.persistentWorkers) return [];
  if (probe.kind === "live") {
    // A script that already uses them needs no explanation.
    if (!isTried) return [];
    const how = recommendation.epochs?.isMeasured
      ? "persistent_workers=True was tried, and epochs have begun with it"
      : "the gain of persistent_workers=True is computed from the starts of workers: no epoch began with it";
    return [note(`${how}. ${copiesKept}`, "muted")];
  }
  const chosen = tried.find(({ setting }) => settingKey(setting) === settingKey(recommendation.setting));
  const firsts = chosen?.trials.flatMap(({ arrivalsNs }) => arrivalsNs[0] ?? []) ?? [];
  const until =
    firsts.length === 0 ? "" : ` (${roundUp(median(firsts) / 1e9, 2)} s until the first batch here)`;
  return [
    note(
      `persistent_workers=True was not compared with False: it saves starting the workers in every epoch${until}. ${copiesKept}`,
      "muted",
    ),
  ];
}

function failures({ tried }: Tuning): Note[] {
  const failed = tried.flatMap(({ setting, trials }) =>
    trials.flatMap(({ failure }) =>
      failure === null ? [] : [{ failure, setting: describeSetting(setting) }],
    ),
  );
  const byText = groupBy(failed, ({ failure: { message, hint } }) =>
    hint === null ? message : `${message} ${hint}`,
  );
  return [...byText].map(([text, members]) => {
    const settings = [...new Set(members.map(({ setting }) => setting))];
    // Most messages name their setting.
    const isNamed = settings.length === 1 && text.includes(settings[0]!);
    return note(isNamed ? text : `${listed(settings)}: ${text}`, "failure");
  });
}

/** Settings whose trials ended before they had a rate ("-"). */
function withoutRate({ tried }: Tuning): Note[] {
  const none = tried.filter(
    ({ score, trials }) => score === null && trials.every(({ failure }) => failure === null),
  );
  if (none.length === 0) return [];
  const settings = listed(none.map(({ setting }) => describeSetting(setting)));
  return [note(`${settings}: too few batches arrived for a rate`, "warning")];
}

/** One note for all settings with the same reason. */
function skipped({ skipped }: Tuning): Note[] {
  // The need grows with the workers, so the first skipped setting shows the limit.
  const kinds = groupBy(skipped, ({ reason }) => reason.replaceAll(/\d[\d.]*( [KMGT]?i?B\b)?/g, "#"));
  return [...kinds.values()].map((members) => {
    const { setting, reason } = members[0]!;
    const more = members.length === 1 ? "" : `; and ${members.length - 1} more for the same reason`;
    return note(`skipped: ${describeSetting(setting)}: ${reason}${more}`, "warning");
  });
}

/** A note on a stream that each worker delivers completely: a training would see each sample several times an epoch. */
function copies({ tried }: Tuning): Note[] {
  const counts = new Map(
    tried.map(({ setting, trials }) => [
      setting.numWorkers,
      Math.max(...trials.map(({ sampleCopies }) => sampleCopies ?? 1)),
    ]),
  );
  const repeating = [...counts].filter(([, times]) => times > 1).sort(([a], [b]) => a - b);
  const [workers, times] = repeating.at(-1) ?? [];
  if (workers === undefined || times === undefined) return [];
  return [
    note(
      `the IterableDataset does not share its samples out between workers: ${counted(workers, "worker")} deliver each one ${roundUp(times, times % 1 === 0 ? 0 : 1)} times, which counts once here. Have __iter__ take its part by torch.utils.data.get_worker_info().`,
      "warning",
    ),
  ];
}

/** Share of the available memory from which the workers' own memory is mentioned. */
const notableOwnedShare = 0.1;

/** A note on memory that a short trial hardly shows and that can end a training in the middle of an epoch. */
function ownedMemory({ tried, machine }: Tuning): Note[] {
  const growing = tried.flatMap(({ setting, trials }) =>
    trials.flatMap(({ workerEpochBytes, workerPrivateBytes }) =>
      workerEpochBytes == null || workerPrivateBytes === null
        ? []
        : [{ setting, bytes: workerEpochBytes, growth: workerEpochBytes - workerPrivateBytes }],
    ),
  );
  const most = growing.sort((a, b) => b.growth - a.growth)[0];
  if (most === undefined || most.growth * machine.ranks <= notableOwnedShare * machine.memoryAvailableBytes) {
    return [];
  }
  const each = machine.ranks === 1 ? "" : " of each rank";
  const size = (bytes: number) => formatSizeRounded(bytes, Math.ceil);
  return [
    note(
      `${counted(most.setting.numWorkers, "worker")}${each} will own ${size(most.bytes)} of memory at the end of an epoch, ${size(most.growth)} more than in the trial: reading a Python object makes the worker copy its page. Samples listed in an array or a tensor stay shared.`,
      "warning",
    ),
  ];
}

/** In a cold trial all files come from storage; below this share, dropping them had no effect. */
const coldShare = 0.5;

/** A note on which rates include storage, or whether cold trials were cold. */
function storage({ tried, probe }: Tuning): Note[] {
  const trials = tried.flatMap(({ trials }) => trials.filter((one) => one.storageReadBytes !== null));
  const readBytes = trials.reduce((sum, { storageReadBytes }) => sum + (storageReadBytes ?? 0), 0);
  const size = formatSizeRounded(readBytes);
  if (probe.isCold === true) return coldness(trials, probe, size);
  const measured = tried.filter(({ score }) => score !== null);
  // A measurement from the page cache replaced these.
  const reading = measured.filter(({ trials }) => trials.every((one) => readsStorage(one, probe)));
  if (reading.length === 0) return [];
  const isAll = reading.length === measured.length;
  const where = isAll
    ? "storage is part of all figures"
    : `storage is part of the figures of ${listed(reading.map(({ setting }) => describeSetting(setting)))}, and not of the others`;
  const advice = isAll ? "" : " Run it again to compare all of them from the page cache.";
  return [note(`${size} came from storage: ${where}.${advice}`, "warning")];
}

function coldness(trials: readonly TrialRecord[], probe: Tuning["probe"], size: string): Note[] {
  if (trials.length === 0) {
    return [
      note("whether all trials were cold is not known: the system does not count its reads", "warning"),
    ];
  }
  const { fileBytesPerBatch } = probe;
  const warm = trials.filter((one) =>
    fileBytesPerBatch == null
      ? !readsStorage(one, probe)
      : (one.storageReadBytes ?? 0) < coldShare * one.arrivalsNs.length * fileBytesPerBatch,
  );
  if (warm.length === 0) {
    return [note(`all trials were cold, as a first epoch is: ${size} came from storage`, "muted")];
  }
  return [
    note(
      `--cold had no effect in ${warm.length} of ${counted(trials.length, "trial")}: the files were not read from storage. ${whyWarm(probe.kind)}`,
      "warning",
    ),
  ];
}

/** Why files may have stayed in the page cache; only its author knows which files a data set reads. */
function whyWarm(kind: Tuning["probe"]["kind"]): string {
  const other = kind === "torch" ? "The data set reads other files than those of --data, or their" : "Their";
  return `${other} file system keeps them in memory, or does not count what it reads, or something else holds them there.`;
}
