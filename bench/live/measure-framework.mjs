// One training: searches in it, the grid of whole untouched runs, and the pick against the fastest other setting in turns.
import { runTuned, runUntouched } from "./job.mjs";
import { gridRates } from "./verdicts.mjs";

/** Assumed time of a run beyond its measured seconds, before the first run. */
const guessedOverheadSeconds = 10;

/**
 * Each setting once, then rounds until the time is up: a search, an untouched run of what it picked, and one of the fastest
 * setting beside it. A machine's rates move by more than settings differ, so only runs of one round are compared. Every run
 * has the `round` it was made in, 0 for the grid. Calls `keep` with all measurements whenever there are more, so that a
 * later failure loses nothing. Starts a run only if `deadlineSeconds` leave time for one as long as the longest so far.
 */
export async function measureFramework(framework, options, log, keep) {
  const { seconds, deadlineSeconds, tuneFlags, start } = options;
  const startedMs = performance.now();
  const result = { name: framework.name, untouched: [], tuned: [], errors: [], leftOut: [] };
  const left = () => deadlineSeconds - (performance.now() - startedMs) / 1000;
  const longest = { untouched: seconds + guessedOverheadSeconds, tuned: 0 };

  const attempt = async (what, work) => {
    try {
      return await work();
    } catch (error) {
      result.errors.push(`${what}: ${error.message}`);
      log(`${error.stack}\n`);
      return null;
    } finally {
      keep(result);
    }
  };
  const untouched = (setting, round) =>
    attempt("an untouched run", async () => {
      const run = await runUntouched(framework, setting, seconds, log);
      longest.untouched = Math.max(result.untouched.length === 0 ? 0 : longest.untouched, run.tookSeconds);
      result.untouched.push({ ...run, round });
    });
  const tuned = (round) =>
    attempt("a run under tune", async () => {
      const run = await runTuned(framework, start, { seconds, tuneFlags, limitSeconds: left() }, log);
      longest.tuned = Math.max(longest.tuned, run.tookSeconds);
      result.tuned.push({ ...run, round });
      return run;
    });

  result.expected = await attempt("making the data", async () => framework.prepare());
  if (result.expected === null) return result;

  // The first run reads files from storage once, above all cuDNN's kernels; that is not part of the search.
  if (options.isSearched) await attempt("a first run", () => runUntouched(framework, start, 1, log));
  if (options.isGridRun) {
    for (const setting of framework.settings) {
      if (left() >= longest.untouched) await untouched(setting, 0);
      else result.leftOut.push(setting);
    }
  }
  const secondsOfRound = () => longest.tuned + (options.isGridRun ? 2 : 1) * longest.untouched;
  for (let round = 1; options.isSearched && left() >= secondsOfRound(); round++) {
    const search = await tuned(round);
    if (search === null) break;
    await untouched(search.setting, round);
    const rival = nextRival(gridRates(result, framework.isAlike), search.setting, framework.isAlike);
    if (rival !== null && left() >= longest.untouched) await untouched(rival, round);
  }
  return result;
}

/** Settings that the pick is compared with in turns: which one is the fastest is partly luck where each ran once. */
const rivals = 2;

/** Of the fastest settings beside the pick, the one with the fewest runs; null without any. `grid`: fastest first. */
export function nextRival(grid, pick, isAlike) {
  const others = grid.filter(({ setting }) => !isAlike(setting, pick)).slice(0, rivals);
  const [fewest] = others.sort((one, other) => one.rates.length - other.rates.length);
  return fewest?.setting ?? null;
}
