import { compareSets } from "../../compare/compare-results.js";
import { readResultSet } from "../../compare/result-set.js";
import { ExitCode, PinbenchError } from "../../errors.js";
import { type DocumentOf, type KnownDocument, loadKind } from "../../kinds/document-kinds.js";
import { kindOfFile, readDocuments } from "../../kinds/read-documents.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { configurationNote, loadConfiguration } from "../../settings/configuration.js";
import { type DocumentName, documentFormats, type FormatOf } from "../../settings/document-formats.js";
import { deliverComparison, ruleOf } from "../output/comparison-delivery.js";
import { chosenFormat, deliverDocument, destinationsOf } from "../output/document-output.js";
import { noter } from "../output/terminal.js";
import type { Invocation } from "../requested-settings.js";

export async function compareCommand(
  flags: CommandSettings<"compare">,
  { operands: [baseline = "", candidate = ""] }: Invocation,
): Promise<ExitCode> {
  const [kind, other] = await Promise.all([baseline, candidate].map(kindOfFile));
  if (kind != null && kind === other) {
    const { changeOf } = await loadKind(kind);
    if (changeOf !== undefined) return compareDocuments(kind, [baseline, candidate], flags, changeOf);
  }
  const configuration = await loadConfiguration(flags);
  const outputs = await destinationsOf("comparison", flags, [baseline, candidate]);
  const [before, after] = [
    await readResultSet(baseline, "baseline"),
    await readResultSet(candidate, "candidate"),
  ];
  if (configuration.path !== null) noter(flags)(configurationNote(configuration.path));
  return deliverComparison(compareSets(before, after, ruleOf(flags, configuration)), outputs);
}

/** Compares documents other than results; their kind says what has changed. */
async function compareDocuments<Name extends DocumentName>(
  kind: Name,
  paths: readonly string[],
  flags: CommandSettings<"compare">,
  changeOf: (before: DocumentOf[Name], after: DocumentOf[Name]) => DocumentOf[Name],
): Promise<ExitCode> {
  const format = chosenFormat(flags);
  if (!Object.hasOwn(documentFormats[kind], format)) {
    throw new PinbenchError("usage", `a comparison of this kind, ${kind}, has no format ${format}.`);
  }
  const destinations = await destinationsOf(kind, { ...flags, format: null, json: false }, paths);
  const documents = (await Promise.all(paths.map(readDocuments))).flat();
  const [before, after] = documents.map(({ document }) => document as DocumentOf[Name]);
  const known = { kind, document: changeOf(before!, after!) } as unknown as KnownDocument;
  await deliverDocument(known, { ...destinations, format: format as FormatOf<Name> });
  return ExitCode.ok;
}
