import type { Screen } from "../draw/screen.js";
import { PinbenchError } from "../errors.js";
import type { AnyDocument } from "../report/read-document.js";
import { type PictureFormat, pictureFormats } from "../settings/choices.js";
import type { Output } from "./delivery.js";

/** What says which files a command writes. */
interface OutputFlags {
  output: readonly string[];
  /** Which chart an .svg file is to have; null where nobody says. */
  chart: string | null;
}

/**
 * The files of `--output` with the formats that `formatOf` reads from their names. Throws a usage error where --chart and
 * these do not belong together: found before anything is measured.
 */
export function outputFiles<Format extends string>(
  { output, chart }: OutputFlags,
  formatOf: (path: string) => Format,
): Output<Format>[] {
  const files = output.map((path) => ({ path, format: formatOf(path) }));
  const picture = files.find(({ format }) => format === "svg");
  if (chart !== null && picture === undefined) {
    throw new PinbenchError(
      "usage",
      "--chart says which chart an .svg file shows, and --output names none.",
      {
        hint: `Give --output ${/^[\w-]+$/.test(chart) ? chart : "chart"}.svg as well.`,
      },
    );
  }
  if (chart === null && picture !== undefined) {
    throw new PinbenchError(
      "usage",
      `${picture.path} is to show one chart, and --chart does not say which.`,
      {
        hint: "Give --chart NAME, such as --chart h2d-by-size: docs/reference.md lists the names.",
      },
    );
  }
  return files;
}

/** Whether a file is text to read. */
export function isNoPicture<Format extends string>(
  file: Output<Format | PictureFormat>,
): file is Output<Exclude<Format, PictureFormat>> {
  return !isPicture(file.format);
}

function isPicture(format: string): format is PictureFormat {
  return (pictureFormats as readonly string[]).includes(format);
}

/** Renders a document as `render` does, or as a page or a picture, which is loaded where one is asked for. */
export function withPictures<Format extends string>(
  document: AnyDocument,
  { chart }: Pick<OutputFlags, "chart">,
  render: (format: Format, screen: Screen) => string,
): (format: Format | PictureFormat, screen: Screen) => string | Promise<string> {
  return (format, screen) =>
    isPicture(format) ? drawDocuments([document], format, chart) : render(format, screen);
}

/** All charts and tables of documents as a page, or one of their charts. Rejects as chartOfDocuments() throws. */
export async function drawDocuments(
  documents: readonly AnyDocument[],
  format: PictureFormat,
  chart: string | null,
): Promise<string> {
  const { pageOfDocuments, chartOfDocuments } = await import("../report/page/document-chapters.js");
  return format === "html" ? pageOfDocuments(documents) : chartOfDocuments(documents, chart ?? "");
}
