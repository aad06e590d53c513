// Verdicts on tune's search in one training, one row per requirement.
import { describeSetting } from "../../dist/results/loader-setting.js";
import { fixed, ratioText, verdict } from "../lib/table.mjs";

const leastShareOfBest = 0.97;
const mostPredictionError = 0.05;
const mostSearchSeconds = 60;
const mostSlowerByGo = 0.02;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Rows of [training, what, value, against, verdict]. Ratios are judged within their standard error. */
export function verdictRows({ name, search, runs, errors, leftInSharedMemory }, isAlike) {
  const rows = errors.map((error) => [name, "failed", error, "", verdict(false)]);
  const row = (what, value, against, isReached) => {
    rows.push([name, what, value, against, isReached === null ? "" : verdict(isReached)]);
  };
  if (search === null) return rows;
  const { recommendation, run } = search.document;
  const seconds = run.searchNs / 1e9;
  row("search, s", fixed(seconds, 1), `<= ${mostSearchSeconds}`, seconds <= mostSearchSeconds);
  row("pick", describeSetting(recommendation.setting, true), "", null);
  row("exit code of tune --go", String(search.exitCode), "0", search.exitCode === 0);
  row("left in /dev/shm", leftInSharedMemory.length, "0", leftInSharedMemory.length === 0);
  const edited = runs.filter(({ how }) => how === "edited");
  if (edited.length === 0) return rows;
  const predicted = recommendation.score.batchesPerSecond;
  // The search's job too, as --go started it again: nothing is nearer in time to the prediction.
  const ofPick = [search, ...runs.filter(({ how }) => how !== "other")];
  const rates = ofPick.map(({ batchesPerSecond }) => batchesPerSecond);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  const beyond = Math.max(least / predicted, predicted / most);
  const [predictedText, ...ends] = [predicted, least, most].map((value) => fixed(value, 1));
  row(
    "predicted / runs of the pick",
    `${ratioText(predicted / mean(rates))} (${predictedText} / ${ends.join(" to ")} batches/s)`,
    `${mostPredictionError * 100} % beyond the runs`,
    beyond <= 1 + mostPredictionError,
  );
  const ratiosTo = (others, over) =>
    others.map((other) => {
      const { batchesPerSecond } = edited.find(({ turn }) => turn === other.turn) ?? edited[0];
      return over(batchesPerSecond, other.batchesPerSecond);
    });
  const compare = (what, ratios, least) =>
    row(what, meanText(ratios), `>= ${least}`, mean(ratios) + errorOf(ratios) >= least);
  const gone = runs.filter(({ how, turn }) => how === "go" && edited.some((run) => run.turn === turn));
  if (gone.length > 0) {
    const ratios = ratiosTo(gone, (byHand, other) => other / byHand);
    compare("--go / edited by hand", ratios, 1 - mostSlowerByGo);
  }
  const others = runs.filter(({ how }) => how === "other");
  const settings = others.filter(
    ({ setting }, index) => others.findIndex((one) => isAlike(one.setting, setting)) === index,
  );
  for (const { setting } of settings) {
    const beside = others.filter((run) => isAlike(run.setting, setting));
    const ratios = ratiosTo(beside, (byHand, other) => byHand / other);
    compare(`pick / ${describeSetting(setting, true)}`, ratios, leastShareOfBest);
  }
  return rows;
}

function errorOf(values) {
  if (values.length === 1) return 0;
  const centre = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
  return Math.sqrt(variance / values.length);
}

function meanText(values) {
  const error = values.length === 1 ? ", once" : ` +- ${fixed(errorOf(values), 3)} of ${values.length}`;
  return `${ratioText(mean(values))}${error}`;
}
