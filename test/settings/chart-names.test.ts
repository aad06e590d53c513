import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { resultKind } from "../../src/report/result-report.js";
import { parseResult } from "../../src/results/parse.js";
import { checkChartName, documentFormats } from "../../src/settings/document-formats.js";
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

  it.each(["gpu1-h2d-latency-warm-by-size", "d2h-event-by-workers"])("and %s passes", (name) => {
    expect(() => checkChartName(documentFormats.result, name)).not.toThrow();
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
