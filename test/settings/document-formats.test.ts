import { describe, expect, it } from "vitest";
import {
  documentFormats,
  formatNames,
  formatOfPath,
  pictureFormats,
} from "../../src/settings/document-formats.js";

describe("the format of a file", () => {
  it.each([
    ["a.json", "json"],
    ["a.b/c.d.SVG", "svg"],
    ["/dev/stdout", "json"],
    ["/proc/self/fd/1", "json"],
  ])("is known by its path: %s is %s", (path, format) => {
    expect(formatOfPath(documentFormats.result, path)).toBe(format);
  });

  it("is HTML on a stream if the document has no JSON format", () => {
    expect(formatOfPath(pictureFormats, "/dev/stdout")).toBe("html");
  });

  it("cannot be svg for text on stdout, as only files can hold a chart", () => {
    expect(formatNames("history")).toEqual(["table", "json", "markdown", "html"]);
  });
});
