import { bandwidthUnit, formatBandwidth, formatGBps, formatRatio, roundUp } from "../../draw/numbers.js";
import {
  type Column,
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
  shortened,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { findingGrid } from "../../report/findings/finding.js";
import { emulatedNote, emulatedNotice } from "../../results/device-facts.js";
import { describeSetting, settingKey, toPaste } from "../../results/loader-setting.js";
import { countedCpus } from "../../results/naming/wording.js";
import type { TrialRecord, Tried, Tuning, TuningScore } from "../../results/tuning.js";
import { formatDuration, formatSizeRounded } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";
import { constants } from "../search/constants.js";
import { readsStorage } from "../search/rate.js";
import { findingsOf, formatRate, halfText, headline, longerBudget } from "./tuning-findings.js";

export function tuningReport(tuning: Tuning): Report {
  const { tool, probe, run } = tuning;
  const findings = findingsOf(tuning);
  const first = [...texts("alert", alerts(tuning)), ...texts("answer", recommendationOf(tuning))];
  const settings = tables(gridsOf(tuning));
  const notes = tuningNotes(tuning);
  return {
    command: "tune",
    version: tool.version,
    hasTerms: true,
    name: `Tuning of ${probe.source}, ${timeText(run.startedAt)}`,
    brief: {
      blocks: [
        ...first,
        ...shortened(settings, mostBriefSettings),
        ...texts("note", notes.filter(({ tone }) => tone !== "muted").slice(0, mostBriefNotes)),
      ],
      leavesOut: "all settings and findings",
    },
    blocks: [
      ...first,
      environment(factsOf(tuning)),
      ...settings,
      ...(findings.length === 0 ? [] : tables([findingGrid(findings, "of this search")])),
      ...texts("note", notes),
    ],
  };
}

/** Maximum number of settings and notes in the brief view. */
const [mostBriefSettings, mostBriefNotes] = [8, 2];

function alerts(tuning: Tuning): Note[] {
  const isEmulated = tuning.probe.notes.includes(emulatedNote);
  return [...(isEmulated ? [note(emulatedNotice, "warning")] : []), ...endings(tuning)];
}

function endings(tuning: Tuning): Note[] {
  const { run } = tuning;
  if (run.status === "aborted")
    return [note("interrupted: these results were measured before that", "warning")];
  if (run.error !== null) return [note(`${run.error} These results were found before that.`, "failure")];
  if (run.status === "ended") {
    return [note("the job ended before the search: these results were measured before that", "warning")];
  }
  if (run.status === "budget") {
    return [note(`the budget ended before the search was done: use ${longerBudget(tuning)}`, "warning")];
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
    ["Measured", `${measured}, a search of ${formatDuration(run.searchNs)}`],
  ];
}

const columnsFor = (unit: string): readonly Column[] => [
  numberColumn("workers"),
  wordColumn("pinned"),
  numberColumn("prefetch"),
  numberColumn("batches/s"),
  detail(numberColumn(unit)),
  detail(numberColumn("first", "batch, s")),
  detail(numberColumn("/dev/shm")),
  detail(numberColumn("pinned", "memory")),
  wordColumn(""),
];

/** A table of settings, fastest first; no table without settings. */
function gridsOf({ probe, recommendation, tried }: Tuning): Grid[] {
  if (tried.length === 0) return [];
  const rate = ({ score }: Tried) => score?.batchesPerSecond ?? 0;
  const isOfInterest = tellsPersistence({ tried });
  const gbps = ({ batchesPerSecond }: TuningScore) => (batchesPerSecond * probe.batch.bytes) / 1e9;
  const { unit, perGB } = bandwidthUnit(
    Math.max(0, ...tried.flatMap(({ score }) => (score === null ? [] : gbps(score)))),
  );
  const fastestFirst = tried.toSorted((a, b) => rate(b) - rate(a));
  const rows = fastestFirst.map((one) => {
    const { setting, score, trials } = one;
    const { numWorkers, pinMemory, prefetchFactor, persistentWorkers } = setting;
    // The longest first wait, because a setting already in force starts no loader and gets its batch at once.
    const firstNs = Math.max(...trials.flatMap(({ arrivalsNs }) => arrivalsNs[0] ?? []));
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
      figure(firstNs > 0 ? roundUp(firstNs / 1e9, 2) : ""),
      peak("sharedMemoryBytes"),
      peak("pinnedBytes"),
      figure(isChosen ? "<=" : ""),
    ];
  });
  const columns = columnsFor(unit);
  return [{ name: "Settings that were tried", columns, rows, labels: 3, keepsRepeats: true }];
}

function rateFigure(score: TuningScore | null, fault: string | null): Figure {
  if (score === null) return figure(fault ?? "-", "", fault === null ? "muted" : "failure");
  const signs = `${score.isSettled ? "" : " *"}${fault === null ? "" : " !"}`;
  return figure(formatRate(score.batchesPerSecond), halfText(score) + signs);
}

function recommendationOf(tuning: Tuning): Note[] {
  const { recommendation, probe } = tuning;
  if (recommendation === null) return [note("no setting could be measured", "failure")];
  return [toPaste(probe, recommendation.setting), ...headline(tuning)].map((text) => note(text));
}

