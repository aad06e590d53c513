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

  it("is HTML if a stream can be no JSON", () => {
    expect(formatOfPath(pictureFormats, "/dev/stdout")).toBe("html");
  });

  it("is a chart's only if a file is written", () => {
    expect(formatNames("history")).toEqual(["table", "json", "markdown", "html"]);
  });
});
