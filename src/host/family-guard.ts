import { Family } from "./child.js";
import { notedProcesses, removeScratch, untilKilled } from "./processes.js";

/*
 * A process that outlives pinbench, to end a job's processes: `node family-guard.js VARIABLE VALUE FOLDER end|kill`. If
 * pinbench is killed, it ends the marked processes like pinbench would, and removes the folder.
 */

const [variable = "", value = "", folder = "", how] = process.argv.slice(2);
// Only shared memory created from now on counts as the job's.
const family = new Family([variable, value]);
const pids = await untilKilled();
if (pids !== null) {
  const [command = null, ...trainings] = pids;
  family.root = command;
  for (const pid of trainings) family.interruptFirst(pid);
  await (how === "kill" ? family.kill([...pids, ...notedProcesses(folder)]) : family.end());
  removeScratch(folder);
}
