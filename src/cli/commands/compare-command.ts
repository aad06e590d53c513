import { compareResults } from "../../compare/compare-results.js";
import { readResultSet } from "../../compare/result-set.js";
import { ExitCode, PinbenchError } from "../../errors.js";
import { beginsAs, readDocuments } from "../../kinds/read-documents.js";
import { packageVersion } from "../../package-facts.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { configurationNote, loadConfiguration } from "../../settings/configuration.js";
import { documentFormats } from "../../settings/document-formats.js";
import type { Trace } from "../../trace/trace-document.js";
import type { Invocation } from "../asked-settings.js";
import { deliverComparison, ruleOf } from "../output/comparison-delivery.js";
import { chosenFormat, deliverDocument, destinationsOf } from "../output/document-output.js";
import { noter } from "../output/terminal.js";

export async function compareCommand(
  flags: CommandSettings<"compare">,
  { operands: [baseline = "", candidate = ""] }: Invocation,
): Promise<ExitCode> {
  if ((await beginsAs("trace", baseline)) && (await beginsAs("trace", candidate)))
    return compareTraces(flags, baseline, candidate);
  const configuration = await loadConfiguration(flags);
  const outputs = await destinationsOf("comparison", flags, [baseline, candidate]);
  const [before, after] = [
    await readResultSet(baseline, "baseline"),
    await readResultSet(candidate, "candidate"),
  ];
  if (configuration.path !== null) noter(flags)(configurationNote(configuration.path));
  const comparison = compareResults({
    version: packageVersion(),
    command: "compare",
    baseline: before,
    candidate: after,
    fresh: [],
    suspects: [],
    rule: ruleOf(flags, configuration),
  });
  return deliverComparison(comparison, outputs);
}

/** Of two traces, the later one says what has changed. */
async function compareTraces(flags: CommandSettings<"compare">, ...paths: string[]): Promise<ExitCode> {
  const format = chosenFormat(flags);
  if (!Object.hasOwn(documentFormats.trace, format)) {
    throw new PinbenchError("usage", `a comparison of traces has no format ${format}.`);
  }
  const destinations = await destinationsOf("trace", { ...flags, format: null, json: false }, paths);
  const documents = await Promise.all(paths.map(readDocuments));
  const [before, now] = documents.flat().map(({ document }) => document as Trace);
  const { createdAt, command, processes } = before!;
  const document = { ...now!, earlier: { createdAt, command, processes } };
  await deliverDocument({ kind: "trace", document }, { ...destinations, format });
  return ExitCode.ok;
}
