import { untilKilled } from "../../host/processes.js";
import { removeLaunchFolder } from "./launch-folder.js";
import { endLaunchers } from "./launcher-processes.js";

/*
 * A process that cleans up if `fleet run` is killed: `node launch-guard.js FOLDER`. It ends the launchers, which end
 * their processes, and removes the order, so that all nodes stop.
 */

const [folder = ""] = process.argv.slice(2);
const launchers = await untilKilled();
if (launchers !== null) await Promise.all([removeLaunchFolder(folder), endLaunchers(launchers)]);
