import { PinbenchError } from "../errors.js";
import type { BackendChoice } from "../settings/choices.js";
import { type Configuration, loadConfiguration } from "../settings/configuration.js";
import type { Given } from "../settings/setting.js";
import { type Call, fillRunSettings } from "../settings/settings.js";
import type { RunSettings, runSettings } from "../settings/table.js";
import { chosenFormat } from "./output/document-output.js";

export interface Invocation {
  /** Arguments that belong to no flag, such as a folder. */
  operands: readonly string[];
  /** Keys of the settings that flags gave; the others are at their defaults. */
  given: readonly string[];
  call: Call;
}

export function flagsGiven<Flags extends object>(flags: Flags, { given }: Invocation): Partial<Flags> {
  const values = Object.entries(flags).filter(([key]) => given.includes(key));
  return Object.fromEntries(values) as Partial<Flags>;
}

export async function askedSettings(
  flags: Given<typeof runSettings> & { config: string | false | null },
  invocation: Invocation,
  { isForPrograms }: { isForPrograms: boolean },
): Promise<{ settings: RunSettings; configuration: Configuration }> {
  const configuration = await loadConfiguration(flags);
  const settings = fillRunSettings(
    { origin: "configuration", given: configuration.plan },
    { origin: "flag", given: flagsGiven(flags, invocation) },
  );
  const isAsked = settings.origins.backend !== undefined;
  const backend = isForPrograms && !isAsked ? gpuAlone : settings.backend;
  return { settings: { ...settings, backend }, configuration };
}

/** Each process would measure other cells. */
export function refuseSearch({ blockSizesBytes }: Pick<RunSettings, "blockSizesBytes">, taker: string): void {
  if (blockSizesBytes !== "auto") return;
  throw new PinbenchError("usage", `--blocks auto searches in one process, and ${taker} takes several.`, {
    hint: "Search with pinbench run, and then measure the sizes that it names.",
  });
}

/** A program reads figures but no notices: it gets figures of the emulated device only if it asked for them. */
const gpuAlone = "cuda" satisfies BackendChoice;

export function backendFor(
  flags: { backend: BackendChoice } & Parameters<typeof chosenFormat>[0],
  { given }: Invocation,
  isForPrograms = chosenFormat(flags) === "json",
): BackendChoice {
  return isForPrograms && !given.includes("backend") ? gpuAlone : flags.backend;
}
