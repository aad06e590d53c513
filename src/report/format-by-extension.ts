import { extname } from "node:path";
import { PinbenchError } from "../errors.js";
import { type PictureFormat, pictureFormats } from "../settings/choices.js";

/**
 * The format that an `--output` path asks for by its extension, in any case; `formats` has the extensions in lower
 * case, with their dot, of all but pages and pictures, which every document can become. Throws a usage error for others.
 */
export function formatByExtension<Format>(
  path: string,
  formats: Readonly<Record<string, Format>>,
): Format | PictureFormat | "json" {
  const extension = extname(path).toLowerCase();
  const picture = pictureFormats.find((format) => extension === `.${format}`);
  if (picture !== undefined) return picture;
  if (Object.hasOwn(formats, extension)) return formats[extension] as Format;
  // /dev/stdout and what a shell's >(…) gives have no extension to tell by.
  if (extension === "" && /^\/(?:dev|proc)\//.test(path)) return "json";
  const found = extension === "" ? "has no extension" : `has the extension ${extension}`;
  throw new PinbenchError("usage", `${path || '""'} ${found}, which names no format.`, {
    hint: `Use one of ${[...Object.keys(formats), ...pictureFormats.map((format) => `.${format}`)].join(", ")}.`,
  });
}

/**
 * The same for documents of which nothing is drawn. Throws a usage error for pages and pictures too, whose sentence ends
 * with `whyNone`, such as "a diagnosis has none".
 */
export function textFormatByExtension<Format>(
  path: string,
  formats: Readonly<Record<string, Format>>,
  whyNone: string,
): Format | "json" {
  const format = formatByExtension(path, formats);
  if (format !== "html" && format !== "svg") return format;
  throw new PinbenchError("usage", `${path} would be a page or a picture, and ${whyNone}.`, {
    hint: `Use one of ${Object.keys(formats).join(", ")}.`,
  });
}
