import { untilKilled } from "../../host/processes.js";
import { removeLaunchFolder } from "./launch-folder.js";
import { endLaunchers } from "./launcher-processes.js";

/*
 * The program of a process that outlives `fleet run`, so that what it launched does not: `node launch-guard.js FOLDER`.
 * Where `fleet run` is killed it ends the launchers, which end what they started, and removes the order, without which no
 * node goes on.
 */

const [folder = ""] = process.argv.slice(2);
const launchers = await untilKilled();
if (launchers !== null) await Promise.all([removeLaunchFolder(folder), endLaunchers(launchers)]);
