import type { ResultSet } from "../compare/result-set.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { parseCellId } from "../results/cell-id.js";
import type { BackendChoice } from "../settings/choices.js";
import { fillRunSettings, overrideSettings, type Source } from "../settings/settings.js";
import type { RunSettings } from "../settings/table.js";

/**
 * The settings that measure a baseline again, to check against it or to add to it: the cells with a figure, measured as
 * its runs were, except for the measuring flags that are given. Throws a PinbenchError if they cannot be measured here.
 */
export async function settingsOfBaseline(
  baseline: ResultSet,
  given: Source["given"],
): Promise<RunSettings & { cells: readonly string[] }> {
  const { path } = baseline;
  const measured = baseline.runs.flatMap((run) => run.cells.filter(({ figures }) => figures.length > 0));
  const cells = [...new Set(measured.map(({ cell }) => cell.id))];
  if (cells.length === 0) {
    throw new PinbenchError("notComparable", `${path} has no cell with a figure to check against.`, {
      hint: "Make a baseline with `pinbench baseline`.",
    });
  }
  for (const id of cells) checkId(id, path);
  const earlier = baseline.runs.find(({ settings }) => settings !== null)?.settings;
  // A result without its settings comes from a GPU.
  const usual = { ...fillRunSettings(), backend: "cuda" as const };
  const settings = overrideSettings(earlier ?? usual, { origin: "flag", given });
  await checkBackend(settings.backend, path);
  return { ...settings, cells };
}

function checkId(id: string, path: string | null): void {
  try {
    parseCellId(id);
  } catch (cause) {
    throw new PinbenchError("usage", `${path} has the cell ${JSON.stringify(id)}, which is not a cell id.`, {
      hint: "Make a baseline with `pinbench baseline`.",
      cause,
    });
  }
}

async function checkBackend(backend: BackendChoice, path: string | null): Promise<void> {
  try {
    await openBackend(backend, loadAddon());
  } catch (error) {
    if (!(error instanceof PinbenchError) || error.exitCode !== ExitCode.unavailable) throw error;
    throw new PinbenchError(error.kind, error.sentence, {
      details: error.details,
      hint: `${path} was measured on a GPU: check it on a machine that has one.`,
      cause: error,
    });
  }
}
