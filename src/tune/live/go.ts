import { existsSync, fstatSync } from "node:fs";
import { join } from "node:path";
import { PinbenchError } from "../../errors.js";
import { type Child, shellExitCode } from "../../host/child.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { JobFolder } from "./live-job.js";
import type { HookMessageOf } from "./live-messages.js";

/** The loader to change in another run of a command, as the search has seen it. */
export interface GoTarget extends Pick<HookMessageOf<"loader">, "kind" | "order"> {
  /** Whether the script makes it anew, for each epoch say. */
  isRenewed: boolean;
}

interface GoChange extends GoTarget {
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

/** A command that has been started afresh, with other arguments for one loader, and nothing else of pinbench's. */
export class GoRun {
  readonly #folder: JobFolder;
  readonly #process: Child;

  private constructor(folder: JobFolder, child: Child) {
    this.#folder = folder;
    this.#process = child;
  }

  /** `change`: null starts it unchanged. */
  static async start(command: readonly string[], change: GoChange | null): Promise<GoRun> {
    const folder = new JobFolder("PINBENCH_TUNE_RUN");
    const asked = change && JSON.stringify({ ...change, found: foundFile(folder) });
    try {
      return new GoRun(
        folder,
        await folder.start(command, asked === null ? {} : { PINBENCH_TUNE_GO: asked }),
      );
    } catch (error) {
      folder.dismiss();
      throw error;
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal);
  }

  /** Resolves when the command has ended: its exit code as a shell gives it, and whether the loader was found again. */
  async end(): Promise<{ exitCode: number; isFound: boolean }> {
    const exit = await this.#process.exit;
    const isFound = existsSync(foundFile(this.#folder));
    this.#folder.dismiss();
    return { exitCode: shellExitCode(exit), isFound };
  }
}

/** The hook makes this file when it has found the loader. */
function foundFile(folder: JobFolder): string {
  return join(folder.path, "found");
}
