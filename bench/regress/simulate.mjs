// Simulations on all processors: each is a task with its own random numbers, so that a figure does not depend
// on the other simulations or the number of processors.
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { seededRandom } from "../lib/random.mjs";
import * as rates from "./rates.mjs";
import { scenarioRate } from "./scenarios.mjs";
import * as uneven from "./uneven-rates.mjs";

/** The simulations by name; each takes a number of comparisons, random numbers, and its own parameters. */
const simulations = { ...rates, ...uneven, scenarioRate };

/** Comparisons of one task: no processor waits long for the last task. All figures are shares or means over tasks. */
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

/** Adds a task's figure or figures by name, which count for `share` of all; rounded, so that 1 % is not above 1 %. */
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
