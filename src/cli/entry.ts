import { fileURLToPath } from "node:url";

/** The program itself, for the processes that it starts. */
export const entry = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
