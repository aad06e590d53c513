import { readdir } from "node:fs/promises";
import { PinbenchError } from "../errors.js";
import { cannotWrite, errorCode } from "../results/output-error.js";

/**
 * A folder for new runs must be empty, or not there yet: nothing but `check --update` ever replaces a baseline.
 * `what` is how the message calls the argument.
 */
export async function checkNewFolder(path: string, what: string): Promise<void> {
  const names = await readdir(path).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return [];
    throw cannotWrite(path, error);
  });
  if (names.length > 0) {
    throw new PinbenchError("output", `${path} is there already and is not empty.`, {
      hint: `Choose a new folder for ${what}; \`pinbench check --baseline ${path} --update\` replaces a baseline.`,
    });
  }
}
