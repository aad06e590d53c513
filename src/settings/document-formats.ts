import { extname } from "node:path";
import { PinbenchError } from "../errors.js";

const everyDocument = { table: ".txt", json: ".json", markdown: ".md", html: ".html" } as const;

const withCharts = { ...everyDocument, svg: ".svg" } as const;

/**
 * Formats of each kind of document, by its name (its `kind` in JSON; a result has none). A format without an extension
 * is only for `--format`.
 */
export const documentFormats = {
  result: { ...withCharts, csv: ".csv" },
  comparison: { ...withCharts, junit: ".xml", github: null },
  history: withCharts,
  fleet: { ...withCharts, csv: ".csv", nodelist: null, drain: null, openmetrics: ".prom", reference: null },
  tuning: { ...withCharts, python: ".py", env: ".env" },
  diagnosis: { ...everyDocument, nhc: null, nagios: null, openmetrics: ".prom" },
  pinning: { ...everyDocument, c: ".c", python: ".py" },
  load: { ...everyDocument, python: ".py" },
  explanation: everyDocument,
  trace: withCharts,
} as const satisfies Readonly<Record<string, Formats>>;

export const documentWords: Readonly<Record<Exclude<DocumentName, "result">, string>> = {
  comparison: "a comparison of results",
  history: "the trends of a history",
  fleet: "a result of `pinbench fleet`",
  tuning: "a result of `pinbench tune`",
  diagnosis: "a result of `pinbench doctor`",
  pinning: "a result of `pinbench pin`",
  load: "a result of `pinbench load`",
  explanation: "a result of `pinbench explain`",
  trace: "a result of `pinbench trace`",
};

export const pictureFormats = { html: ".html", svg: ".svg" } as const;

export const listFormats = { table: ".txt", json: ".json" } as const;

export type DocumentName = keyof typeof documentFormats;
export type Formats = Readonly<Record<string, `.${string}` | null>>;
export type FormatOf<Name extends DocumentName> = keyof (typeof documentFormats)[Name] & string;

/** The choices of `--format`: all but svg, which needs a file. */
export function formatNames<Name extends DocumentName>(name: Name): Exclude<FormatOf<Name>, "svg">[] {
  const names = Object.keys(documentFormats[name]) as FormatOf<Name>[];
  return names.filter((format): format is Exclude<FormatOf<Name>, "svg"> => format !== "svg");
}

/** An `--output` path's format by its extension, in upper or lower case. Throws a usage error for others. */
export function formatOfPath<Some extends Formats>(formats: Some, path: string): keyof Some & string {
  const extension = extname(path).toLowerCase();
  const format = Object.keys(formats).find((one) => formats[one] === extension);
  if (format !== undefined) return format;
  // /dev/stdout and a shell's >(…) have no extension.
  if (extension === "" && /^\/(?:dev|proc)\//.test(path)) return "json" in formats ? "json" : "html";
  const found = extension === "" ? "has no extension" : `has the extension ${extension}`;
  const message =
    extension === pictureFormats.svg
      ? `${path} names a picture, and there is no chart to draw here.`
      : `${path || '""'} ${found}, which names no format.`;
  throw new PinbenchError("usage", message, {
    hint: `Use one of ${Object.values(formats).filter(Boolean).join(", ")}.`,
  });
}
