import { rmSync } from "node:fs";
import { JobProcesses } from "./job-processes.js";

/**
 * The program of a process that outlives pinbench, so that the job does not: `node job-guard.js SOCKET FOLDER`. Over
 * stdin it is told the job's process group, a number, and "done" where there is nothing left to do. The end of stdin
 * without that word says that pinbench was killed: then it ends the job as pinbench would have, and removes the folder.
 */
async function guard(socket: string, folder: string): Promise<void> {
  const processes = new JobProcesses(socket);
  let said = "";
  try {
    for await (const text of process.stdin.setEncoding("utf8")) said += text;
  } catch {
    // An end of another kind.
  }
  if (said.includes("done")) return;
  const group = /^\d+/.exec(said)?.[0];
  await processes.end(group === undefined ? null : Number(group));
  rmSync(folder, { recursive: true, force: true });
}

// It has a session of its own; what is left are those that somebody sends to each process of the user's.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
const [socket = "", folder = ""] = process.argv.slice(2);
await guard(socket, folder);
