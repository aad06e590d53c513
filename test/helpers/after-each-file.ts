import { afterAll } from "vitest";
import { cleanUp } from "./after-file.js";

/** For `setupFiles`: is loaded anew for each file of tests. */
afterAll(cleanUp);
