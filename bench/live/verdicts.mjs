// Verdicts on the search in one training: a row for each requirement.
import { describeSetting } from "../../dist/results/loader-setting.js";
import { fixed, ratioText, verdict } from "../lib/table.mjs";

const leastShareOfBest = 0.97;
const mostPredictionError = 0.05;
const mostSearchSeconds = 60;
const mostSlowerAfterwards = 0.005;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean rate of each setting that ran untouched, fastest first. */
export function gridRates({ untouched }, isAlike) {
  const rows = [];
  for (const { setting, batchesPerSecond } of untouched) {
    if (batchesPerSecond === null) continue;
    const row = rows.find((one) => isAlike(one.setting, setting));
    if (row === undefined) rows.push({ setting, rates: [batchesPerSecond] });
    else row.rates.push(batchesPerSecond);
  }
  return rows.map((row) => ({ ...row, rate: mean(row.rates) })).sort((one, other) => other.rate - one.rate);
}

/** Rows of [training, what, value, against, verdict]. */
export function verdictRows(result, isAlike) {
  const { name, untouched, tuned, expected, errors, leftOut, leftInSharedMemory } = result;
  const rows = [];
  const row = (what, value, against, isReached) => {
    rows.push([name, what, value, against, isReached === null ? "" : verdict(isReached)]);
  };
  if (tuned.length > 0) {
    const turns = tuned.flatMap((search) => turnsOf(search, untouched, isAlike));
    row("picks", tuned.map(({ setting }) => describeSetting(setting, true)).join("; "), "", null);
    comparePicks(row, turns, isAlike);
    comparePredictions(row, tuned, turns);
    const took = tuned.flatMap(({ searchSeconds }) => searchSeconds ?? []);
    row(
      "search, s",
      took.map((value) => fixed(value, 1)).join(" "),
      `<= ${mostSearchSeconds}`,
      Math.max(...took) <= mostSearchSeconds,
    );
    compareAfterwards(row, turns);
    for (const search of tuned) compareEpoch(row, search.firstEpoch, expected);
    compareLosses(row, tuned[0].losses, untouched);
    const codes = tuned.map(({ exitCode }) => exitCode);
    row(
      "exit codes",
      codes.join(" "),
      "0",
      codes.every((code) => code === 0),
    );
    row("left in /dev/shm", leftInSharedMemory.length, "0", leftInSharedMemory.length === 0);
  }
  if (leftOut.length > 0)
    row("no time for", leftOut.map((one) => describeSetting(one, true)).join("; "), "", null);
  for (const error of errors) row("failed", error, "", false);
  return rows;
}

/** The turns after a search: an untouched run of what it picked, and one of its rival, if there is one. */
function turnsOf(search, untouched, isAlike) {
  const runs = untouched.filter((run) => run.search === search.search && run.batchesPerSecond !== null);
  const isPick = (run) => isAlike(run.setting, search.setting);
  return runs.filter(isPick).map((atPick) => ({
    search,
    atPick,
    rival: runs.find((run) => run.turn === atPick.turn && !isPick(run)) ?? null,
  }));
}

/**
 * The picks against all settings that ran in turns with them, and against each. Runs of one setting differ by 8 %, as
 * the loop's thread gets a CPU that is faster or slower. It does the same work for a batch if both were pinned or neither,
 * so its CPU time for a batch then says by how much, and the verdict is on the rates at the same CPU speed.
 */
