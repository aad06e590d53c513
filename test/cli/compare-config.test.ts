import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { sides } from "../helpers/baseline-folder.js";
import { configFile } from "../helpers/config.js";
import { callCli } from "../helpers/in-process.js";

it("tells of a configured threshold that no cell is like, and compares all the same", async () => {
  const cwd = sides({ speed: 0.9 });
  const config = { thresholds: { cells: { "*/pined/*": "20%" } } };
  writeFileSync(join(cwd, configFile), JSON.stringify(config));
  const { exitCode, stderr } = await callCli(["compare", "before", "after"], { cwd });
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^pinbench: the configuration has a threshold for "\*\/pined\/\*", which matches no cell of either result\. Did you mean "\*\/pinned\/\*"\?/m,
  );
  // A flag for all cells leaves nothing of what the configuration says of some.
  const { stderr: without } = await callCli(["compare", "before", "after", "--threshold", "5%"], { cwd });
  expect(without).not.toContain("pined");
});

it("obeys a configuration, says so, and lets flags win", async () => {
  const cwd = sides({ speed: 0.9 });
  const config = {
    significance: 0.01,
    strict: true,
    thresholds: { default: "20%", memory: { registered: "8%" } },
  };
  writeFileSync(join(cwd, configFile), JSON.stringify(config));
  const verdicts = async (...args: string[]) => {
    const { stdout, stderr } = await callCli(["compare", "before", "after", "--json", ...args], { cwd });
    const comparison = comparisonSchema.parse(JSON.parse(stdout));
    const { significance, threshold, strict } = comparison.rule;
    return { cells: comparison.cells.map(({ verdict }) => verdict), significance, threshold, strict, stderr };
  };
  const note = `pinbench: Using the configuration ${configFile}.\n`;
  const configured = { significance: 0.01, threshold: 0.2, strict: true, stderr: note };
  expect(await verdicts()).toEqual({ cells: ["not slower", "slower"], ...configured });
  const flags = [
    "--threshold",
    "5%",
    "--threshold",
    "registered=30%",
    "--significance",
    "0.002",
    "--no-strict",
  ];
  expect(await verdicts(...flags, "--quiet")).toEqual({
    ...{ cells: ["slower", "not slower"], significance: 0.002, threshold: 0.05, strict: false, stderr: "" },
  });
  expect((await verdicts("--no-config")).cells).toEqual(["slower", "slower"]);
  // A threshold for all cells wins over those of some, one for others does not.
  expect((await verdicts("--threshold", "30%")).cells).toEqual(["not slower", "not slower"]);
  expect((await verdicts("--threshold", "h2d=30%")).cells).toEqual(["not slower", "slower"]);
});
