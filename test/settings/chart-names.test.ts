import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { resultKind } from "../../src/report/result-report.js";
import { parseResult } from "../../src/results/parse.js";
import {
  checkChartName,
  documentFormats,
  formatNames,
  formatOfPath,
  pictureFormats,
} from "../../src/settings/document-formats.js";
import { callCli } from "../helpers/in-process.js";

describe("the name of a chart is checked before anything is measured", () => {
  it.each(["default", "blocks", "at-once-together", "at-once-beside", "quick"])(
    "and all charts of the recorded result %s pass",
    async (name) => {
      const path = new URL(`../../results/nvidia-h200/${name}.json`, import.meta.url);
      const { charts } = await resultKind.pictures!(parseResult(readFileSync(path, "utf8")));
      expect(charts.length).toBeGreaterThan(2);
      for (const chart of charts) {
        expect(() => checkChartName(documentFormats.result, chart.name)).not.toThrow();
      }
    },
  );

  it.each([
    ["result", "gpu1-h2d-latency-warm-by-size"],
    ["result", "gpu12-bidir-by-workers"],
    ["result", "by-memory-latency"],
    ["result", "p2p-kernel-read-by-size"],
    ["comparison", "latency-changes-by-kind"],
    ["fleet", "gpus-of-group-rack-7"],
    ["diagnosis", "anything, as it has no list"],
  ] as const)("and of a %s %s passes", (kind, name) => {
    expect(() => checkChartName(documentFormats[kind], name)).not.toThrow();
  });

  it("and a name that no such document has is wrong usage, with the names that it has", async () => {
    expect(await callCli(["run", "--output", "/tmp/a.svg", "--chart", "nope"])).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringContaining('this document has no chart "nope". Choose from DIRECTION-by-size, '),
    });
  });

  it("and names that only copies' charts have are not explained to other commands", async () => {
    const { stderr } = await callCli(["tune", "--output", "/tmp/a.svg"]);
    expect(stderr).toContain("Choose from rate-by-workers.");
  });
});

describe("the format of a file", () => {
  it.each([
    ["a.json", "json"],
    ["a.b/c.d.SVG", "svg"],
    ["/dev/stdout", "json"],
    ["/proc/self/fd/1", "json"],
  ])("is told by its path: %s is %s", (path, format) => {
    expect(formatOfPath(documentFormats.result, path)).toBe(format);
  });

  it("is HTML if a stream can be no JSON", () => {
    expect(formatOfPath(pictureFormats, "/dev/stdout")).toBe("html");
  });

  it("is a chart's only if a file is written", () => {
    expect(formatNames("history")).toEqual(["table", "json", "markdown", "html"]);
  });
});
