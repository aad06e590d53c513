import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { packageRoot, packageVersion } from "../package-facts.js";
import { makeFolderSync } from "../results/files/made-folder.js";

/** The compiled module's file name, wherever it lies. */
export const addonName = "pinbench.node";

/** The file name of the driver that plays a GPU in host memory; it lies beside the compiled module. */
export const emulatedLibraryName = "libpinbench_emulated.so";

/** Where a build in the package's own folder puts both files. */
export const localBuildFolder = join(packageRoot, "build", "Release");

/** Where a compiled module comes from, as messages and `--version --json` call it. */
export type AddonSource = "PINBENCH_ADDON" | "local build" | "build of this user" | "prebuilt";

/** A place where a compiled module may be. */
export interface AddonCandidate {
  source: AddonSource;
  /** Of the compiled module. */
  path: string;
  /** Of the emulated driver that was built with it. */
  emulatedLibraryPath: string;
}

/**
 * Where compiled modules are looked for, in order: what was built here comes before what the package brings. One that
 * PINBENCH_ADDON names is the only candidate.
 */
export function candidates(environment: NodeJS.ProcessEnv): AddonCandidate[] {
  const named = environment.PINBENCH_ADDON;
  if (named) {
    const path = resolve(named);
    return [
      { source: "PINBENCH_ADDON", path, emulatedLibraryPath: join(dirname(path), emulatedLibraryName) },
    ];
  }
  const ofUser = userBuildFolder(environment);
  return [
    inFolder("local build", localBuildFolder),
    ...(ofUser === null ? [] : [inFolder("build of this user", ofUser)]),
    inFolder("prebuilt", join(packageRoot, "prebuilds", `linux-${process.arch}`)),
  ];
}

function inFolder(source: AddonSource, folder: string): AddonCandidate {
  return {
    source,
    path: join(folder, addonName),
    emulatedLibraryPath: join(folder, emulatedLibraryName),
  };
}

/** Where `pinbench build` builds if the package's folder cannot be written; null where there is no such place. */
export function userBuildFolder(environment: NodeJS.ProcessEnv): string | null {
  const cache = cacheFolder(environment);
  return cache === null ? null : join(cache, `build-${packageVersion()}`);
}

/**
 * pinbench's folder for files that can be made anew, by the XDG rules; null where the environment names none, or where
 * it belongs to another user, as under sudo: modules that lie there are not to be trusted, and files written there
 * would be in that user's way.
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

/** Whether a folder belongs to this user; `absent` is the answer for one that is not there. */
function isOurs(folder: string, { absent }: { absent: boolean }): boolean {
  try {
    return statSync(folder).uid === process.geteuid?.();
  } catch (error) {
    return absent && (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** What became of loading a module in another process. */
export type ProbeOutcome =
  | { kind: "loads" }
  /** Node or the system's linker refused it, in these words. */
  | { kind: "refused"; message: string }
  /** It loaded, and is not pinbench's. */
  | { kind: "foreign" }
  | { kind: "crashed"; signal: NodeJS.Signals }
  | { kind: "ended"; exitCode: number | null }
  | { kind: "hung" }
  /** No process could be started to try it in. */
  | { kind: "untried" };

/**
 * Loads a module, and the emulated driver beside it if `withEmulated`, in another process, which a bad one may crash.
 * One that has loaded before and has not changed since is known to load. Failures are tried again each time, since
 * their cause may be gone.
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

function loadElsewhere({ path, emulatedLibraryPath }: AddonCandidate, withEmulated: boolean): ProbeOutcome {
  // Takes a while to load, and hardly any start needs it.
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  // Node's options that the user set are meant for this process, not for that one.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const args = ["-e", script, "--", path, ...(withEmulated ? [emulatedLibraryPath] : [])];
  const run = () =>
    spawnSync(process.execPath, args, {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: hangMs,
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
  // A module that loads and then crashes the process as it ends is unusable, too.
  if (child.signal !== null) return { kind: "crashed", signal: child.signal };
  return outcome ?? { kind: "ended", exitCode: child.status };
}

/** Null for a line that the process has not written to its end. */
function readOutcome(line: string): ProbeOutcome | null {
  try {
    return JSON.parse(line) as ProbeOutcome;
  } catch {
    return null;
  }
}

/** With another version of the C library, the system's linker is another file. */
const linker = "/lib64/ld-linux-x86-64.so.2";

/** Names a module and all that decides whether it loads: the files as they are, Node, and the C library. */
function keyOf({ path, emulatedLibraryPath }: AddonCandidate): string {
  const files = [path, emulatedLibraryPath, process.execPath, linker];
  return [process.version, process.arch, ...files.map(identityOf)].join(" ");
}

/** Changes with the file; a time, too, since a file can be overwritten in place by one of the same size. */
function identityOf(path: string): string {
  const info = statSync(path, { throwIfNoEntry: false });
  return info === undefined ? "-" : `${path}:${info.ino}:${info.size}:${info.mtimeMs}`;
}

const mostKept = 32;

function readKeys(file: string): string[] {
  try {
    // Opening a named pipe would wait without end.
    if (!statSync(file).isFile()) return [];
    // Not by readFileSync's own decoding, which aborts Node 20 where the file cannot be closed.
    const kept: unknown = JSON.parse(readFileSync(file).toString());
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** A convenience: where nothing can be written, in a home that is read-only or full, nothing is kept. */
function writeKeys(file: string, keys: readonly string[]): void {
  const fresh = `${file}.${process.pid}`;
  try {
    makeFolderSync(dirname(file), 0o700);
    writeFileSync(fresh, JSON.stringify(keys), { mode: 0o600 });
    renameSync(fresh, file);
  } catch {
    // Then the next start tries the module again.
    removeIfAny(fresh);
  }
}

function removeIfAny(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It stays: a file of a few lines in a folder of pinbench's own.
  }
}
