// One training: the search within it, the grid of whole untouched runs, and the pick untouched in between.
import { runTuned, runUntouched } from "./job.mjs";
import { gridRates } from "./verdicts.mjs";

/** Assumed time of a run beyond its measured seconds, before the first run. */
const guessedOverheadSeconds = 10;

/**
 * Calls `keep` with all measurements whenever there are more, so that a later failure loses
 * nothing. Starts a run only if `deadlineSeconds` leave time for one as long as the longest so far.
 */
export async function measureFramework(framework, options, log, keep) {
  const { seconds, deadlineSeconds, pairs, tuneFlags, pairFlags, start } = options;
  const startedMs = performance.now();
  const result = { name: framework.name, untouched: [], tuned: [], errors: [], leftOut: [] };
  const left = () => deadlineSeconds - (performance.now() - startedMs) / 1000;
  let longest = seconds + guessedOverheadSeconds;

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
  const untouched = async (setting) => {
    await attempt("an untouched run", async () => {
      const run = await runUntouched(framework, setting, seconds, log);
      longest = Math.max(result.untouched.length === 0 ? 0 : longest, run.tookSeconds);
      result.untouched.push(run);
    });
  };
  const tuned = (setting, flags) =>
    attempt("a run under tune", async () => {
      const run = await runTuned(
        framework,
        setting,
        { seconds, tuneFlags: flags, limitSeconds: left() },
        log,
      );
      result.tuned.push(run);
      return run;
    });

  result.expected = await attempt("making the data", async () => framework.prepare());
  if (result.expected === null) return result;

  // The first run reads files from storage once, above all cuDNN's kernels; that is not part of the search.
  if (options.isSearched) await attempt("a first run", () => runUntouched(framework, start, 1, log));
  const search = options.isSearched ? await tuned(start, tuneFlags) : null;
  const pick = search?.setting ?? null;
  // If the grid lacks the pick, its last setting is left out, so that the number of settings stays the same.
  const others = options.isGridRun
    ? framework.settings
        .filter((setting) => pick === null || !framework.isAlike(setting, pick))
        .slice(0, framework.settings.length - (pick === null ? 0 : 1))
    : [];
  for (const { setting, isNeeded, following } of planRuns(pick, others)) {
    const needed = isNeeded ? 1 : 1 + following;
    if (left() >= longest * needed) await untouched(setting);
    else if (isNeeded) result.leftOut.push(setting);
  }
  while (pick !== null && options.isGridRun && left() >= longest) {
    const again = nextInDoubt(gridRates(result, framework.isAlike), pick, framework.isAlike);
    if (again === null) break;
    await untouched(again);
  }
  // Short searches that begin with the pick; the training after each is compared with an untouched run right after it.
  for (let pair = 1; pair < pairs && pick !== null; pair++) {
    if (left() < 2 * longest + guessedOverheadSeconds) {
      result.errors.push(`no time was left for pair ${pair + 1} of ${pairs}`);
      break;
    }
    const run = await tuned(pick, pairFlags);
    if (run !== null) await untouched(run.setting);
  }
  keep(result);
  return result;
}

/** Number of runs of the pick, and of the fastest other setting, before the two are compared. */
const runsOfContender = 3;

/**
 * The fastest of many single runs is partly lucky. It and the pick are run again, the one with fewer runs first, until
 * the fastest stays the fastest. Null if that is settled. `grid`: fastest first.
 */
export function nextInDoubt(grid, pick, isAlike) {
  const atPick = grid.find(({ setting }) => isAlike(setting, pick));
  const pair = [grid[0], atPick].filter((one) => one !== undefined);
  const [fewest] = pair.sort((one, other) => one.rates.length - other.rates.length);
  return fewest === undefined || fewest.rates.length >= runsOfContender ? null : fewest.setting;
}

/**
 * The pick first, and again in the middle and at the end if there is time, to show how much runs of
 * one setting differ. `following`: runs that are still needed.
 */
export function planRuns(pick, others) {
  const half = Math.ceil(others.length / 2);
  const again = pick === null ? [] : [{ setting: pick, isNeeded: false }];
  const needed = others.map((setting) => ({ setting, isNeeded: true }));
  const runs = [
    ...again.map((run) => ({ ...run, isNeeded: true })),
    ...needed.slice(0, half),
    ...(others.length > 0 ? again : []),
    ...needed.slice(half),
    ...again,
  ];
  return runs.map((run, index) => ({
    ...run,
    following: runs.slice(index + 1).filter(({ isNeeded }) => isNeeded).length,
  }));
}
