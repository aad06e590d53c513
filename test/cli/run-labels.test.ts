import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { callCli, callCliAlone } from "../helpers/in-process.js";
import { small, temporaryFolder } from "../helpers/run-cli.js";

describe("--label", () => {
  test("stands in the result, in its header and in csv, and is nothing that compare sees", async () => {
    const folder = temporaryFolder();
    const outputs = ["--output", join(folder, "a.json"), "--output", join(folder, "a.csv")];
    const labelled = await callCli(small("--label", "rack=7", "--label", "row=b", ...outputs));
    expect(labelled).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("pinbench:") });
    expect(labelled.stdout).toMatch(/Labels +rack=7; row=b/);
    const document = parseResult(readFileSync(join(folder, "a.json"), "utf8"));
    expect(document.run.labels).toEqual({ rack: "7", row: "b" });
    expect(document.plan?.settings).not.toHaveProperty("labels");

    const [head = "", row = ""] = readFileSync(join(folder, "a.csv"), "utf8").split("\n");
    // Counted from the end: texts with commas stand before them.
    const [names, values] = [head.split(",").reverse(), row.split(",").reverse()];
    const figures = Object.fromEntries(names.map((name, i) => [name, values[i]]));
    expect(figures).toMatchObject({
      host: document.host?.hostname,
      run_id: document.run.id,
      started_at: document.run.startedAt,
      labels: "rack=7; row=b",
    });

    const plain = join(folder, "b.json");
    await callCli(small("--output", plain));
    expect(parseResult(readFileSync(plain, "utf8")).run).not.toHaveProperty("labels");
    const comparison = await callCli(["compare", join(folder, "a.json"), plain, "--json"]);
    expect(JSON.parse(comparison.stdout)).toMatchObject({ differences: [] });
  });

  test("stands in every run of a baseline, and in the whole of several processes", async () => {
    const folder = temporaryFolder();
    const [, ...flags] = small("--label", "rack=7", "--quiet");
    const baseline = await callCliAlone(["baseline", join(folder, "runs"), "--runs", "2", ...flags]);
    expect(baseline.exitCode, baseline.stderr).toBe(0);
    const runs = readdirSync(join(folder, "runs")).filter((name) => name !== "baseline.json");
    expect(runs).toHaveLength(2);
    for (const name of runs) {
      const { run } = parseResult(readFileSync(join(folder, "runs", name), "utf8"));
      expect(run.labels).toEqual({ rack: "7" });
    }
    const merged = await callCliAlone(["run", "--json", "--processes", "2", ...flags]);
    expect(parseResult(merged.stdout).run.labels).toEqual({ rack: "7" });
  });
});
