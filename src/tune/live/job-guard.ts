import { rmSync } from "node:fs";
import { untilKilled } from "../../host/processes.js";
import { JobProcesses } from "./job-processes.js";

/*
 * The program of a process that outlives pinbench so that the job does not: `node job-guard.js SOCKET FOLDER`. If
 * pinbench is killed, it ends the job as pinbench would have, and removes the folder.
 */

const [socket = "", folder = ""] = process.argv.slice(2);
// Only shared memory created from now on counts as the job's.
const processes = new JobProcesses(socket);
const groups = await untilKilled();
if (groups !== null) {
  await processes.end(groups[0] ?? null);
  rmSync(folder, { recursive: true, force: true });
}
