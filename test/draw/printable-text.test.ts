import { describe, expect, it } from "vitest";
import { asciiText, printableDocument, printableText } from "../../src/draw/printable-text.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { DevicesReport } from "../../src/report/describe-devices.js";
import { devicesReport } from "../../src/report/devices-report.js";
import { buildDevice, buildDocument, buildHost } from "../helpers/result-document.js";

/** Clears the screen, hides a line, turns text around, sets a window's title, ends a line. */
const odd = "N\u001b[2J\u202e\u2067\u061c\u200f\u009b31m\u001b]0;x\u0007\r\n=> all is well";
const shown = String.raw`N\x1b[2J\u202e\u2067\u061c\u200f\x9b31m\x1b]0;x\x07\r\n=> all is well`;
const plain = fileScreen();

/** Only what pinbench itself writes is left: line breaks. */
function expectPrintable(text: string): void {
  expect(text.match(/(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu)).toBeNull();
  expect(text).not.toMatch(/^=> all is well/m);
}

describe("printableText", () => {
  it.each([
    ["a control character", "\u0000\u001b\u007f\u009b", String.raw`\x00\x1b\x7f\x9b`],
    [
      "a character that reverses the direction of text",
      "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
      String.raw`\u061c\u200e\u200f\u202a\u202e\u2066\u2069`,
    ],
    ["a line break or a tab", "\n\r\t\u2028\u2029", String.raw`\n\r\t\u2028\u2029`],
  ])("writes %s as an escape", (_, text, escaped) => {
    expect(printableText(text)).toBe(escaped);
  });

  it("leaves all other text unchanged", () => {
    const text = "größer 日本 עברית 👩‍🔧 a\\b %0A <b>";
    expect(printableText(text)).toBe(text);
  });
});

describe("asciiText", () => {
  it("spells signs such as ± and µ in ASCII", () => {
    expect(asciiText("10.6 ±2.1 %, −9.8 % → 3.0×, 5 µs … “a” ─ †")).toBe(
      '10.6 +-2.1 %, -9.8 % -> 3.0x, 5 us ... "a" - #',
    );
  });

  it("writes every other character as an escape, and leaves ASCII alone", () => {
    expect(asciiText("größer 日本 👩")).toBe(String.raw`gr\xf6\xdfer \u65e5\u672c \u{1f469}`);
    const ascii = "\u001b[1m a\\b\n";
    expect(asciiText(ascii)).toBe(ascii);
  });
});

describe("printableDocument", () => {
  it("escapes all texts of a document, keys too, and changes nothing else", () => {
    const samples = new Float64Array(2);
    const document = { a: [{ "k\u001b": "v\u001b", n: 1, none: null, gone: undefined }], samples };
    const printable = printableDocument(document);
    expect(printable).toEqual({ a: [{ "k\\x1b": "v\\x1b", n: 1, none: null, gone: undefined }], samples });
    expect(printable.samples).toBe(samples);
  });

  it("escapes a key even if its value needs no escape", () => {
    expect(printableDocument({ "rack\u001b": "7" })).toEqual({ "rack\\x1b": "7" });
  });

  it("returns the document itself if nothing needs an escape", () => {
    const document = buildDocument();
    expect(printableDocument(document)).toBe(document);
  });
});

it("pinbench devices escapes control characters in the names of devices", () => {
  const report = {
    backend: "cuda",
    notice: null,
    driver: { library: odd, version: odd, cudaVersion: "13.0", nvmlError: odd },
    devices: [
      {
        ...buildDevice({ name: odd }),
        integrated: false,
        canMapHostMemory: true,
        canRegisterHostMemory: true,
        readsPageable: false,
        coherent: false,
        upstreamPath: [odd],
      },
    ],
    host: buildHost({ kernel: odd }),
    features: [{ name: "kernels", on: false, reason: odd }],
    build: { version: "0.1.0", compiler: odd, kernels: false, sanitizer: null },
  } as DevicesReport;
  const text = devicesReport(report, plain);
  expectPrintable(text);
  expect(text).toContain(shown.slice(0, 8));
});
