import { lstat, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { z } from "zod";
import { errorCode, PinbenchError } from "../errors.js";
import { checkShape, isObject, parseJson, readTextFile } from "../text-file.js";
import { nearestWord } from "./choices.js";
import type { ConfigurationFile } from "./configuration-schema.js";
import type { Given } from "./setting.js";
import type { runSettings } from "./table.js";
import { defaultThresholds, mergeThresholds, type Thresholds } from "./thresholds.js";

/** What a configuration says, read; null for what it leaves open. */
export interface Configuration {
  /** Absolute; null where there is none. */
  path: string | null;
  plan: Given<typeof runSettings>;
  /** Absolute. */
  baseline: string | null;
  runs: number | null;
  /** Over the defaults. */
  thresholds: Thresholds;
  significance: number | null;
  strict: boolean | null;
}

/** The configuration where no file is read. */
export const noConfiguration: Configuration = {
  path: null,
  plan: {},
  baseline: null,
  runs: null,
  thresholds: defaultThresholds,
  significance: null,
  strict: null,
};

/**
 * Reads the file that `config` names, none where it is false, else the nearest from `cwd` upwards. Throws a usage error
 * that names the file, the key and what may stand there.
 */
export async function loadConfiguration(
  { config }: { config: string | false | null },
  cwd?: string,
): Promise<Configuration> {
  if (config === false) return noConfiguration;
  const folder = cwd ?? workingDirectory();
  const file =
    config === null ? folder && (await findConfigFile(folder)) : await readConfigFile(config, folder);
  return file ? interpret(file) : noConfiguration;
}

/** One line for stderr: figures must not depend on a file that nobody knows of. */
export function configurationNote(path: string): string {
  return `Using the configuration ${shownPath(path)}.`;
}

async function interpret(file: ConfigFile): Promise<Configuration> {
  // zod takes longer to load than all of a command's start: it is loaded for those who have a configuration.
  const { configurationSchema, knownKeys } = await import("./configuration-schema.js");
  const parsed = checkShape(configurationSchema, file.value);
  if (!parsed.success) {
    const above = file.key === null ? [] : [file.key];
    throw refuse(`In ${shownPath(file.path)}, `, above, parsed.error.issues[0]!, knownKeys);
  }
  const { plan, baseline, runs, thresholds, significance, strict } = parsed.data;
  return {
    path: file.path,
    plan: plan ?? {},
    baseline: baseline === undefined ? null : resolve(dirname(file.path), baseline),
    runs: runs ?? null,
    thresholds: thresholdsOf(thresholds),
    significance: significance ?? null,
    strict: strict ?? null,
  };
}

/** A section of a configuration over the defaults; there the patterns of cells are keys, here an ordered list. */
export function thresholdsOf({
  cells,
  ...rest
}: NonNullable<ConfigurationFile["thresholds"]> = {}): Thresholds {
  const patterns = Object.entries(cells ?? {}).map(([pattern, threshold]) => ({ pattern, threshold }));
  return mergeThresholds(defaultThresholds, { ...rest, cells: patterns });
}

/** A section as a caller of the library writes it, read as a configuration's. Throws a usage error that names what is wrong. */
export async function readSection<Name extends "plan" | "thresholds">(name: Name, options: object) {
  const { sections, knownKeys } = await import("./configuration-schema.js");
  // A key without a value is as good as none.
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const parsed = checkShape<z.ZodType>(sections[name], given);
  if (parsed.success) return parsed.data as z.infer<(typeof sections)[Name]>;
  throw refuse("Among the options, ", [], parsed.error.issues[0]!, { "": knownKeys[name] ?? [] });
}

type KnownKeys = Readonly<Record<string, readonly string[]>>;

/** A usage error for the first thing that is wrong: where it is, what may stand there and what was likely meant. */
function refuse(
  place: string,
  above: readonly string[],
  issue: z.core.$ZodIssue,
  knownKeys: KnownKeys,
): PinbenchError {
  const isUnknownKey = issue.code === "unrecognized_keys";
  const at = isUnknownKey ? [...issue.path, issue.keys[0]!] : issue.path;
  const where = [...above, ...at].join(".");
  const hint = isUnknownKey
    ? suggestion(issue.path.join("."), issue.keys[0]!, knownKeys)
    : issue.code === "custom" && issue.params?.hint;
  const message = `${place}${where || "the whole"} ${issue.message}.`;
  return new PinbenchError("usage", message, hint ? { hint } : {});
}

/** The key that was most likely meant: of this section, or of any, for a plan's key is soon one level too high. */
function suggestion(section: string, key: string, knownKeys: KnownKeys): string {
  const within = nearestWord(key, knownKeys[section] ?? []);
  const dotted = (name: string, of: string) => (of === "" ? name : `${of}.${name}`);
  if (within !== null) return `Did you mean ${dotted(within, section)}?`;
  const other = Object.keys(knownKeys).find((name) => knownKeys[name]!.includes(key));
  if (other !== undefined) return `Did you mean ${dotted(key, other)}?`;
  return `Known keys are ${(knownKeys[section] ?? []).join(", ")}.`;
}

/** A configuration as it was read, not yet checked. */
interface ConfigFile {
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
async function findConfigFile(folder: string): Promise<ConfigFile | null> {
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
async function readConfigFile(given: string, folder: string | null): Promise<ConfigFile> {
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
function shownPath(path: string): string {
  const folder = workingDirectory();
  const short = folder === null ? path : relative(folder, path) || ".";
  // Below the root every path is, and /dev/fd/63 must stay what it is.
  return short.startsWith("..") || folder === "/" ? path : short;
}

/** Null where it was removed: pinbench measures there all the same. */
function workingDirectory(): string | null {
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
