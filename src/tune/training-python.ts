import { delimiter, dirname, isAbsolute } from "node:path";

/**
 * The Python in whose environment pinbench was installed, as the wheel's launcher says it; null where pinbench came
 * another way, or where that environment has no torch, so that no training can be its.
 */
function ownPython({ PINBENCH_PYTHON: named }: NodeJS.ProcessEnv): string | null {
  return named && isAbsolute(named) ? named : null;
}

/** The Python that a data set is loaded by where nobody names one. */
export function usualPython(environment: NodeJS.ProcessEnv): string {
  return ownPython(environment) ?? "python3";
}

/**
 * The PATH for a training job's command: as it is, but for a wheel's environment whose programs are not in it, which
 * come first as if it were activated. So `python` and `torchrun` are those that belong to this pinbench, and whoever
 * has put an order into the PATH keeps it.
 */
export function trainingPath(environment: NodeJS.ProcessEnv): string | undefined {
  const { PATH: path } = environment;
  const python = ownPython(environment);
  if (python === null) return path;
  const folder = dirname(python);
  // Without a PATH the system has one of its own.
  const folders = (path ?? "/usr/local/bin:/usr/bin:/bin").split(delimiter);
  return folders.includes(folder) ? path : [folder, ...folders].join(delimiter);
}
