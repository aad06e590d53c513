import { type DocumentKind, drawDocument } from "../../draw/document-kind.js";
import type { Chapter } from "../../draw/page/chapter.js";
import { fileScreen, type Screen } from "../../draw/screen.js";
import { PinbenchError } from "../../errors.js";
import { type FoundDocument, type KnownDocument, loadKind } from "../../kinds/document-kinds.js";
import { checkWritable, finalize } from "../../results/files/store.js";
import type { ResultDocument } from "../../results/schema.js";
import {
  type DocumentName,
  documentFormats,
  type FormatOf,
  type Formats,
  formatOfPath,
} from "../../settings/document-formats.js";
import { keepInputs } from "./output-paths.js";
import { type DisplayFlags, stderrScreen, stdoutScreen } from "./screens.js";
import { noter, reportError, writeStdout } from "./terminal.js";

/**
 * The destinations of a command's document, checked before measuring. Throws a usage error if the flags contradict each
 * other, and an "output" error if a file cannot be written or would replace one of `inputs`.
 */
export async function destinationsOf<Name extends DocumentName>(
  name: Name,
  flags: { output: readonly string[] } & DisplayFlags & { json: boolean; format: FormatOf<Name> | null },
  inputs: readonly string[] = [],
): Promise<Destinations<FormatOf<Name>> & { format: FormatOf<Name> }> {
  const files = outputFiles(documentFormats[name], flags.output) as Output<FormatOf<Name>>[];
  const format = chosenFormat(flags) as FormatOf<Name>;
  await keepInputs(flags.output, inputs);
  for (const { path } of files) await checkWritable(path);
  return { format, files, flags };
}

/** The format chosen by `--json` and `--format`. Throws a usage error if they contradict each other. */
export function chosenFormat<Format extends string>({
  json,
  format,
}: {
  json: boolean;
  format: Format | null;
}): Format | "json" | "table" {
  if (json && format !== null && format !== "json") {
    throw new PinbenchError("usage", `--json and --format ${format} contradict each other.`, {
      hint: "Leave one of them out.",
    });
  }
  return json ? "json" : (format ?? "table");
}

/** The files of `--output` with their formats, from their names. Throws a usage error for a name without a format. */
export function outputFiles<Some extends Formats>(
  formats: Some,
  paths: readonly string[],
): Output<keyof Some & string>[] {
  return paths.map((path) => ({ path, format: formatOfPath(formats, path) }));
}

/** Pages and pictures need much more code. */
export function isPicture(format: string): boolean {
  return format === "html" || format === "svg";
}

export async function documentDrawer<Known extends KnownDocument>({
  kind: name,
  document,
}: Known): Promise<(format: string, screen: Screen) => Promise<string>> {
  const kind = (await loadKind(name)) as unknown as DocumentKind<Known["document"]>;
  return async (format, screen) => {
    if (!isPicture(format)) return drawDocument(kind, document, format, { screen });
    const found = { kind: name, document, path: null } as unknown as FoundDocument;
    return drawPictures([found], format);
  };
}

/**
 * Draws all charts and tables as a page, or one chart as a picture (the first by default). Rejects like
 * chartOfDocuments().
 */
export async function drawPictures(
  documents: readonly FoundDocument[],
  format: string,
  { chart = null, difference = null }: { chart?: string | null; difference?: Chapter | null } = {},
): Promise<string> {
  const { pageOfDocuments, chartOfDocuments } = await import("../../kinds/draw-documents.js");
  return format === "html" ? pageOfDocuments(documents, difference) : chartOfDocuments(documents, chart);
}

export interface Output<Format> {
  path: string;
  format: Format;
}

export interface Destinations<Format> {
  /** The format on stdout; null for nothing. */
  format: Format | null;
  files: readonly Output<Format>[];
  flags: DisplayFlags;
}

/**
 * Delivers a document to stdout, then to every file, even if one fails, because a measurement cannot be repeated.
 * Throws the first error and reports the others.
 */
export async function deliver<Format>(
  render: (format: Format, screen: Screen) => string | Promise<string>,
  { format, files, flags }: Destinations<Format>,
): Promise<void> {
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => errors.push(error));

  const inFile =
    format === "json" && process.stdout.isTTY ? files.find((file) => file.format === format) : undefined;
  if (inFile !== undefined)
    noter({ quiet: false })(`the JSON is only in ${inFile.path}, not on this terminal.`);
  else if (format !== null) await attempt(async () => writeStdout(await render(format, stdoutScreen(flags))));
  for (const file of files)
    await attempt(async () => finalize(file.path, await render(file.format, fileScreen())));
  for (const error of errors.slice(1)) reportError(error);
  if (errors.length > 0) throw errors[0];
}

export async function deliverDocument<Known extends KnownDocument>(
  known: Known,
  destinations: Destinations<string>,
): Promise<void> {
  const draw = await documentDrawer(known);
  await deliver(draw, destinations);
}

export async function deliverToStderr<Known extends KnownDocument>(
  known: Known,
  { format, files, flags }: Destinations<string>,
): Promise<void> {
  const draw = await documentDrawer(known);
  const text = await draw(format ?? "table", stderrScreen(flags));
  await new Promise<void>((resolve) => process.stderr.write(text, () => resolve()));
  await deliver(draw, { format: null, files, flags });
}

/**
 * Suggests doctor on stderr if copies are slower than on healthy machines. Loads the reference only if NVML reported a
 * link.
 */
export async function adviseDoctor(document: ResultDocument): Promise<void> {
  if (document.devices.every(({ link }) => link === null)) return;
  const { doctorAdvice } = await import("../../reference/doctor-advice.js");
  const advice = doctorAdvice(document);
  if (advice !== null) noter({ quiet: false })(advice);
}
