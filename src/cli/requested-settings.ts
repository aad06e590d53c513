import { PinbenchError } from "../errors.js";
import type { BackendChoice } from "../settings/choices.js";
import { type Configuration, loadConfiguration } from "../settings/configuration.js";
import type { Requested } from "../settings/setting.js";
import { type Call, fillRunSettings } from "../settings/settings.js";
import type { RunSettings, runSettings } from "../settings/table.js";
import { chosenFormat } from "./output/document-output.js";

export interface Invocation {
  /** Arguments that belong to no flag, such as a folder. */
  operands: readonly string[];
  /** Settings that flags have set; the others have their defaults. */
  flagKeys: readonly string[];
  call: Call;
}

export function requestedFlags<Flags extends object>(flags: Flags, { flagKeys }: Invocation): Partial<Flags> {
  const values = Object.entries(flags).filter(([key]) => flagKeys.includes(key));
  return Object.fromEntries(values) as Partial<Flags>;
}

export async function requestedSettings(
  flags: Requested<typeof runSettings> & { config: string | false | null },
  invocation: Invocation,
  { isForPrograms }: { isForPrograms: boolean },
): Promise<{ settings: RunSettings; configuration: Configuration }> {
  const configuration = await loadConfiguration(flags);
  const settings = fillRunSettings(
    { origin: "configuration", values: configuration.plan },
    { origin: "flag", values: requestedFlags(flags, invocation) },
  );
  const isRequested = settings.origins.backend !== undefined;
  const backend = isForPrograms && !isRequested ? gpuAlone : settings.backend;
  return { settings: { ...settings, backend }, configuration };
}

/** Refuses `--blocks auto` if several processes measure: each would search other cells. */
export function refuseSearch({ blockSizesBytes }: Pick<RunSettings, "blockSizesBytes">, taker: string): void {
  if (blockSizesBytes !== "auto") return;
  throw new PinbenchError("usage", `--blocks auto searches in one process, and ${taker} takes several.`, {
    hint: "Search with pinbench run, and then measure the sizes that it names.",
  });
}

/** A program that reads figures sees no notices, so it gets the emulated device only on request. */
const gpuAlone = "cuda" satisfies BackendChoice;

export function backendFor(
  flags: { backend: BackendChoice } & Parameters<typeof chosenFormat>[0],
  { flagKeys }: Invocation,
  isForPrograms = chosenFormat(flags) === "json",
): BackendChoice {
  return isForPrograms && !flagKeys.includes("backend") ? gpuAlone : flags.backend;
}
