// The search that articles propose (article_search.py), on the same data.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Its pick, its evaluations and their time, without Python's start and making the data set. */
export async function articleSearch({ python, torch, batchSize }) {
  const program = `${import.meta.dirname}/article_search.py`;
  const args = [program, "--target", torch, "--batch-size", batchSize];
  const { stdout } = await promisify(execFile)(python, args.map(String), { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout);
}

/** Its pick as a setting; the rest are DataLoader's defaults. */
export function articleSetting({ num_workers: numWorkers, pin_memory: pinMemory }) {
  return {
    numWorkers,
    pinMemory,
    prefetchFactor: numWorkers === 0 ? null : 2,
    persistentWorkers: numWorkers > 0,
    nonBlocking: pinMemory,
  };
}
