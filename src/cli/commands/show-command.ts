import { ExitCode, PinbenchError } from "../../errors.js";
import type { FoundDocument, KnownDocument } from "../../kinds/document-kinds.js";
import { readDocuments } from "../../kinds/read-documents.js";
import { checkWritable } from "../../results/files/store.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { documentFormats, formatNames, pictureFormats } from "../../settings/document-formats.js";
import { inheritedDescriptor } from "../../text-file.js";
import {
  chosenFormat,
  deliver,
  deliverDocument,
  documentDrawer,
  drawPictures,
  isPicture,
  outputFiles,
} from "../output/document-output.js";
import { keepInputs } from "../output/output-paths.js";
import { writeStdout } from "../output/terminal.js";
import type { Invocation } from "../requested-settings.js";

type ShowFlags = CommandSettings<"show">;

export async function showCommand(flags: ShowFlags, { operands }: Invocation): Promise<ExitCode> {
  const format = chosenFormat(flags);
  if (flags.chart !== null && !flags.output.some((path) => /\.svg$/i.test(path))) {
    throw new PinbenchError("usage", "--chart has no effect without an .svg file in --output.", {
      hint: "Give --output chart.svg as well.",
    });
  }
  await keepInputs(flags.output, operands);
  const documents: FoundDocument[] = [];
  for (const path of operands) documents.push(...(await readDocuments(path)));
  if (flags.output.length > 0) await writeDocuments(documents, flags);
  else for (const one of documents) await printDocument(one, format, flags);
  return ExitCode.ok;
}

async function printDocument(
  { kind, document, path }: FoundDocument,
  format: string,
  flags: ShowFlags,
): Promise<void> {
  if (!Object.hasOwn(documentFormats[kind], format)) {
    throw new PinbenchError("usage", `${path} has no format ${format}.`, {
      hint: `Use one of ${formatNames(kind).join(", ")}.`,
    });
  }
  const known = { kind, document } as KnownDocument;
  await deliverDocument(known, { format, files: [], flags });
}

/** Writes several documents as one page or one picture, or one document in any of its formats. */
async function writeDocuments(documents: readonly FoundDocument[], flags: ShowFlags): Promise<void> {
  const first = documents[0]!;
  const isAlone = documents.length === 1;
  const files = outputFiles(isAlone ? documentFormats[first.kind] : pictureFormats, flags.output);
  for (const { path } of files) await checkWritable(path);
  // Loads the code that compares results only for two documents.
  const difference =
    documents.length === 2 ? await (await import("../../kinds/difference.js")).differenceOf(documents) : null;
  const draw = await documentDrawer(first);
  await deliver(
    (format: string, screen) =>
      isPicture(format)
        ? drawPictures(documents, format, { chart: flags.chart, difference })
        : draw(format, screen),
    { format: null, files, flags },
  );
  const paths = files.map(({ path }) => path).filter((path) => inheritedDescriptor(path) === null);
  // Prints no paths if a document was written to stdout.
  if (paths.length === files.length) await writeStdout(paths.map((path) => `${path}\n`).join(""));
}
