// Simulations on all processors: each is a task of its own with random numbers of its own, so that a figure does not depend
// on which others are made, nor on how many processors there are.
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { seededRandom } from "../lib/random.mjs";
import * as rates from "./rates.mjs";
import { scenarioRate } from "./scenarios.mjs";
import * as uneven from "./uneven-rates.mjs";

/** What can be simulated, by name; each takes how many comparisons, random numbers, and what it is to be about. */
const simulations = { ...rates, ...uneven, scenarioRate };

/** So many comparisons at a time: no processor waits long for the last one. All figures are shares or means of these. */
const atATime = 100;

/** Simulates a number of comparisons in each of `tasks` (`name`, `part`), with seeds that follow `seed`; their figures in order. */
export async function simulateAll(tasks, comparisons, seed) {
  const pieces = [];
  for (let begun = 0; begun < comparisons; begun += atATime) {
    for (const task of tasks.keys()) pieces.push({ task, count: Math.min(atATime, comparisons - begun) });
  }
  const figures = tasks.map(() => null);
  const left = [...pieces.entries()];
  const work = async () => {
    const worker = new Worker(new URL(import.meta.url));
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [i, { task, count }] = next;
      worker.postMessage({ ...tasks[task], count, seed: seed + i });
      const [ofPiece] = await once(worker, "message");
      figures[task] = sum(figures[task], ofPiece, count / comparisons);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return figures;
}

/** What is known with another piece, a figure or figures by name, which are `share` of all; 1 % is not to be above 1 %. */
function sum(known, piece, share) {
  if (typeof piece === "number") return Number(((known ?? 0) + piece * share).toPrecision(12));
  const names = new Set([...Object.keys(known ?? {}), ...Object.keys(piece)]);
  return Object.fromEntries(
    [...names].map((name) => [name, sum(known?.[name] ?? null, piece[name] ?? 0, share)]),
  );
}

if (!isMainThread) {
  parentPort.on("message", ({ name, part, count, seed }) =>
    parentPort.postMessage(simulations[name](count, seededRandom(seed), part)),
  );
}
