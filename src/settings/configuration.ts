import { lstat, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { z } from "zod";
import { errorCode, PinbenchError } from "../errors.js";
import { isObject, parseJson, readTextFile } from "../text-file.js";
import { memories, nearestWord } from "./choices.js";
import type { Requested } from "./setting.js";
import type { runSettings } from "./table.js";
import { defaultThresholds, mergeThresholds, type Thresholds } from "./thresholds.js";

export interface Configuration {
  /** Absolute path; null without a file. */
  path: string | null;
  plan: Requested<typeof runSettings>;
  /** Absolute path. */
  baseline: string | null;
  runs: number | null;
  /** Merged with the defaults. */
  thresholds: Thresholds;
  strict: boolean;
}

export const noConfiguration: Configuration = {
  path: null,
  plan: {},
  baseline: null,
  runs: null,
  thresholds: defaultThresholds,
  strict: false,
};

/**
 * Loads the file named by `config`, none for false, or the nearest from `cwd` upwards for null. Throws a usage error
 * that names the file, the key and the allowed values.
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

/** A note for stderr, so that no configuration affects figures unnoticed. */
export function configurationNote(path: string): string {
  return `Using the configuration ${shownPath(path)}.`;
}

async function interpret(file: ConfigFile): Promise<Configuration> {
  // Loading zod takes longer than a command's start-up, so only configurations load it.
  const { configurationSchema, knownKeys } = await import("./configuration-schema.js");
  const parsed = configurationSchema.safeParse(file.value);
  if (!parsed.success) {
    const above = file.key === null ? [] : [file.key];
    throw refuse(`In ${shownPath(file.path)}, `, above, parsed.error.issues[0]!, knownKeys);
  }
  const { plan, baseline, runs, thresholds, strict } = parsed.data;
  return {
    path: file.path,
    plan: plan ?? {},
    baseline: baseline === undefined ? null : resolve(dirname(file.path), baseline),
    runs: runs ?? null,
    thresholds: mergeThresholds(defaultThresholds, thresholds ?? {}),
    strict: strict ?? false,
  };
}

/** Thresholds from a library caller, parsed like a configuration's. Throws a usage error for the first fault. */
export async function readThresholds(options: object) {
  const { knownKeys, thresholdsSchema } = await import("./configuration-schema.js");
  const requested = Object.entries(options).filter(([, value]) => value !== undefined);
  const parsed = thresholdsSchema.safeParse(Object.fromEntries(requested));
  if (parsed.success) return parsed.data;
  throw refuse("Among the options, ", ["thresholds"], parsed.error.issues[0]!, {
    "": knownKeys.thresholds ?? [],
    memory: memories,
  });
}

type KnownKeys = Readonly<Record<string, readonly string[]>>;

function refuse(
  prefix: string,
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
  const message = `${prefix}${where || "the whole"} ${issue.message}.`;
  return new PinbenchError("usage", message, hint ? { hint } : {});
}

/** The key that was likely meant, in this section or any, because keys of `plan` are often one level too high. */
function suggestion(section: string, key: string, knownKeys: KnownKeys): string {
  const within = nearestWord(key, knownKeys[section] ?? []);
  const dotted = (name: string, of: string) => (of === "" ? name : `${of}.${name}`);
  if (within !== null) return `Did you mean ${dotted(within, section)}?`;
  const other = Object.keys(knownKeys).find((name) => knownKeys[name]!.includes(key));
  if (other !== undefined) return `Did you mean ${dotted(key, other)}?`;
  return `Known keys are ${(knownKeys[section] ?? []).join(", ")}.`;
}

interface ConfigFile {
  /** Absolute path. */
  path: string;
  /** Null for a file's top level; in package.json the key that holds the value. */
  key: "pinbench" | null;
  value: unknown;
}

const configName = "pinbench.config.json";
const packageName = "package.json";

/**
 * The nearest pinbench.config.json, or package.json with the key pinbench, from `folder` up to the home folder or the
 * root; null without one. Files are parsed as JSON, never executed. Throws a usage error.
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

/** Null for a user without an entry in the system and without HOME, as with a numeric user in a container. */
function homeFolder(): string | null {
  try {
    return homedir();
  } catch {
    return null;
  }
}

/** Error codes for a missing entry, or one in a folder that this user cannot access. */
const noEntry = ["ENOENT", "ENOTDIR", "EACCES", "ERR_ACCESS_DENIED"];

/**
 * Whether a folder has this entry, even a broken link, because a file that should be read must not be skipped. If a
 * disk fails, reading reports why.
 */
function hasEntry(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => !noEntry.includes(errorCode(error) ?? ""),
  );
}

/** Like hasEntry(), but false for a broken link: most package.json files have nothing for pinbench. */
function leadsSomewhere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => errorCode(error) === "ELOOP",
  );
}

/** Reads the file named by `--config`: JSON with any name, except that of package.json only the key pinbench counts. */
async function readConfigFile(configPath: string, folder: string | null): Promise<ConfigFile> {
  const path = folder === null ? configPath : resolve(folder, configPath);
  const name = shownPath(path);
  const value = parseJson(await readTextFile(name), name);
  if (basename(path) !== packageName) return { path, key: null, value };
  if (isObject(value) && "pinbench" in value) return { path, key: "pinbench", value: value.pinbench };
  throw new PinbenchError("usage", `${name} has no key "pinbench".`, {
    hint: `Add it, or name a ${configName}.`,
  });
}

/** The path for messages: relative below the working directory, otherwise absolute. */
function shownPath(path: string): string {
  const folder = workingDirectory();
  const short = folder === null ? path : relative(folder, path) || ".";
  // With the root as working directory every path would become relative, even /dev/fd/63.
  return short.startsWith("..") || folder === "/" ? path : short;
}

/** Null if it was removed; pinbench can still measure. */
function workingDirectory(): string | null {
  try {
    return process.cwd();
  } catch {
    return null;
  }
}

/** The value below package.json's key; null without one, even in a broken file. */
async function readPackage(path: string): Promise<unknown> {
  const name = shownPath(path);
  const text = await readTextFile(name);
  if (!text.includes('"pinbench"')) return null;
  const value = parseJson(text, name);
  return isObject(value) ? (value.pinbench ?? null) : null;
}
