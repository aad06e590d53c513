import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { packageRoot } from "../package-facts.js";
import { makeFolderSync } from "../results/files/made-folder.js";

const addonName = "pinbench.node";

/** The file name of the driver that emulates a GPU in host memory; it is next to the compiled module. */
const emulatedLibraryName = "libpinbench_emulated.so";

export const localBuildFolder = join(packageRoot, "build", "Release");

/** Sources of a compiled module, by their names in messages and `--version --json`. */
export type AddonSource = "PINBENCH_ADDON" | "local build" | "prebuilt";

export interface AddonCandidate {
  source: AddonSource;
  path: string;
  /** Path of the emulated driver of the same build. */
  emulatedLibraryPath: string;
}

/**
 * Possible places of the compiled module, in order: a clone's own build comes before the package's module. If
 * PINBENCH_ADDON names one, it is the only candidate.
 */
export function candidates(environment: NodeJS.ProcessEnv): AddonCandidate[] {
  const named = environment.PINBENCH_ADDON;
  if (named) {
    const path = resolve(named);
    return [
      { source: "PINBENCH_ADDON", path, emulatedLibraryPath: join(dirname(path), emulatedLibraryName) },
    ];
  }
  return [
    inFolder("local build", localBuildFolder),
    ...prebuiltFolders(process.arch).map((folder) => inFolder("prebuilt", folder)),
  ];
}

/** npm's package has the files for x86-64; those for other processors are in a package beside it. */
export function prebuiltFolders(arch: string): string[] {
  const own = join(packageRoot, "prebuilds", `linux-${arch}`);
  return arch === "x64" ? [own] : [own, join(packageRoot, "..", `pinbench-linux-${arch}`)];
}

function inFolder(source: AddonSource, folder: string): AddonCandidate {
  return {
    source,
    path: join(folder, addonName),
    emulatedLibraryPath: join(folder, emulatedLibraryName),
  };
}

/**
 * pinbench's folder for files that can be recreated, by the XDG rules; null if the environment names none, or it
 * belongs to another user, as under sudo: modules there cannot be trusted, and new files would disturb that user.
 */
export function cacheFolder({ XDG_CACHE_HOME: named, HOME: home }: NodeJS.ProcessEnv): string | null {
  if (named && isAbsolute(named)) {
    return isOurs(named, { absent: true }) ? oursOrNull(join(named, "pinbench")) : null;
  }
  if (!home || !isAbsolute(home) || !isOurs(home, { absent: false })) return null;
  return oursOrNull(join(home, ".cache", "pinbench"));
}

function oursOrNull(folder: string): string | null {
  return isOurs(folder, { absent: true }) ? folder : null;
}

/** Whether a folder belongs to this user; `absent` is the answer for a missing one. */
function isOurs(folder: string, { absent }: { absent: boolean }): boolean {
  try {
    return statSync(folder).uid === process.geteuid?.();
  } catch (error) {
    return absent && (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

export type ProbeOutcome =
  | { kind: "loads" }
  /** Node or the system's linker refused it, with this message. */
  | { kind: "refused"; message: string }
  /** It loaded, but is not pinbench's. */
  | { kind: "foreign" }
  | { kind: "crashed"; signal: NodeJS.Signals }
  | { kind: "ended"; exitCode: number | null }
  | { kind: "hung" }
  /** No process could be started to try it. */
  | { kind: "untried" };

/**
 * Loads a module, with `withEmulated` also the emulated driver, in another process, because a bad one may crash. A
 * module that has loaded before and has not changed is known to load. Failures are tried again each time, because their
 * cause may be gone.
 */
export function probe(
  candidate: AddonCandidate,
  withEmulated: boolean,
  environment: NodeJS.ProcessEnv,
): ProbeOutcome {
  const cache = cacheFolder(environment);
  const file = cache === null ? null : join(cache, "loaded.json");
  const key = keyOf(candidate);
  const known = file === null ? [] : readKeys(file);
  if (known.includes(key)) return { kind: "loads" };
  const outcome = loadElsewhere(candidate, withEmulated);
  if (outcome.kind === "loads" && file !== null) writeKeys(file, [key, ...known].slice(0, mostKept));
  return outcome;
}

export const longestLoadMs = 30_000;

/** Reports its start, so that a crash of the module can be distinguished from a process that did not get that far. */
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

function loadElsewhere({ path, emulatedLibraryPath }: AddonCandidate, withEmulated: boolean): ProbeOutcome {
  // Takes a while to load, and hardly any start needs it.
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  // The user's options for Node are meant for this process only.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const args = ["-e", script, "--", path, ...(withEmulated ? [emulatedLibraryPath] : [])];
  const run = () =>
    spawnSync(process.execPath, args, {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: longestLoadMs,
      killSignal: "SIGKILL",
    });
  let child: ReturnType<typeof run>;
  try {
    child = run();
  } catch {
    // Node's permission model forbids it.
    return { kind: "untried" };
  }
  const lines = (child.stdout ?? "").split("\n").filter((line) => line.startsWith('{"kind":'));
  if (lines.length === 0) return { kind: "untried" };
  if ((child.error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT") return { kind: "hung" };
  const outcome = lines.length > 1 ? readOutcome(lines.at(-1)!) : null;
  // A module that loads, but crashes the process at its end, is also unusable.
  if (child.signal !== null) return { kind: "crashed", signal: child.signal };
  return outcome ?? { kind: "ended", exitCode: child.status };
}

function readOutcome(line: string): ProbeOutcome | null {
  try {
    return JSON.parse(line) as ProbeOutcome;
  } catch {
    return null;
  }
}

/** Another version of the C library has another linker file; only one of them is of this Node's processor. */
const linkers = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/** Names a module and all that decides whether it loads: the files as they are, Node, and the C library. */
function keyOf({ path, emulatedLibraryPath }: AddonCandidate): string {
  const files = [path, emulatedLibraryPath, process.execPath, ...linkers];
  return [process.version, process.arch, ...files.map(identityOf)].join(" ");
}

/** Changes with the file; includes a time, because a file can be overwritten by one of the same size. */
function identityOf(path: string): string {
  const info = statSync(path, { throwIfNoEntry: false });
  return info === undefined ? "-" : `${path}:${info.ino}:${info.size}:${info.mtimeMs}`;
}

/** Most modules to remember: those of this user's installations, each in a few versions. */
const mostKept = 32;

function readKeys(file: string): string[] {
  try {
    // Opening a named pipe would never end.
    if (!statSync(file).isFile()) return [];
    // Without readFileSync's own decoding, which aborts Node 20 if the file cannot be closed.
    const kept: unknown = JSON.parse(readFileSync(file).toString());
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** Optional: if the folder is read-only or full, nothing is stored. */
function writeKeys(file: string, keys: readonly string[]): void {
  const fresh = `${file}.${process.pid}`;
  try {
    makeFolderSync(dirname(file), 0o700);
    writeFileSync(fresh, JSON.stringify(keys), { mode: 0o600 });
    renameSync(fresh, file);
  } catch {
    // The next start will try the module again.
    removeIfAny(fresh);
  }
}

function removeIfAny(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It stays: a small file in a folder of pinbench's own.
  }
}
