import { readFileSync } from "node:fs";

/**
 * A hook of Node's loader for machines that limit open files: it reads modules one after the other. Node itself opens
 * all imports of a file at once, and zod alone has more than 50.
 */
export async function load(url, context, nextLoad) {
  if (context.format !== "module" || !url.startsWith("file:")) return nextLoad(url, context);
  return { format: "module", source: readFileSync(new URL(url)), shortCircuit: true };
}
