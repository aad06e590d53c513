import { type DocumentKind, drawDocument } from "../../draw/document-kind.js";
import type { Chapter } from "../../draw/page/chapter.js";
import { printableDocument } from "../../draw/printable-text.js";
import type { Screen } from "../../draw/screen.js";
import { PinbenchError } from "../../errors.js";
import { type FoundDocument, type KnownDocument, loadKind } from "../../kinds/document-kinds.js";
import { finalize } from "../../results/files/store.js";
import type { ResultDocument } from "../../results/schema.js";
import { chartChoices, checkChartName, type Formats, formatOfPath } from "../../settings/document-formats.js";
import { type DisplayFlags, outputScreen, stdoutScreen } from "./screens.js";
import { noter, reportError, writeStdout } from "./terminal.js";

/** What says which files a command writes. */
interface OutputFlags {
  output: readonly string[];
  /** Which chart an .svg file is to have; null if none is named. Absent from commands whose documents have no charts. */
  chart?: string | null;
}

/**
 * The files of `--output` with the formats that their names ask for. Throws a usage error where --chart and
 * these do not belong together: found before anything is measured.
 */
export function outputFiles<Some extends Formats>(
  formats: Some,
  { output, chart = null }: OutputFlags,
): Output<keyof Some & string>[] {
  const files = output.map((path) => ({ path, format: formatOfPath(formats, path) }));
  const picture = files.find(({ format }) => format === "svg");
  if (chart !== null && picture === undefined) {
    throw new PinbenchError("usage", "--chart has no effect without an .svg file in --output.", {
      hint: `Give --output ${/^[\w-]+$/.test(chart) ? chart : "chart"}.svg as well.`,
    });
  }
  if (chart === null && picture !== undefined) {
    throw new PinbenchError("usage", `${picture.path} shows one chart, and --chart does not name it.`, {
      hint: `Give --chart NAME. ${chartChoices(formats)}`,
    });
  }
  if (chart !== null) checkChartName(formats, chart);
  return files;
}

/** Whether a format is a page or a picture, for which much more is loaded. */
export function isPicture(format: string): boolean {
  return format === "html" || format === "svg";
}

/** What a command says of how its document is shown, beside the screen. */
interface ShowOptions<Document> {
  showsAll?: boolean;
  /** The kind where it is another one than the document's usual one. */
  kind?: DocumentKind<Document>;
}

/** What renders a document in whatever format is asked for. */
export async function documentDrawer<Known extends KnownDocument>(
  { kind: name, document }: Known,
  { chart = null, plot = false }: Partial<OutputFlags> & { plot?: boolean },
  { showsAll = false, kind: given }: ShowOptions<Known["document"]> = {},
): Promise<(format: string, screen: Screen) => Promise<string>> {
  const kind = given ?? ((await loadKind(name)) as unknown as DocumentKind<Known["document"]>);
  return async (format, screen) => {
    const known = (shown: typeof document) =>
      ({ kind: name, document: shown, path: null }) as unknown as FoundDocument;
    if (isPicture(format)) return drawPictures([known(document)], format, chart);
    const plots =
      plot && format === "table" ? await drawPlots(known(printableDocument(document)), screen) : [];
    return drawDocument(kind, document, format, { screen, showsAll, plots });
  };
}

/** All charts and tables of documents as a page, or one of their charts. Rejects as chartOfDocuments() does. */
export async function drawPictures(
  documents: readonly FoundDocument[],
  format: string,
  chart: string | null,
  difference: Chapter | null = null,
): Promise<string> {
  const { pageOfDocuments, chartOfDocuments } = await import("../../kinds/draw-documents.js");
  return format === "html"
    ? pageOfDocuments(documents, difference)
    : chartOfDocuments(documents, chart ?? "");
}

/** Throws a usage error where none of the formats, that of stdout first, has tables to draw below. */
export function refusePlotsNowhere(formats: readonly string[], hint: string): void {
  if (formats.includes("table")) return;
  throw new PinbenchError("usage", `--plot draws below the tables, and --format ${formats[0]} has none.`, {
    hint,
  });
}

/**
 * Draws a result's figures against size, or a tuning's rates against workers; nothing of other documents. What draws is
 * loaded when there is something to draw: the scales of its axes take some 20 ms.
 */
async function drawPlots({ kind, document }: KnownDocument, screen: Screen): Promise<string[][]> {
  const { terminalPlots } = await import("../../draw/terminal/terminal-plot.js");
  if (kind === "tuning") {
    const { rateCharts } = await import("../../tune/report/tuning-charts.js");
    return terminalPlots(rateCharts(document), screen, "no setting has a rate");
  }
  if (kind !== "result") return [];
  const [{ sizeCharts }, { blockCharts }] = await Promise.all([
    import("../../report/page/size-charts.js"),
    import("../../report/page/block-charts.js"),
  ]);
  const need = "a curve needs figures at two sizes or more, of copies that ran alone";
  return terminalPlots([...sizeCharts(document), ...blockCharts(document)], screen, need);
}

/** A file to write. */
export interface Output<Format> {
  path: string;
  format: Format;
}

/** Where a command's document goes. */
export interface Destinations<Format> {
  /** What stdout gets; null where it is to stay empty. */
  format: Format | null;
  files: readonly Output<Format>[];
  /** What else is to be written, in its own way. */
  besides?: readonly (() => Promise<void>)[];
}

/**
 * Hands a document over: stdout first, then every file, whatever became of the others, since a measurement cannot be
 * had again. Then throws the first error, having reported the rest.
 */
export async function deliver<Format>(
  render: (format: Format, screen: Screen) => string | Promise<string>,
  { format, files, besides = [] }: Destinations<Format>,
  flags: DisplayFlags & { debug: boolean },
): Promise<void> {
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => errors.push(error));

  const inFile =
    format === "json" && process.stdout.isTTY ? files.find((file) => file.format === format) : undefined;
  if (inFile !== undefined)
    noter({ quiet: false })(`the JSON is only in ${inFile.path}, not on this terminal.`);
  else if (format !== null) await attempt(async () => writeStdout(await render(format, stdoutScreen(flags))));
  for (const file of files)
    await attempt(async () =>
      sayingIfLong(file.path, finalize(file.path, await render(file.format, outputScreen(flags)))),
    );
  for (const write of besides) await attempt(write);
  for (const error of errors.slice(1)) reportError(error, flags);
  if (errors.length > 0) throw errors[0];
}

const longMs = 2000;

/** Says on stderr if writing takes long: nothing else would show why a command does not end. */
async function sayingIfLong(path: string, writing: Promise<void>): Promise<void> {
  const say = noter({ quiet: false });
  const timer = setTimeout(() => say(`still writing ${path}: a named pipe waits for a reader.`), longMs);
  await writing.finally(() => clearTimeout(timer));
}

/**
 * Says on stderr where a run's copies are slower than those of healthy machines. What knows that is loaded only where NVML
 * told of a link.
 */
export async function adviseDoctor(document: ResultDocument): Promise<void> {
  if (document.devices.every(({ link }) => link === null)) return;
  const { doctorAdvice } = await import("../../doctor/expectation.js");
  const advice = doctorAdvice(document);
  if (advice !== null) noter({ quiet: false })(advice);
}
