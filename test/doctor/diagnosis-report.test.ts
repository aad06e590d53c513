import { describe, expect, it } from "vitest";
import { diagnosisFormatOfPath, renderDiagnosis } from "../../src/doctor/diagnosis-report.js";
import { fileScreen } from "../../src/draw/screen.js";
import { buildDiagnosis, buildFinding, buildSlowDiagnosis } from "../helpers/diagnosis.js";

const screen = fileScreen({ columns: 120 });
const healthy = buildDiagnosis();
const slow = buildSlowDiagnosis();

describe("the text of a diagnosis", () => {
  it("begins with why its verdict is what it is", () => {
    expect(renderDiagnosis(slow, "table", screen)).toMatch(
      /^pinbench 0\.1\.0 doctor\n\n=> The link of device 1 /,
    );
  });

  it("says of each finding what was seen, what it costs, what to do and how sure that is", () => {
    const text = renderDiagnosis(slow, "table", screen).replaceAll(/\s+/g, " ");
    expect(text).toContain("costs 41.4 GB/s in each direction, estimated");
    expect(text).toContain("seen NVML, while copies ran: gen5 x4, at most gen5 x16 0000:15:01.0");
    expect(text).toContain("do Reseat the card");
    expect(text).toContain("sure certain");
  });

  it("tells costs, risks and explanations apart, in this order", () => {
    const text = renderDiagnosis(slow, "table", screen);
    const places = ["What costs", "What may cost", "What explains", "What was not seen"].map((title) =>
      text.indexOf(title),
    );
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("has a column for copies together only where there are some", () => {
    expect(renderDiagnosis(slow, "table", screen)).toContain("together");
    expect(renderDiagnosis(healthy, "table", screen)).not.toContain("together");
  });

  it("shows hostile names as text, in every format for people", () => {
    const hostile = "\u001b[2J![x](https://evil.example/) <script>\n::error::";
    const diagnosis = buildDiagnosis({
      host: hostile,
      labels: { rack: hostile },
      findings: [buildFinding({ summary: hostile, evidence: [hostile], fix: hostile })],
      reason: hostile,
    });
    for (const format of ["table", "markdown", "nhc"] as const) {
      const text = renderDiagnosis(diagnosis, format, screen);
      expect(text).not.toContain("\u001b");
      expect(text).not.toMatch(/^::error/m);
    }
    expect(renderDiagnosis(diagnosis, "markdown", screen)).not.toContain("![x](");
    expect(renderDiagnosis(diagnosis, "nhc", screen).split("\n")).toHaveLength(2);
  });
});

describe("the line for health checks", () => {
  it("is OK where nothing is wrong", () => {
    expect(renderDiagnosis(healthy, "nhc", screen)).toMatch(
      /^OK: {2}pinbench doctor: {2}Nothing costs [^\n]*\n$/,
    );
  });

  it("is an error as NHC writes it, with the reason", () => {
    expect(renderDiagnosis(slow, "nhc", screen)).toBe(
      `ERROR:  nhc:  Health check failed:  pinbench doctor:  ${slow.reason}\n`,
    );
  });

  it("is short, whatever the reason is", () => {
    const line = renderDiagnosis({ ...slow, reason: "x".repeat(5000) }, "nhc", screen);
    expect(line.length).toBeLessThan(320);
    expect(line).toMatch(/x\.\.\.\n$/);
  });
});

describe("the file of a diagnosis", () => {
  it.each([
    ["a.json", "json"],
    ["a.md", "markdown"],
    ["a.TXT", "table"],
  ])("%s has the format %s", (path, format) => {
    expect(diagnosisFormatOfPath(path)).toBe(format);
  });

  it.each(["a.html", "a.svg"])("cannot be a page or a picture: %s", (path) => {
    expect(() => diagnosisFormatOfPath(path)).toThrow("a diagnosis has none");
  });
});