const withoutStep = `Measured without a training step: 0 workers make nothing during one, and are recommended only if over ${formatRatio(constants.overlapWorth)} as fast. Measure one with --step.`;

function tuningNotes(tuning: Tuning): Note[] {
  const { tried, probe } = tuning;
  const isRough = tried.some(({ score }) => score?.isSettled === false);
  const rough = "* a rough figure: the trial ended before all batches made before its start had arrived";
  return [
    ...(probe.bindingFaults ?? []).map((text) => note(text, "warning")),
    ...checks(tuning),
    ...failures(tuning),
    ...withoutRate(tuning),
    ...skipped(tuning),
    ...(isRough ? [note(rough, "muted")] : []),
    ...storage(tuning),
    ...copies(tuning),
    ...(probe.workersOff === null || probe.checks.length > 0
      ? []
      : [note(`no workers were tried: ${probe.workersOff}`, "muted")]),
    ...persistence(tuning),
    ...(probe.pinningOff === null ? [] : [note(`pinning was not tried: ${probe.pinningOff}`, "muted")]),
    ...(probe.kind === "live" || probe.stepNs !== null ? [] : [note(withoutStep, "muted")]),
    ...probe.notes.filter((text) => text !== emulatedNote).map((text) => note(text, "muted")),
  ];
}

/** Why the script keeps its number of workers, the gain that this costs, and what to fix first. */
function checks({ probe, recommendation }: Tuning): Note[] {
  const { heldBack } = recommendation ?? {};
  const these = probe.checks.length === 1 ? "this" : "all of this";
  const gain =
    heldBack === undefined
      ? "no other number of workers is recommended"
      : `${describeSetting(heldBack.setting)} would be ${formatRatio(heldBack.ratio)} as fast, once ${these} is mended`;
  return probe.checks.map(({ message }, index) =>
    note(index === 0 ? `${gain}: ${message}` : message, "warning"),
  );
}

/** Whether only some of the settings have persistent workers. */
function tellsPersistence({ tried }: Pick<Tuning, "tried">): boolean {
  const withWorkers = tried.filter(({ setting }) => setting.numWorkers > 0);
  return new Set(withWorkers.map(({ setting }) => setting.persistentWorkers)).size > 1;
}

/** Notes on the gain from persistent workers, if it was not measured, and on their risk. */
function persistence({ recommendation, probe }: Tuning): Note[] {
  if (!recommendation?.setting.persistentWorkers || probe.startingPoint?.persistentWorkers) return [];
  const how = recommendation.epochs?.isMeasured
    ? ""
    : "The gain of persistent_workers=True was not measured. ";
  const risk = "Persistent workers keep their own copies of the data set: if it changes, leave it False.";
  return [note(`${how}${risk}`, "muted")];
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

/** Notes on settings whose trials ended before a rate was known ("-"). */
function withoutRate({ tried }: Tuning): Note[] {
  const none = tried.filter(
    ({ score, trials }) => score === null && trials.every(({ failure }) => failure === null),
  );
  if (none.length === 0) return [];
  const settings = listed(none.map(({ setting }) => describeSetting(setting)));
  return [note(`${settings}: too few batches arrived for a rate`, "warning")];
}

/** One note for each reason. */
function skipped({ skipped }: Tuning): Note[] {
  // More workers need more memory and files, so the first skipped setting shows the limit.
  const kinds = groupBy(skipped, ({ reason }) => reason.replaceAll(/\d[\d.]*( [KMGT]?i?B\b)?/g, "#"));
  return [...kinds.values()].map((members) => {
    const { setting, reason } = members[0]!;
    const more = members.length === 1 ? "" : `; and ${members.length - 1} more for the same reason`;
    return note(`skipped: ${describeSetting(setting)}: ${reason}${more}`, "warning");
  });
}

/** A note on a stream that every worker delivers completely: a training would see each sample several times. */
function copies({ tried }: Tuning): Note[] {
  const isRepeated = tried.some(({ trials }) => trials.some(({ sampleCopies }) => (sampleCopies ?? 1) > 1));
  const text =
    "the IterableDataset does not share its samples out between workers: one that several deliver counts once. Have __iter__ take its part by torch.utils.data.get_worker_info().";
  return isRepeated ? [note(text, "warning")] : [];
}

/** A note on whether rates include storage, and whether cold trials were cold. */
function storage({ tried, probe }: Tuning): Note[] {
  const rated = tried.filter(({ score }) => score !== null);
  const isRead = (trial: TrialRecord) => readsStorage(trial, probe);
  if (probe.isCold === true) {
    const warm = rated.filter(({ trials }) => !trials.every(isRead));
    if (warm.length === 0) return [];
    return [
      note(
        `--cold had no effect on ${warm.length} of ${counted(rated.length, "setting")}: the files were not read from storage, or the system does not count that.`,
        "warning",
      ),
    ];
  }
  // Leaves out settings with a trial from the page cache.
  const reading = rated.filter(({ trials }) => trials.every(isRead));
  if (reading.length === 0) return [];
  const whose =
    reading.length === rated.length
      ? "all figures"
      : `the figures of ${listed(reading.map(({ setting }) => describeSetting(setting)))} alone`;
  return [note(`Files came from storage: it is part of ${whose}.`, "warning")];
}
