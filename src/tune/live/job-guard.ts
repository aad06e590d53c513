import { rmSync } from "node:fs";
import { Family } from "../../host/child.js";
import { untilKilled } from "../../host/processes.js";

/*
 * The program of a process that outlives pinbench so that the job does not: `node job-guard.js VARIABLE VALUE FOLDER`. If
 * pinbench is killed, it ends the job as pinbench would have, and removes the folder.
 */

const [variable = "", value = "", folder = ""] = process.argv.slice(2);
// Only shared memory created from now on counts as the job's.
const family = new Family([variable, value]);
const pids = await untilKilled();
if (pids !== null) {
  const [command = null, ...trainings] = pids;
  family.root = command;
  for (const pid of trainings) family.interruptFirst(pid);
  await family.end();
  rmSync(folder, { recursive: true, force: true });
}
