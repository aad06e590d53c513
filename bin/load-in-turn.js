import { readFileSync } from "node:fs";

/**
 * Hooks of Node's loader for a machine that lets a process open few files: Node itself opens all modules that a file
 * imports at the same time, of which zod alone has more than 50. These are read one after the other.
 */
export async function load(url, context, nextLoad) {
  if (context.format !== "module" || !url.startsWith("file:")) return nextLoad(url, context);
  return { format: "module", source: readFileSync(new URL(url)), shortCircuit: true };
}
