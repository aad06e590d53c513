import { appendFile } from "node:fs/promises";
import type { Comparison } from "../compare/comparison.js";
import { ExitCode } from "../errors.js";
import type { ComparisonFormat } from "../report/comparison/format-names.js";
import { comparisonFormatOfPath, renderComparison } from "../report/comparison/formats.js";
import { githubStepSummary } from "../report/comparison/github.js";
import { cannotWrite } from "../results/output-stream.js";
import { checkWritable } from "../results/store.js";
import { plainChalk, stdoutChalk } from "./colour.js";
import type { ComparisonFlags } from "./comparison-options.js";
import { deliver } from "./deliver.js";
import { keepInputs } from "./keep-inputs.js";
import { chosenFormat } from "./option-values.js";

/** Where a comparison is to go, checked before anything is measured. */
export interface ComparisonOutputs {
  format: ComparisonFormat;
  files: { path: string; format: ComparisonFormat }[];
}

/** `inputs` are what the command reads, which no output may be. */
export async function comparisonOutputs(
  flags: ComparisonFlags,
  inputs: readonly string[],
): Promise<ComparisonOutputs> {
  const format = chosenFormat(flags) ?? "table";
  const files = flags.output.map((path) => ({ path, format: comparisonFormatOfPath(path) }));
  await keepInputs(flags.output, inputs);
  for (const { path } of files) await checkWritable(path);
  return { format, files };
}

/** Prints and writes a comparison, and returns the exit code that follows from it. */
export async function deliverComparison(
  comparison: Comparison,
  { format, files }: ComparisonOutputs,
  flags: ComparisonFlags,
): Promise<ExitCode> {
  const delivery = {
    stdout: () => renderComparison(comparison, format, stdoutChalk(flags)),
    files: files.map(({ path, format }) => ({
      path,
      text: () => renderComparison(comparison, format, plainChalk()),
    })),
    besides: format === "github" ? [() => writeStepSummary(comparison)] : [],
  };
  await deliver(delivery, { debug: flags.debug ?? false });
  return exitCodes[comparison.outcome];
}

const exitCodes = {
  pass: ExitCode.ok,
  regression: ExitCode.regression,
  failed: ExitCode.measurement,
  "not comparable": ExitCode.notComparable,
  inconclusive: ExitCode.inconclusive,
} as const satisfies Record<Comparison["outcome"], ExitCode>;

/** A step of GitHub Actions may append Markdown to this file; it is shown on the run's page. */
async function writeStepSummary(comparison: Comparison): Promise<void> {
  const path = process.env.GITHUB_STEP_SUMMARY;
  if (!path) return;
  await appendFile(path, githubStepSummary(comparison)).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
}
