import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { sides } from "../helpers/baseline-folder.js";
import { configFile } from "../helpers/config.js";
import { callCli } from "../helpers/in-process.js";

it("pinbench compare uses a configuration, names it on stderr, and lets flags override it", async () => {
  const cwd = sides({ speed: 0.9 });
  const config = {
    strict: true,
    thresholds: { default: "20%", memory: { registered: "8%" } },
  };
  writeFileSync(join(cwd, configFile), JSON.stringify(config));
  const verdicts = async (...args: string[]) => {
    const { stdout, stderr } = await callCli(["compare", "before", "after", "--json", ...args], { cwd });
    const comparison = comparisonSchema.parse(JSON.parse(stdout));
    const { strict } = comparison.rule;
    return { cells: comparison.cells.map(({ verdict }) => verdict), strict, stderr };
  };
  const note = `pinbench: Using the configuration ${configFile}.\n`;
  const configured = { strict: true, stderr: note };
  expect(await verdicts()).toEqual({ cells: ["not slower", "slower"], ...configured });
  const flags = ["--threshold", "5%", "--threshold", "registered=30%", "--quiet"];
  expect(await verdicts(...flags)).toEqual({
    ...{ cells: ["slower", "not slower"], strict: true, stderr: "" },
  });
  expect((await verdicts("--no-config")).cells).toEqual(["slower", "slower"]);
  // --threshold for all cells overrides all of the configuration's; one for a memory kind only that kind's.
  expect((await verdicts("--threshold", "30%")).cells).toEqual(["not slower", "not slower"]);
  expect((await verdicts("--threshold", "pinned=30%")).cells).toEqual(["not slower", "slower"]);
});
