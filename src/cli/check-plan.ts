import type { ResultSet } from "../compare/result-set.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { parseCellId } from "../plan/cell.js";
import { defaultSettings, type RepeatSettings } from "../results/repeat-settings.js";
import type { CheckPlan } from "./check-session.js";

/**
 * What a check of this baseline measures: the cells of which it has a figure, as its runs measured them, but for what
 * `override` says. What would keep it from being measured here is found now. Throws PinbenchError.
 */
export async function checkPlan(
  baseline: ResultSet,
  override: (settings: RepeatSettings) => RepeatSettings,
  timing: Pick<CheckPlan, "runs" | "confirmAfterNs">,
): Promise<CheckPlan> {
  const { path } = baseline;
  const measured = baseline.runs.flatMap((run) => run.cells.filter(({ figures }) => figures.length > 0));
  const cellIds = [...new Set(measured.map(({ cell }) => cell.id))];
  if (cellIds.length === 0) {
    throw new PinbenchError("notComparable", `${path} has no cell with a figure to check against.`, {
      hint: "Make a baseline with `pinbench baseline`.",
    });
  }
  for (const id of cellIds) checkId(id, path);
  const settings = override(
    baseline.runs.find(({ settings }) => settings !== null)?.settings ?? defaultSettings,
  );
  await checkBackend(settings.backend, path);
  return { baseline, cellIds, settings, ...timing };
}

function checkId(id: string, path: string | null): void {
  try {
    parseCellId(id);
  } catch (cause) {
    throw new PinbenchError("usage", `${path} has the cell ${JSON.stringify(id)}, which is no cell's id.`, {
      hint: "Make a baseline with `pinbench baseline`.",
      cause,
    });
  }
}

async function checkBackend(backend: RepeatSettings["backend"], path: string | null): Promise<void> {
  try {
    await openBackend(backend, loadAddon());
  } catch (error) {
    if (!(error instanceof PinbenchError) || error.exitCode !== ExitCode.unavailable) throw error;
    throw new PinbenchError(error.kind, error.message, {
      hint: `${path} was measured on a GPU: check it on a machine that has one.`,
      cause: error,
    });
  }
}
