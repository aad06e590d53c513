import { replaceModules } from "./in-process.js";

/** For `setupFiles`: is loaded anew for each file of tests. */
replaceModules();
