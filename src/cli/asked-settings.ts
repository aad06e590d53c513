import { PinbenchError } from "../errors.js";
import type { BackendChoice } from "../settings/choices.js";
import { type Configuration, loadConfiguration } from "../settings/configuration.js";
import type { Given } from "../settings/setting.js";
import { type Call, fillRunSettings } from "../settings/settings.js";
import { type RunSettings, runSettings } from "../settings/table.js";
import { chosenFormat } from "./output/document-output.js";

/** How a command was called, without its settings. */
export interface Invocation {
  /** Arguments that belong to no flag, such as a folder. */
  operands: readonly string[];
  /** Keys of the settings that flags gave; the others are at their defaults. */
  given: readonly string[];
  call: Call;
}

/** The settings of a command that flags gave. */
export function flagsGiven<Flags extends object>(flags: Flags, { given }: Invocation): Partial<Flags> {
  const values = Object.entries(flags).filter(([key]) => given.includes(key));
  return Object.fromEntries(values) as Partial<Flags>;
}

/**
 * The settings that `run` and `baseline` shall measure: flags override the configuration, which overrides the defaults.
 * Reads cell ids from stdin for "-".
 */
export async function askedSettings(
  flags: Given<typeof runSettings> & { config: string | false | null },
  invocation: Invocation,
  { isForPrograms }: { isForPrograms: boolean },
): Promise<{ settings: RunSettings; configuration: Configuration }> {
  const configuration = await loadConfiguration(flags);
  const isOnStdin = flags.cells?.join() === "-";
  const cells = isOnStdin ? runSettings.cells.kind.read(await readStdin()) : flags.cells;
  const settings = fillRunSettings(
    { origin: "configuration", given: configuration.plan },
    { origin: "flag", given: flagsGiven({ ...flags, cells }, invocation) },
  );
  const isAsked = settings.origins.backend !== undefined;
  const backend = isForPrograms && !isAsked ? gpuAlone : settings.backend;
  return { settings: { ...settings, backend }, configuration };
}

/** Throws a usage error for a search in several processes, because each process would measure other cells. */
export function refuseSearch({ blockSizesBytes }: Pick<RunSettings, "blockSizesBytes">, taker: string): void {
  if (blockSizesBytes !== "auto") return;
  throw new PinbenchError("usage", `--blocks auto searches in one process, and ${taker} takes several.`, {
    hint: "Search with pinbench run, and then measure the sizes that it names.",
  });
}

/** A program reads figures but no notices: it gets figures of the emulated device only if it asked for them. */
const gpuAlone = "cuda" satisfies BackendChoice;

/** The backend of a command that prints a document and reads no configuration. */
export function backendFor(
  flags: { backend: BackendChoice } & Parameters<typeof chosenFormat>[0],
  { given }: Invocation,
  isForPrograms = chosenFormat(flags) === "json",
): BackendChoice {
  return isForPrograms && !given.includes("backend") ? gpuAlone : flags.backend;
}

/** 16 MiB: the largest lists take about 1 MiB, so more than this is something else. */
const stdinLimitBytes = 16 * 1024 ** 2;

/** The ids of cells. Read as a stream, because stdin may be a socket, which cannot be opened as /dev/stdin. */
async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      total += chunk.length;
      if (total > stdinLimitBytes) break;
    }
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new PinbenchError("usage", `cannot read the cell ids from stdin: ${reason}.`, {
      hint: "Pipe them in, one a line.",
      cause,
    });
  }
  if (total <= stdinLimitBytes) return Buffer.concat(chunks).toString("utf8");
  throw new PinbenchError("usage", "stdin holds more than 16 MiB, and no run has that many cells.", {
    hint: "Pipe in the ids alone, one a line.",
  });
}
