import type { ChalkInstance } from "chalk";
import { type ReportFormat, renderReport } from "../report/formats.js";
import type { ResultDocument } from "../results/schema.js";
import { finalize } from "../results/store.js";
import { plainChalk } from "./colour.js";
import { reportError } from "./report-error.js";
import { writeStdout } from "./stdout.js";

export interface Output {
  path: string;
  format: ReportFormat;
}

/**
 * Hands a finished document over: stdout first, then every file, whatever became of the others, since a measurement
 * cannot be had again. Then throws the first error, having reported the rest.
 */
export async function deliver(
  document: ResultDocument,
  outputs: readonly Output[],
  options: { format: ReportFormat; chalk: ChalkInstance; debug: boolean },
): Promise<void> {
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => errors.push(error));

  const { format, chalk } = options;
  if (format === "json" || isWorthShowing(document)) {
    await attempt(async () => writeStdout(renderReport(document, format, chalk)));
  }
  for (const { path, format } of outputs) {
    await attempt(async () => finalize(path, renderReport(document, format, plainChalk())));
  }
  for (const error of errors.slice(1)) reportError(error, options);
  if (errors.length > 0) throw errors[0];
}

/** Tables for people are left out where a signal came before the first figure. */
function isWorthShowing({ cells }: ResultDocument): boolean {
  return cells.some(({ stats, outcome }) => stats.length > 0 || outcome !== null);
}
