import { z } from "zod";
import { PinbenchError } from "../errors.js";
import { checkShape } from "../text-file.js";
import { cellResultSchema } from "./cell-schema.js";
import { checkKind, checkPossible, checkVersion, describePath, faultOfFigures, rerunHint } from "./parse.js";
import { resultSchema } from "./schema.js";

/**
 * Result documents of which the figures alone are read, many thousands one after the other: reading the samples and
 * checking all that a result holds would take most of the time.
 */

const { run, plan, ...rest } = resultSchema.shape;

const figuresSchema = z.object({
  ...z
    .object(rest)
    .pick({ importedFrom: true, backend: true, notice: true, host: true, devices: true, fingerprint: true })
    .shape,
  run: run.omit({ argv: true, finishedAt: true, load: true, sharing: true, processes: true }),
  plan: plan.unwrap().pick({ numa: true }).nullable(),
  cells: z.array(
    cellResultSchema.omit({
      placement: true,
      pages: true,
      cachePool: true,
      syncMode: true,
      copiesPerSample: true,
      samples: true,
      link: true,
      verification: true,
      load: true,
      computeNs: true,
      warnings: true,
    }),
  ),
});

/** What is read of a result. */
export type ResultFigures = z.infer<typeof figuresSchema>;

/**
 * The columns of samples as text. They hold numbers alone, and no text of a document looks like one: quotes inside a
 * string have a backslash before them.
 */
const columns = /"(startNs|durationNs|round)":\s*\[[^\]"]*\]/g;

/** A document's text with its columns of samples left empty. */
export function withoutSamples(text: string): string {
  return text.replace(columns, '"$1":[]');
}

/**
 * The figures of a result document that a value of unknown kind is, read from a text `withoutSamples()`. `name` is what
 * messages call it, a path as a rule. Throws one PinbenchError (usage) that names the first thing that is wrong with what
 * is read.
 */
export function checkedFigures(value: unknown, name: string): ResultFigures {
  checkKind(value, name);
  checkVersion(value, name);
  const parsed = checkShape(figuresSchema, value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue === undefined ? "" : ` at ${describePath(issue.path)}: ${issue.message}`;
    throw unusable(`${name} is not a valid pinbench result${where}.`);
  }
  const ids = new Set<string>();
  for (const { id, stats, outcome } of parsed.data.cells) {
    if (ids.has(id)) throw unusable(`${name} has the cell ${id} twice.`);
    ids.add(id);
    const isFinished = outcome === "converged" || outcome === "budget";
    const fault = isFinished && stats.length === 0 ? "no figures of" : faultOfFigures(stats);
    if (fault !== null) throw unusable(`${name} has ${fault} the cell ${id}.`);
  }
  checkPossible(parsed.data, name);
  return parsed.data;
}

function unusable(message: string): PinbenchError {
  return new PinbenchError("usage", message, { hint: rerunHint });
}
