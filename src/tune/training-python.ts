import { delimiter, dirname, isAbsolute } from "node:path";

/**
 * The Python in whose environment pinbench was installed, set by the wheel's launcher; null if pinbench was installed
 * otherwise, or if that environment has no torch and so cannot train.
 */
function ownPython({ PINBENCH_PYTHON: named }: NodeJS.ProcessEnv): string | null {
  return named && isAbsolute(named) ? named : null;
}

/** The Python for a data set if none was named. */
export function usualPython(environment: NodeJS.ProcessEnv): string {
  return ownPython(environment) ?? "python3";
}

/**
 * The PATH for a training job's command: unchanged, except that a wheel's environment comes first if it is missing, as
 * if it were activated. So `python` and `torchrun` are those of this pinbench, and an order chosen by the user remains.
 */
export function trainingPath(environment: NodeJS.ProcessEnv): string | undefined {
  const { PATH: path } = environment;
  const python = ownPython(environment);
  if (python === null) return path;
  const folder = dirname(python);
  // Without a PATH the system uses a default one.
  const folders = (path ?? "/usr/local/bin:/usr/bin:/bin").split(delimiter);
  return folders.includes(folder) ? path : [folder, ...folders].join(delimiter);
}
