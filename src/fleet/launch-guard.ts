import { removeLaunchFolder } from "./launch-folder.js";
import { endGroups } from "./process-groups.js";

/**
 * The program of a process that outlives `fleet run`, so that what it launched does not: `node launch-guard.js FOLDER`.
 * Over stdin it is told the process groups of launchers, a number a line, "ended" before those of which nothing is left, and
 * "done" where there is nothing left to do.
 * The end of stdin without that word says that `fleet run` was killed: then it ends the launchers, which end what they
 * started, and removes the order, without which no node goes on.
 */
async function guard(folder: string): Promise<void> {
  let said = "";
  try {
    for await (const text of process.stdin.setEncoding("utf8")) said += text;
  } catch {
    // An end of another kind.
  }
  if (said.includes("done")) return;
  const removing = removeLaunchFolder(folder);
  const told = (lines: RegExp) => [...said.matchAll(lines)].map(([, group]) => Number(group));
  const ended = new Set(told(/^ended (\d+)$/gm));
  await endGroups(told(/^(\d+)$/gm).filter((group) => !ended.has(group)));
  await removing;
}

// It has a session of its own; what is left are those that somebody sends to each process of the user's.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
const [folder = ""] = process.argv.slice(2);
await guard(folder);
