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
      "what turns text around",
      "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
      String.raw`\u061c\u200e\u200f\u202a\u202e\u2066\u2069`,
    ],
    ["what ends a line", "\n\r\t\u2028\u2029", String.raw`\n\r\t\u2028\u2029`],
  ])("writes %s as an escape", (_, text, escaped) => {
    expect(printableText(text)).toBe(escaped);
  });

  it("leaves everything else as it is", () => {
    const text = "größer 日本 עברית 👩‍🔧 a\\b %0A <b>";
    expect(printableText(text)).toBe(text);
  });
});

describe("asciiText", () => {
  it("spells the signs of pinbench's own texts", () => {
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
  it("makes all texts printable, keys too, and nothing else", () => {
    const samples = new Float64Array(2);
    const document = { a: [{ "k\u001b": "v\u001b", n: 1, none: null, gone: undefined }], samples };
    const printable = printableDocument(document);
    expect(printable).toEqual({ a: [{ "k\\x1b": "v\\x1b", n: 1, none: null, gone: undefined }], samples });
    expect(printable.samples).toBe(samples);
  });

  it("makes a key printable also if its value is", () => {
    expect(printableDocument({ "rack\u001b": "7" })).toEqual({ "rack\\x1b": "7" });
  });

  it("is the document itself if there is nothing to do", () => {
    const document = buildDocument();
    expect(printableDocument(document)).toBe(document);
  });
});

it("shows names of devices that would act on a terminal as escapes", () => {
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
