import { readText } from "../../host/files.js";

/** Flags of Python, alone or joined as in -Is, with which it does not read PYTHONPATH or runs no sitecustomize. */
const isolating = /^-[a-zA-Z]*[ISE][a-zA-Z]*$/;
const python = /(^|\/)python[\d.]*$/;

/**
 * Why none of a job's processes has come forward, as far as /proc tells while they run: a Python that was told to ignore
 * the environment, or none that has loaded torch. Null where one has, and just takes its time.
 */
export function whyUnseen(pids: readonly number[]): string | null {
  const commands = pids.map((pid) => (readText("/", `proc/${pid}/cmdline`) ?? "").split("\0"));
  const pythons = commands.filter(([program = ""]) => python.test(program));
  if (pythons.length === 0) return "None of its processes is a Python that pinbench can look into.";
  for (const [program = "", ...words] of pythons) {
    const ends = words.findIndex((word) => !word.startsWith("-") || word === "-c" || word === "-m");
    const flag = words.slice(0, Math.max(0, ends)).find((word) => isolating.test(word));
    if (flag !== undefined) {
      return `${program} was started with ${flag}, which keeps pinbench out of it: PYTHONPATH and sitecustomize must count.`;
    }
  }
  const hasTorch = pids.some((pid) =>
    /\/libtorch(_cpu|_python)?\.so/.test(readText("/", `proc/${pid}/maps`) ?? ""),
  );
  return hasTorch ? null : "None of its processes has loaded torch.";
}
