// Simulates cases on all processors. Each case has its own seed, independent of other cases and of the number of
// processors. Both rules judge the same cases.
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { seededRandom } from "../lib/random.mjs";
import { scenarios } from "./scenarios.mjs";
import { gpus, loadRule, sweeps } from "./simulate.mjs";
import { worlds } from "./worlds.mjs";

/** Cases per message: few, so that no processor waits long for the last one. */
const atATime = 20;

/** More than any task has cases, so that no two tasks share a seed. */
const seedsOfTask = 1e6;

/**
 * Counts the figures of each task: by name, [how often it happened, number of cases]. `rule` is a folder, `scenario` an
 * index, `size` that of the sweep. Tasks with equal `seeds` get the same cases.
 */
export async function countCases(tasks, seed) {
  const pieces = tasks.flatMap((task, index) =>
    Array.from({ length: Math.ceil(task.cases / atATime) }, (_, i) => {
      const first = i * atATime;
      return { ...task, index, first, count: Math.min(atATime, task.cases - first) };
    }),
  );
  const counts = tasks.map(() => ({}));
  const work = async () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { seed } });
    for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) {
      worker.postMessage(next);
      const [ofPiece] = await once(worker, "message");
      add(counts[next.index], ofPiece);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return counts;
}

function add(counts, more) {
  for (const [name, [times, of]] of Object.entries(more)) {
    const known = counts[name] ?? [0, 0];
    counts[name] = [known[0] + times, known[1] + of];
  }
}

function countPiece(rule, { scenario, world, sessions, size, seeds, first, count }) {
  const counts = {};
  for (let i = first; i < first + count; ++i) {
    const random = seededRandom(workerData.seed + seedsOfTask * seeds + i);
    const machine = {
      world: worlds[world],
      cells: sweeps[size],
      sessions,
      gpu: gpus[i % gpus.length],
      random,
    };
    add(counts, scenarios[scenario].simulate(rule, machine));
  }
  return counts;
}

if (!isMainThread) {
  const rules = new Map();
  parentPort.on("message", async (piece) => {
    if (!rules.has(piece.rule)) rules.set(piece.rule, await loadRule(piece.rule));
    parentPort.postMessage(countPiece(rules.get(piece.rule), piece));
  });
}
