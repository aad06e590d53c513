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
  const { name, untouched, tuned, expected, errors, leftOut } = result;
  const rows = [];
  const row = (what, value, against, isReached) => {
    rows.push([name, what, value, against, isReached === null ? "" : verdict(isReached)]);
  };
  const grid = gridRates(result, isAlike);
  const [search] = tuned;
  if (search !== undefined) {
    const atPick = grid.find(({ setting }) => isAlike(setting, search.setting));
    if (atPick !== undefined) compareWithGrid(row, search, atPick, grid[0]);
    const { searchSeconds } = search;
    if (searchSeconds !== null) {
      row(
        "search, s",
        fixed(searchSeconds, 1),
        `<= ${mostSearchSeconds}`,
        searchSeconds <= mostSearchSeconds,
      );
    }
    compareAfterwards(row, tuned, untouched, isAlike);
    compareEpoch(row, search.firstEpoch, expected);
    compareLosses(row, search.losses, untouched);
    row("its exit code", search.exitCode, "0", search.exitCode === 0);
    row("left in /dev/shm", search.leftInSharedMemory.length, "0", search.leftInSharedMemory.length === 0);
  }
  if (leftOut.length > 0) row("no time for", leftOut.map(describeSetting).join("; "), "", null);
  for (const error of errors) row("failed", error, "", false);
  return rows;
}

function compareWithGrid(row, { setting, predicted }, atPick, best) {
  const share = atPick.rate / best.rate;
  row(
    `pick: ${describeSetting(setting, true)}`,
    `${ratioText(share)} of the best`,
    `${fixed(best.rate, 1)}/s, ${describeSetting(best.setting, true)}`,
    share >= leastShareOfBest,
  );
  const [least, most] = [Math.min(...atPick.rates), Math.max(...atPick.rates)];
  const rate = predicted.batchesPerSecond;
  const isClose = Math.abs(rate / atPick.rate - 1) <= mostPredictionError;
  row(
    "predicted, batches/s",
    `${fixed(rate, 2)} (${ratioText(rate / atPick.rate)})`,
    `${fixed(atPick.rate, 2)} [${fixed(least, 2)}, ${fixed(most, 2)}] of ${atPick.rates.length}`,
    isClose || (rate >= least && rate <= most),
  );
}

/** The training after the search, against untouched runs of the same setting. */
function compareAfterwards(row, tuned, untouched, isAlike) {
  const ratios = tuned.flatMap(({ setting, batchesPerSecond }) => {
    const alike = untouched.filter((run) => isAlike(run.setting, setting) && run.batchesPerSecond !== null);
    if (batchesPerSecond === null || alike.length === 0) return [];
    return [batchesPerSecond / mean(alike.map((run) => run.batchesPerSecond))];
  });
  if (ratios.length === 0) return;
  row(
    "after it / untouched",
    ratioText(mean(ratios)),
    ratios.length === 1
      ? "one run"
      : `[${ratioText(Math.min(...ratios))}, ${ratioText(Math.max(...ratios))}]`,
    mean(ratios) >= 1 - mostSlowerAfterwards,
  );
  // Shown without a verdict: it distinguishes a loop that does more from a slower CPU.
  const cpuOf = (runs) => runs.map(({ cpuMsPerBatch }) => fixed(cpuMsPerBatch, 1)).join(" ");
  row("loop's CPU, ms a batch", cpuOf(tuned), `${cpuOf(untouched)} untouched`, null);
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