function comparePicks(row, turns, isAlike) {
  const compared = turns.filter(({ rival }) => rival !== null);
  if (compared.length === 0) return;
  const ratiosOf = (some, rate) => some.map(({ atPick, rival }) => rate(atPick) / rate(rival));
  const asMeasured = ({ batchesPerSecond }) => batchesPerSecond;
  const perCpuTime = ({ batchesPerSecond, cpuMsPerBatch }) => batchesPerSecond * cpuMsPerBatch;
  const sameWork = compared.filter(
    ({ atPick, rival }) => atPick.setting.pinMemory === rival.setting.pinMemory,
  );
  const isEven = sameWork.length === compared.length;
  const verdictOn = (what, ratios, isJudged) => {
    const isReached = isJudged ? mean(ratios) >= leastShareOfBest : null;
    row(what, meanText(ratios), isJudged ? `>= ${leastShareOfBest}` : "", isReached);
  };
  verdictOn("pick / the fastest beside it", ratiosOf(compared, asMeasured), !isEven);
  if (sameWork.length > 0) verdictOn("the same at one CPU speed", ratiosOf(sameWork, perCpuTime), isEven);
  const settings = [];
  for (const { rival } of compared) {
    if (!settings.some((one) => isAlike(one, rival.setting))) settings.push(rival.setting);
  }
  for (const setting of settings) {
    const beside = compared.filter(({ rival }) => isAlike(rival.setting, setting));
    row(`pick / ${describeSetting(setting, true)}`, meanText(ratiosOf(beside, asMeasured)), "", null);
  }
}

/** What each search predicts against the untouched runs of its pick right after it. */
function comparePredictions(row, tuned, turns) {
  const pairs = tuned.flatMap((search) => {
    const rates = turns.filter((turn) => turn.search === search).map(({ atPick }) => atPick.batchesPerSecond);
    return rates.length === 0 ? [] : [{ predicted: search.predicted.batchesPerSecond, rate: mean(rates) }];
  });
  if (pairs.length === 0) return;
  const ratios = pairs.map(({ predicted, rate }) => predicted / rate);
  const texts = (key) => pairs.map((pair) => fixed(pair[key], 1)).join(" ");
  row("predicted, batches/s", texts("predicted"), `${texts("rate")} untouched`, null);
  const isReached = Math.abs(mean(ratios) - 1) <= mostPredictionError;
  row("predicted / untouched", meanText(ratios), `1 +- ${mostPredictionError}`, isReached);
}

/** The training after the search, against an untouched run of the same setting right after it. */
function compareAfterwards(row, turns) {
  const both = turns.filter(({ search }) => search.batchesPerSecond !== null);
  if (both.length === 0) return;
  const ratios = both.map(({ search, atPick }) => search.batchesPerSecond / atPick.batchesPerSecond);
  row(
    "after it / untouched",
    meanText(ratios),
    `>= ${1 - mostSlowerAfterwards}`,
    mean(ratios) >= 1 - mostSlowerAfterwards,
  );
  // Shown without a verdict: it distinguishes a loop that does more from a slower CPU.
  const cpuOf = (runs) => runs.map(({ cpuMsPerBatch }) => fixed(cpuMsPerBatch, 1)).join(" ");
  row(
    "loop's CPU, ms a batch",
    cpuOf(both.map(({ search }) => search)),
    `${cpuOf(both.map(({ atPick }) => atPick))} untouched`,
    null,
  );
}

/** Mean and its standard error, of values in turns. */
function meanText(values) {
  const centre = mean(values);
  if (values.length === 1) return `${ratioText(centre)}, once`;
  const variance = values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
  return `${ratioText(centre)} +- ${fixed(Math.sqrt(variance / values.length), 3)} of ${values.length}`;
}

function compareEpoch(row, firstEpoch, expected) {
  if (firstEpoch === null) {
    row("first epoch, samples", "not finished", String(expected.samples), null);
    return;
  }
  const isSame = Object.entries(expected).every(([key, value]) => firstEpoch[key] === value);
  row("first epoch, samples", firstEpoch.samples, String(expected.samples), isSame);
}

/** Shown without a verdict: augmentations differ between runs, and a few untouched runs do not show how much. */
function compareLosses(row, losses, untouched) {
  const compared = Object.entries(losses).flatMap(([batches, loss]) => {
    const others = untouched.flatMap((run) => run.losses[batches] ?? []);
    return others.length === 0 ? [] : [{ batches, loss, usual: mean(others) }];
  });
  if (compared.length === 0) return;
  const text = (key) => compared.map((one) => fixed(one[key], 2)).join(" ");
  row(`losses at ${compared.map(({ batches }) => batches).join(" ")}`, text("loss"), text("usual"), null);
}
