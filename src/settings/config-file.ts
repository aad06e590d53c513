import { lstat, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { errorCode, PinbenchError } from "../errors.js";
import { isObject, parseJson, readTextFile } from "../text-file.js";

/** A configuration as it was read, not yet checked. */
export interface ConfigFile {
  /** Absolute. */
  path: string;
  /** Where in the file it stands: at the top, or in package.json below this key. */
  key: "pinbench" | null;
  value: unknown;
}

const configName = "pinbench.config.json";
const packageName = "package.json";

/**
 * The nearest pinbench.config.json, or package.json with the key pinbench, from `folder` upwards to the home folder
 * or the root; null without one. Files are read as JSON, never run. Throws a usage error.
 */
export async function findConfigFile(folder: string): Promise<ConfigFile | null> {
  const home = homeFolder();
  for (let above = resolve(folder); ; above = dirname(above)) {
    const ownFile = join(above, configName);
    if (await hasEntry(ownFile)) return readConfigFile(ownFile, null);
    const packageFile = join(above, packageName);
    if (await leadsSomewhere(packageFile)) {
      const value = await readPackage(packageFile);
      if (value !== null) return { path: packageFile, key: "pinbench", value };
    }
    if (above === home || above === dirname(above)) return null;
  }
}

/** Null for a user whom the system does not list and who has no HOME, as in a container with a number for a user. */
function homeFolder(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}

/** What the file system says of an entry that is not there, or in a folder that this user has no business in. */
const noEntry = ["ENOENT", "ENOTDIR", "EACCES", "ERR_ACCESS_DENIED"];

/**
 * Whether a folder has this entry: a link too, wherever it leads, for what was meant to be read must not be left out.
 * Where a disk does not tell, reading will say why.
 */
function hasEntry(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => !noEntry.includes(errorCode(error) ?? ""),
  );
}

/** As hasEntry(), but for a link to what is not there: most files of this name do not speak of pinbench. */
function leadsSomewhere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => errorCode(error) === "ELOOP",
  );
}

/** The file that `--config` names: JSON whatever its name, but for package.json, whose key pinbench is taken. */
export async function readConfigFile(given: string, folder: string | null): Promise<ConfigFile> {
  const path = folder === null ? given : resolve(folder, given);
  const name = shownPath(path);
  const text = await readTextFile(name);
  if (text.trim() === "") throw empty(name);
  const value = parseJson(text, name);
  if (basename(path) !== packageName) return { path, key: null, value };
  if (isObject(value) && "pinbench" in value) return { path, key: "pinbench", value: value.pinbench };
  throw new PinbenchError("usage", `${name} has no key "pinbench".`, {
    hint: `Add it, or name a ${configName}.`,
  });
}

/** As messages call it: from the working directory where it is below that, else in full. */
export function shownPath(path: string): string {
  const folder = workingDirectory();
  const short = folder === null ? path : relative(folder, path) || ".";
  // Below the root every path is, and /dev/fd/63 must stay what it is.
  return short.startsWith("..") || folder === "/" ? path : short;
}

/** Null where it was removed: pinbench measures there all the same. */
export function workingDirectory(): string | null {
  try {
    return process.cwd();
  } catch {
    return null;
  }
}

/** What package.json says below the key; null where it does not speak of pinbench, broken or not. */
async function readPackage(path: string): Promise<unknown> {
  const name = shownPath(path);
  const text = await readTextFile(name);
  if (!text.includes('"pinbench"')) return null;
  const value = parseJson(text, name);
  return isObject(value) ? (value.pinbench ?? null) : null;
}

function empty(name: string): PinbenchError {
  return new PinbenchError("usage", `${name} is empty.`, {
    hint: "Write at least {} into it, or leave it out with --no-config.",
  });
}
