import { delimiter } from "node:path";
import { readText } from "../../host/files.js";

/** Python flags, alone or combined as in -Is, that make it ignore PYTHONPATH or sitecustomize. */
const isolating = /^-[a-zA-Z]*[ISE][a-zA-Z]*$/;
const python = /(^|\/)python[\d.]*$/;

/** Watches a job's Python processes to find out why none has connected. */
export class JobPythons {
  #hasPython = false;
  #hasTorch = false;
  readonly #isolated = new Map<number, string | null>();

  /** `folder` is the hook's entry in PYTHONPATH. */
  constructor(readonly folder: string) {}

  look(pids: readonly number[]): void {
    for (const pid of pids) {
      const [program = "", ...words] = readOf(pid, "cmdline").split("\0");
      if (!python.test(program)) continue;
      this.#hasPython = true;
      this.#hasTorch ||= /\/libtorch(_cpu|_python)?\.so/.test(readOf(pid, "maps"));
      this.#isolated.set(pid, isolationOf(program, words, readText("/", `proc/${pid}/environ`), this.folder));
    }
  }

  /** Whether a Python process ignores pinbench's hook. */
  get isIsolated(): boolean {
    return [...this.#isolated.values()].some((one) => one !== null);
  }

  /** Why no loader was observed; null if no reason is known. `hasEnded`: the command has ended. */
  reasonUnobserved(hasEnded: boolean): string | null {
    const isolation = [...this.#isolated.values()].find((one) => one !== null);
    if (isolation !== undefined) return isolation;
    if (hasEnded) return null;
    if (!this.#hasPython) return "None of its processes is a Python that pinbench can look into.";
    return this.#hasTorch ? null : "None of its processes has loaded torch.";
  }
}

/** Why a Python ignores pinbench's hook, with a remedy; null if it does not. */
function isolationOf(
  program: string,
  words: readonly string[],
  environ: string | null,
  folder: string,
): string | null {
  const ends = words.findIndex((word) => !word.startsWith("-") || word === "-c" || word === "-m");
  const flag = words.slice(0, Math.max(0, ends)).find((word) => isolating.test(word));
  if (flag !== undefined) {
    return `${program} was started with ${flag}, which keeps pinbench out: Python must read PYTHONPATH and sitecustomize.`;
  }
  // The process has ended or belongs to another user.
  if (environ === null) return null;
  const path = environ.split("\0").find((one) => one.startsWith("PYTHONPATH="));
  if (path?.slice("PYTHONPATH=".length).split(delimiter).includes(folder)) return null;
  const own = path?.slice("PYTHONPATH=".length) || ".";
  return path
    ? `The command sets PYTHONPATH, which keeps pinbench out. Write PYTHONPATH=${own}:$PYTHONPATH in it.`
    : "The command clears the environment, which keeps pinbench out: Python needs pinbench's PYTHONPATH.";
}

/** Empty if the process has ended, or belongs to another user. */
function readOf(pid: number, file: string): string {
  return readText("/", `proc/${pid}/${file}`) ?? "";
}
