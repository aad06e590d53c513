import { resolve } from "node:path";

/** The repository's root, so that scripts work from any folder. */
export const root = resolve(import.meta.dirname, "../..");

/** A path inside the repository. */
export const inRoot = (...parts) => resolve(root, ...parts);
