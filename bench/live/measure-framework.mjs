// One training: searches in it, the grid of whole untouched runs, and the pick against the fastest other setting.
import { runTuned, runUntouched, sharedMemoryFiles } from "./job.mjs";
import { gridRates } from "./verdicts.mjs";

/** Assumed time of a run beyond its measured seconds, before the first run. */
const guessedOverheadSeconds = 10;

/**
 * Each setting once, then rounds until the time is up: a search in each of the `places`, and for each search, untouched runs
 * of its pick and of the fastest setting beside it. A machine's rates move by more than settings differ, so only runs of
 * one `turn` are compared. With several places these run at the same time, and change places in the next turn. Calls `keep`
 * with all measurements whenever there are more, so that a later failure loses nothing. Starts runs only if `deadlineSeconds`
 * leave time for some as long as the longest of the last four: the first ones in each place read files from storage.
 */
export async function measureFramework(framework, options, log, keep) {
  const { seconds, deadlineSeconds, tuneFlags, start, places } = options;
  const startedMs = performance.now();
  const result = {
    name: framework.name,
    untouched: [],
    tuned: [],
    errors: [],
    leftOut: [],
    leftInSharedMemory: [],
  };
  const left = () => deadlineSeconds - (performance.now() - startedMs) / 1000;
  const longest = { untouched: seconds + guessedOverheadSeconds, tuned: 0 };
  const lastRuns = 4;

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
  const untouched = (setting, place, turn) =>
    attempt("an untouched run", async () => {
      const run = await runUntouched(framework, setting, seconds, place, log);
      result.untouched.push({ ...run, place: places.indexOf(place), ...turn });
      longest.untouched = Math.max(
        ...result.untouched.slice(-lastRuns).map(({ tookSeconds }) => tookSeconds),
      );
    });
  const tuned = (place) =>
    attempt("a run under tune", async () => {
      const limits = { seconds, tuneFlags, limitSeconds: left() };
      const run = await runTuned(framework, start, limits, place, log);
      longest.tuned = Math.max(longest.tuned, run.tookSeconds);
      result.tuned.push({ ...run, place: places.indexOf(place), search: result.tuned.length });
      return result.tuned.at(-1);
    });
  const inTurns = places.length === 1 ? 1 : 2;

  result.expected = await attempt("making the data", async () => framework.prepare());
  if (result.expected === null) return result;

  // The first run reads files from storage once, above all cuDNN's kernels; that is not part of the search.
  if (options.isSearched)
    await attempt("a first run", () => runUntouched(framework, start, 1, places[0], log));
  if (options.isGridRun) {
    const waiting = [...framework.settings];
    while (waiting.length > 0 && left() >= longest.untouched) {
      const now = waiting.splice(0, places.length);
      await Promise.all(
        now.map((setting, index) => untouched(setting, places[index], { search: null, turn: null })),
      );
    }
    result.leftOut.push(...waiting);
  }
  const secondsOfPair = () => longest.untouched * (places.length === 1 ? 2 : 1);
  const secondsOfRound = () =>
    longest.tuned + (options.isGridRun ? places.length * inTurns : 0.5) * secondsOfPair();
  while (options.isSearched && left() >= secondsOfRound()) {
    const before = sharedMemoryFiles();
    const searches = await Promise.all(places.map((place) => tuned(place)));
    result.leftInSharedMemory.push(...sharedMemoryFiles().filter((file) => !before.includes(file)));
    if (searches.includes(null)) break;
    for (const { setting, search } of searches) {
      for (let turn = 0; turn < inTurns && left() >= secondsOfPair(); turn++) {
        const rival = nextRival(gridRates(result, framework.isAlike), setting, framework.isAlike);
        const runs = rival === null ? [setting] : [setting, rival];
        await atPlaces(runs, places, turn, (one, place) => untouched(one, place, { search, turn }));
      }
    }
  }
  return result;
}

/** Runs `work` for each setting: at the same time in one place each, moved on by `turn`, or one after the other in the only one. */
async function atPlaces(settings, places, turn, work) {
  if (places.length > 1) {
    await Promise.all(
      settings.map((setting, index) => work(setting, places[(index + turn) % places.length])),
    );
    return;
  }
  for (const setting of settings) await work(setting, places[0]);
}

/** Settings that the pick is compared with in turns: which one is the fastest is partly luck where each ran once. */
const rivals = 2;

/** Of the fastest settings beside the pick, the one with the fewest runs; null without any. `grid`: fastest first. */
export function nextRival(grid, pick, isAlike) {
  const others = grid.filter(({ setting }) => !isAlike(setting, pick)).slice(0, rivals);
  const [fewest] = others.sort((one, other) => one.rates.length - other.rates.length);
  return fewest?.setting ?? null;
}
