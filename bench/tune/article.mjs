// The search that the articles propose (article_search.py), on the same data.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What it picks, its evaluations and how long they took, without starting Python and making the data set. */
export async function articleSearch({ python, torch, batchSize, kwargs }) {
  const program = `${import.meta.dirname}/article_search.py`;
  const args = [program, "--target", torch, "--batch-size", batchSize, "--kwargs", JSON.stringify(kwargs)];
  const { stdout } = await promisify(execFile)(python, args.map(String), { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout);
}

/** Its pick as a setting: DataLoader's defaults for what the article does not say. */
export function articleSetting({ num_workers: numWorkers, pin_memory: pinMemory }) {
  return {
    numWorkers,
    pinMemory,
    prefetchFactor: numWorkers === 0 ? null : 2,
    persistentWorkers: numWorkers > 0,
    nonBlocking: pinMemory,
  };
}
