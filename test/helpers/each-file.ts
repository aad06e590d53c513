import { afterAll } from "vitest";
import { cleanUp } from "./after-file.js";

/*
 * For `setupFiles`: is loaded anew for each file of tests. The emulated link, unless a test names another, is one whose copies
 * mostly sleep, and take as long on any machine: at the rate of memory a short run keeps a CPU busy, which other tests need.
 */
process.env.PINBENCH_EMULATED_LINK ??= "1e9";

afterAll(cleanUp);
