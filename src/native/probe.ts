import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { packageRoot } from "../package-facts.js";
import { makeFolderSync } from "../results/files/made-folder.js";

const addonName = "pinbench.node";

/** File name of the driver that emulates a GPU in host memory, next to the compiled module. */
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
 * Possible paths of the compiled module, in order: a clone's own build before the package's module. PINBENCH_ADDON
 * replaces all of them.
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

/** npm's package has the x86-64 files; other architectures have a separate package. */
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
 * pinbench's cache folder by the XDG rules. Null if the environment names none, or if it belongs to another user, as
 * under sudo: its modules cannot be trusted, and new files would disturb that user.
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

/** Whether a folder belongs to this user; returns `absent` if it is missing. */
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
  /** No process got as far as trying it. */
  | { kind: "untried" };

/**
 * Loads a module, and with `withEmulated` the emulated driver, in another process, because a bad one may crash. An
 * unchanged module that has loaded before is not tried again. Failures are, because their cause may be gone.
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

/** Prints a line at its start, to distinguish a crash of the module from a process that did not get that far. */
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
  // Loaded here because it is slow, and hardly ever needed.
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  // The user's NODE_OPTIONS are meant for this process only.
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
    // Node's permission model forbids starting processes.
    return { kind: "untried" };
  }
  const lines = (child.stdout ?? "").split("\n").filter((line) => line.startsWith('{"kind":'));
  if (lines.length === 0) return { kind: "untried" };
  if ((child.error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT") return { kind: "hung" };
  const outcome = lines.length > 1 ? readOutcome(lines.at(-1)!) : null;
  // A module that loads but crashes at exit is also unusable.
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

/** glibc's dynamic linkers, one for each architecture: their files change with its version. */
const linkers = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/** Identifies a module and all that affects loading: the files' states, Node and the C library. */
function keyOf({ path, emulatedLibraryPath }: AddonCandidate): string {
  const files = [path, emulatedLibraryPath, process.execPath, ...linkers];
  return [process.version, process.arch, ...files.map(identityOf)].join(" ");
}

/** Changes with the file. Includes a time, because a new file may have the same size. */
function identityOf(path: string): string {
  const info = statSync(path, { throwIfNoEntry: false });
  return info === undefined ? "-" : `${path}:${info.ino}:${info.size}:${info.mtimeMs}`;
}

/** Most modules to remember: this user's installations, each in a few versions. */
const mostKept = 32;

function readKeys(file: string): string[] {
  try {
    // Opening a named pipe could block forever.
    if (!statSync(file).isFile()) return [];
    // Decodes separately, because readFileSync with an encoding aborts Node 20 if the file cannot be closed.
    const kept: unknown = JSON.parse(readFileSync(file).toString());
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** Best effort: stores nothing if the folder is read-only or full. */
function writeKeys(file: string, keys: readonly string[]): void {
  const fresh = `${file}.${process.pid}`;
  try {
    makeFolderSync(dirname(file), 0o700);
    writeFileSync(fresh, JSON.stringify(keys), { mode: 0o600 });
    renameSync(fresh, file);
  } catch {
    // Not stored: the next start will try the module again.
    removeIfAny(fresh);
  }
}

function removeIfAny(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A leftover stays: it is small, and in pinbench's own folder.
  }
}
