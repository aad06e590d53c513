import type { Candidate } from "./candidates.js";

/** What became of loading a module in another process. */
export type ProbeOutcome =
  | { kind: "loads" }
  /** Node or the system's linker refused it, in these words. */
  | { kind: "refused"; message: string }
  | { kind: "foreign" }
  | { kind: "crashed"; signal: NodeJS.Signals }
  | { kind: "ended"; exitCode: number | null }
  | { kind: "hung" }
  /** No process could be started to try it in. */
  | { kind: "untried" };

const hangMs = 30_000;

/** Says when it begins, so that a crash of the module can be told from a process that never came so far. */
const script = `
const { writeSync } = require("node:fs");
const say = (outcome) => writeSync(1, JSON.stringify(outcome) + "\\n");
const [addon, emulated] = process.argv.slice(1);
const loaded = { exports: {} };
say({ kind: "began" });
try {
  process.dlopen(loaded, addon);
  if (typeof loaded.exports.openDriver !== "function") say({ kind: "foreign" });
  else {
    if (emulated) loaded.exports.openDriver({ driver: emulated, nvml: null });
    say({ kind: "loads" });
  }
} catch (error) {
  say({ kind: "refused", message: String(error && error.message) });
}`;

/** Loads a module, and the emulated driver beside it where there is one, in a process that may crash. */
export function probe({ path, emulatedLibraryPath }: Candidate, withEmulated: boolean): ProbeOutcome {
  // Takes a while to load, and hardly any start needs it.
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  // Options of Node's that the user set for this process are not meant for that one.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const args = ["-e", script, "--", path, ...(withEmulated ? [emulatedLibraryPath] : [])];
  const child = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env,
    stdio: ["ignore", "pipe", "ignore"],
    timeout: hangMs,
    killSignal: "SIGKILL",
  });
  const lines = (child.stdout ?? "").split("\n").filter((line) => line.startsWith('{"kind":'));
  if (lines.length === 0) return { kind: "untried" };
  if ((child.error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT") return { kind: "hung" };
  const outcome = lines.length > 1 ? (JSON.parse(lines.at(-1)!) as ProbeOutcome) : null;
  // One that loads and then brings the process down at its end is no good either.
  if (child.signal !== null) return { kind: "crashed", signal: child.signal };
  return outcome ?? { kind: "ended", exitCode: child.status };
}
