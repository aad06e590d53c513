import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { sides } from "../helpers/baseline-folder.js";
import { configFile } from "../helpers/config.js";
import { callCli } from "../helpers/in-process.js";

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
  expect(await verdicts()).toEqual({ cells: ["same", "slower"], ...configured });
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
    ...{ cells: ["slower", "same"], significance: 0.002, threshold: 0.05, strict: false, stderr: "" },
  });
  expect((await verdicts("--no-config")).cells).toEqual(["slower", "slower"]);
  // A threshold for all cells wins over those of some, one for others does not.
  expect((await verdicts("--threshold", "30%")).cells).toEqual(["same", "same"]);
  expect((await verdicts("--threshold", "h2d=30%")).cells).toEqual(["same", "slower"]);
});
