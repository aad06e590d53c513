import { dirname, resolve } from "node:path";
import type { z } from "zod";
import { PinbenchError } from "../errors.js";
import { defaultThresholds, mergeThresholds, type Thresholds } from "../settings/thresholds.js";
import {
  type ConfigFile,
  findConfigFile,
  readConfigFile,
  shownPath,
  workingDirectory,
} from "./config-file.js";
import type { Config } from "./config-schema.js";
import { nearest } from "./nearest.js";
import type { PlanFlags } from "./run-options.js";

/** What a configuration says, in the flags' types and units; null for what it leaves open. */
export interface LoadedConfig {
  /** Absolute; null where there is none. */
  path: string | null;
  plan: Partial<PlanFlags>;
  /** Absolute. */
  baseline: string | null;
  runs: number | null;
  /** Over the defaults. */
  thresholds: Thresholds;
  significance: number | null;
  strict: boolean | null;
}

/**
 * Reads the file that `--config` names, none for `--no-config` (false), else the nearest from `cwd` upwards. Throws a
 * usage error that names the file, the key and what may stand there.
 */
export async function loadConfig(flags: { config?: string | false }, cwd?: string): Promise<LoadedConfig> {
  if (flags.config === false) return noConfig;
  const folder = cwd ?? workingDirectory();
  const file =
    flags.config === undefined
      ? folder && (await findConfigFile(folder))
      : await readConfigFile(flags.config, folder);
  return file ? interpret(file) : noConfig;
}

/** One line for stderr: figures must not depend on a file that nobody knows of. */
export function configNote(path: string): string {
  return `Using the configuration ${shownPath(path)}.`;
}

/** For what follows no file. */
export const noConfig: LoadedConfig = {
  path: null,
  plan: {},
  baseline: null,
  runs: null,
  thresholds: defaultThresholds,
  significance: null,
  strict: null,
};

async function interpret(file: ConfigFile): Promise<LoadedConfig> {
  // zod takes longer to load than all of a command's start: it is loaded for those who have a configuration.
  const { configSchema, knownKeys } = await import("./config-schema.js");
  const parsed = configSchema.safeParse(file.value);
  if (!parsed.success) throw invalid(file, parsed.error.issues[0]!, knownKeys);
  const { plan, baseline, runs, thresholds, significance, strict } = parsed.data;
  return {
    path: file.path,
    plan: plan ?? {},
    baseline: baseline === undefined ? null : resolve(dirname(file.path), baseline),
    runs: runs ?? null,
    thresholds: mergeThresholds(defaultThresholds, overrides(thresholds)),
    significance: significance ?? null,
    strict: strict ?? null,
  };
}

/** In the file the patterns of cells are keys, here an ordered list. */
export function overrides({ cells, ...rest }: NonNullable<Config["thresholds"]> = {}): Partial<Thresholds> {
  if (cells === undefined) return rest;
  return { ...rest, cells: Object.entries(cells).map(([pattern, threshold]) => ({ pattern, threshold })) };
}

type KnownKeys = Readonly<Record<string, readonly string[]>>;

function invalid(file: ConfigFile, issue: z.core.$ZodIssue, knownKeys: KnownKeys): PinbenchError {
  return refuse(`In ${shownPath(file.path)}, `, file.key === null ? [] : [file.key], issue, knownKeys);
}

/** A usage error for the first thing that is wrong: where it is, what may stand there and what was likely meant. */
export function refuse(
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
  const within = nearest(key, knownKeys[section] ?? []);
  const dotted = (name: string, of: string) => (of === "" ? name : `${of}.${name}`);
  if (within !== null) return `Did you mean ${dotted(within, section)}?`;
  const other = Object.keys(knownKeys).find((name) => knownKeys[name]!.includes(key));
  if (other !== undefined) return `Did you mean ${dotted(key, other)}?`;
  return `Known here are ${(knownKeys[section] ?? []).join(", ")}.`;
}
