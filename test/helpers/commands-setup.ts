/** For `setupFiles`: modules are replaced before a file of tests can import them. */
import "./in-process.js";
