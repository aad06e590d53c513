import { existsSync, fstatSync } from "node:fs";
import { join } from "node:path";
import { PinbenchError } from "../../errors.js";
import { shellExitCode } from "../../host/child.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { JobFolder } from "./live-job.js";

/** A setting, and the name (go.py) of the loader that `--go` gives it in the second run of a command. */
export interface LoaderEdit {
  name: string;
  setting: LoaderSetting;
}

/** Throws if the command's input can be read only once: --go starts the command twice. */
export function requireRepeatableInput(): void {
  let isRepeatable = true;
  try {
    isRepeatable = fstatSync(0).isCharacterDevice();
  } catch {
    // Closed.
  }
  if (isRepeatable) return;
  throw new PinbenchError(
    "usage",
    "--go starts the command twice, and its standard input can be read once.",
    {
      hint: "Have the command open its input itself (bash -c 'python train.py < FILE'), or redirect it from /dev/null.",
    },
  );
}

/**
 * Starts a command again with other arguments for a loader (null: unchanged) and no other hook. `end` resolves with
 * the exit code as a shell gives it, and whether the loader was found again.
 */
export async function startAfresh(command: readonly string[], edit: LoaderEdit | null) {
  const folder = new JobFolder("PINBENCH_TUNE_RUN");
  // The hook makes this file when it has found the loader.
  const found = join(folder.path, "found");
  const variables = edit === null ? {} : { PINBENCH_TUNE_GO: JSON.stringify({ ...edit, found }) };
  try {
    const child = await folder.start(command, variables);
    const end = async () => {
      const exitCode = shellExitCode(await child.exit);
      const isFound = existsSync(found);
      folder.dismiss();
      return { exitCode, isFound };
    };
    return { signal: (signal: NodeJS.Signals) => child.signal(signal), end };
  } catch (error) {
    folder.dismiss();
    throw error;
  }
}
