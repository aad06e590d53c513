import { numberAlike, numbersOnMachine } from "../compare/match-devices.js";
import type { ResultSet } from "../compare/result-set.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { type Backend, openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { withDevices } from "../results/cell-devices.js";
import { parseCellId } from "../results/cell-id.js";
import type { Cell } from "../results/cell-schema.js";
import type { BackendChoice } from "../settings/choices.js";
import { fillRunSettings, overrideSettings, type Source } from "../settings/settings.js";
import type { RunSettings } from "../settings/table.js";

/**
 * The settings that measure a baseline again, to check against it or to extend it: its cells that have a figure,
 * measured like its runs, except for the requested measuring flags. GPUs have this machine's numbers; GPUs that it
 * lacks are left out if it has others of the baseline. Throws a PinbenchError if the cells cannot be measured here.
 */
export async function settingsOfBaseline(
  baseline: ResultSet,
  requested: Source["values"],
): Promise<RunSettings & { cells: readonly string[] }> {
  const { path } = baseline;
  const runs = numberAlike(baseline.runs);
  const measured = runs.flatMap((run) => run.cells.filter(({ figures }) => figures.length > 0));
  const cells = [...new Set(measured.map(({ cell }) => cell.id))].map((id) => readId(id, path));
  if (cells.length === 0) throw nothingToMeasure(`${path} has no cell with a figure to check against`);
  const earlier = baseline.runs.find(({ settings }) => settings !== null)?.settings;
  // A result without its settings comes from a GPU.
  const usual = { ...fillRunSettings(), backend: "cuda" as const };
  const settings = overrideSettings(earlier ?? usual, { origin: "flag", values: requested });
  const { facts } = await openToMeasure(settings.backend, path);
  const numberOf = numbersOnMachine(
    runs,
    facts.devices.map(({ ordinal, ...names }) => ({ ...names, device: ordinal })),
  );
  const ids = cells.flatMap((cell) => withDevices(cell, numberOf)?.id ?? []);
  if (ids.length === 0) throw nothingToMeasure(`this machine lacks a GPU of each cell in ${path}`);
  return { ...settings, cells: ids };
}

function nothingToMeasure(reason: string): PinbenchError {
  return new PinbenchError("notComparable", `${reason}.`, {
    hint: "Make a baseline with `pinbench baseline`.",
  });
}

function readId(id: string, path: string | null): Cell {
  try {
    return parseCellId(id);
  } catch (cause) {
    throw new PinbenchError("usage", `${path} has the cell ${JSON.stringify(id)}, which is not a cell id.`, {
      hint: "Make a baseline with `pinbench baseline`.",
      cause,
    });
  }
}

async function openToMeasure(backend: BackendChoice, path: string | null): Promise<Backend> {
  try {
    return await openBackend(backend, loadAddon());
  } catch (error) {
    if (!(error instanceof PinbenchError) || error.exitCode !== ExitCode.unavailable) throw error;
    throw new PinbenchError(error.kind, error.sentence, {
      details: error.details,
      hint: `${path} was measured on a GPU: check it on a machine that has one.`,
      cause: error,
    });
  }
}
