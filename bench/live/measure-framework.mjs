// One training: a search, then in turns its choice started by --go, the same choice edited by hand, and other settings.
import { runEdited, runGone, runTuned, sharedMemoryFiles } from "./job.mjs";

/** Number of the fastest other settings that run again; a single run is partly luck. */
const rivals = 2;

/**
 * Searches with `--go`, then takes turns until the time is up: the script as --go starts it, the same setting edited by
 * hand, and one more of the grid, in an order that reverses each turn. Only runs of one turn are compared, because the
 * machine drifts more than settings differ. Calls `keep` after each measurement, so that a later failure loses nothing.
 * Starts no turn if one as long as the longest so far would pass `deadlineSeconds`.
 */
export async function measureFramework(framework, { seconds, deadlineSeconds, tuneFlags }, log, keep) {
  const startedMs = performance.now();
  const left = () => deadlineSeconds - (performance.now() - startedMs) / 1000;
  const result = { name: framework.name, search: null, runs: [], errors: [], leftInSharedMemory: [] };
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

  await attempt("making the data", async () => framework.prepare());
  const before = sharedMemoryFiles();
  result.search = await attempt("tune --go", () =>
    runTuned(framework, { seconds, tuneFlags, limitSeconds: left() }, log),
  );
  result.leftInSharedMemory = sharedMemoryFiles().filter((file) => !before.includes(file));
  if (result.search === null) return result;
  const { document } = result.search;
  const pick = document.recommendation.setting;
  let longest = 0;
  for (let turn = 0; left() > longest; turn++) {
    const beganMs = performance.now();
    const other = nextOther(framework, result.runs, pick);
    const runs = [
      ["go", pick, () => runGone(framework, result.search, seconds, log)],
      ["edited", pick, () => runEdited(framework, pick, seconds, log)],
      ...(other === null ? [] : [["other", other, () => runEdited(framework, other, seconds, log)]]),
    ];
    for (const [how, setting, work] of turn % 2 === 0 ? runs : runs.reverse()) {
      const run = await attempt(how, work);
      if (run === null) return result;
      result.runs.push({ turn, how, setting, ...run });
      keep(result);
    }
    longest = Math.max(longest, (performance.now() - beganMs) / 1000);
  }
  return result;
}

/** The next setting of the grid, nearest to the pick first; after all have run, the least-run one of the fastest. */
function nextOther({ settings, isAlike }, runs, pick) {
  const distance = ({ numWorkers }) => Math.abs(Math.log((numWorkers + 1) / (pick.numWorkers + 1)));
  const others = settings
    .filter((one) => !isAlike(one, pick))
    .map((setting) => ({ setting, runs: runs.filter((run) => isAlike(run.setting, setting)) }));
  const waiting = others.filter((one) => one.runs.length === 0);
  if (waiting.length > 0)
    return waiting.sort((one, two) => distance(one.setting) - distance(two.setting))[0].setting;
  const rateOf = (one) => Math.max(...one.runs.map(({ batchesPerSecond }) => batchesPerSecond));
  const fastest = others.sort((one, two) => rateOf(two) - rateOf(one)).slice(0, rivals);
  return fastest.sort((one, two) => one.runs.length - two.runs.length)[0]?.setting ?? null;
}
