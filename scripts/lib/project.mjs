import { resolve } from "node:path";

/** The repository's root: scripts find everything from here, whatever folder they are called from. */
export const root = resolve(import.meta.dirname, "../..");

/** A path inside the repository. */
export const inRoot = (...parts) => resolve(root, ...parts);
