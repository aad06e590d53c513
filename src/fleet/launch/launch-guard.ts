import { untilKilled } from "../../host/processes.js";
import { removeLaunchFolder } from "./launch-folder.js";
import { endLaunchers } from "./launcher-processes.js";

/*
 * The program of a process that outlives `fleet run`, so that its launched processes do not: `node launch-guard.js
 * FOLDER`. If `fleet run` is killed, it ends the launchers, which end their processes, and removes the order, without
 * which all nodes stop.
 */

const [folder = ""] = process.argv.slice(2);
const launchers = await untilKilled();
if (launchers !== null) await Promise.all([removeLaunchFolder(folder), endLaunchers(launchers)]);
