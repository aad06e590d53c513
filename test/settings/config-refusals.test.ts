import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { configFile, folderOf, refusalOf } from "../helpers/config.js";

describe("a file that cannot be used is named, and why", () => {
  it.each([
    ["is empty", "", /^\S+pinbench\.config\.json is empty\. Write at least \{\}/],
    ["is cut off", '{"runs": 3', /^\S+pinbench\.config\.json is not JSON \(.*\)\.$/],
    ["is no object", "[]", /^In \S+pinbench\.config\.json, the whole must be an object\.$/],
    ["is null", "null", /the whole must be an object\.$/],
  ])("one that %s", async (_, text, message) => {
    const folder = folderOf({ [configFile]: text });
    expect(await refusalOf(loadConfiguration({ config: null }, folder))).toMatch(message);
    expect(await refusalOf(loadConfiguration({ config: join(folder, configFile) }))).toMatch(message);
  });

  it("a folder in its place, also if one is searched for", async () => {
    const folder = folderOf({ [`${configFile}/a`]: "" });
    const message = /^cannot read \S+pinbench\.config\.json: it is a folder\./;
    expect(await refusalOf(loadConfiguration({ config: null }, folder))).toMatch(message);
    expect(await refusalOf(loadConfiguration({ config: join(folder, configFile) }))).toMatch(message);
  });

  it("the working directory", async () => {
    expect(await refusalOf(loadConfiguration({ config: "." }))).toMatch(/^cannot read \.: it is a folder\./);
  });

  it("one that is not there", async () => {
    expect(await refusalOf(loadConfiguration({ config: "/none/here.json" }))).toMatch(
      /^cannot read \/none\/here\.json: there is no such file\./,
    );
  });

  it("a package.json that speaks of pinbench", async () => {
    const folder = folderOf({ "package.json": '{"pinbench": {', "a/package.json": "{}" });
    expect(await refusalOf(loadConfiguration({ config: null }, folder))).toMatch(/package\.json is not JSON/);
    expect(await refusalOf(loadConfiguration({ config: join(folder, "a/package.json") }))).toMatch(
      /a\/package\.json has no key "pinbench"\./,
    );
    const other = folderOf({ "package.json": { pinbench: { run: 3 } } });
    expect(await refusalOf(loadConfiguration({ config: null }, other))).toMatch(
      /^In \S+package\.json, pinbench\.run is not a known key\. Did you mean runs\?$/,
    );
  });
});

describe("a key or value that makes no sense is named, and what is allowed", () => {
  it.each([
    [{ pln: {} }, "pln is not a known key. Did you mean plan?"],
    [{ plan: { size: "1MiB" } }, "plan.size is not a known key. Did you mean plan.sizes?"],
    [
      { plan: { "staging-chunk": "1MiB" } },
      "plan.staging-chunk is not a known key. Did you mean plan.stagingChunk?",
    ],
    [{ sizes: "1MiB" }, "sizes is not a known key. Did you mean plan.sizes?"],
    [
      { colour: true },
      "colour is not a known key. Known keys are $schema, plan, baseline, runs, thresholds, significance, strict.",
    ],
    [
      { thresholds: { memory: { pageabel: "5%" } } },
      "thresholds.memory.pageabel is not a known key. Did you mean thresholds.memory.pageable?",
    ],
    [{ plan: [] }, "plan must be an object."],
    [{ plan: { preset: "huge" } }, "plan.preset must be one of quick, default, shmoo, fleet."],
    [
      { plan: { sizes: "16M" } },
      'plan.sizes is wrong: "16M" does not say whether M counts in 1024s or 1000s. Write 16MiB (binary) or 16MB (decimal).',
    ],
    [
      { plan: { sizes: [] } },
      "plan.sizes must be sizes such as 64KiB or 1KiB..64MiB*2, as text with commas or as an array.",
    ],
    [{ plan: { cache: ["tepid"] } }, "plan.cache must be of cold, warm, as text with commas or as an array."],
    [
      { plan: { cache: "tepid" } },
      'plan.cache is wrong: "tepid" is not a cache state. Choose from cold, warm.',
    ],
    [
      { plan: { workers: [1, 0] } },
      'plan.workers is wrong: "0" is not a number of workers: it must be a whole number from 1 up. Write for example 1,2,4.',
    ],
    [{ plan: { budget: 8 } }, "plan.budget must be a duration such as 8s or 500ms."],
    [
      { plan: { samples: 1.5 } },
      'plan.samples is wrong: "1.5" is not a number of samples: it must be a whole number.',
    ],
    [{ plan: { verify: "no" } }, "plan.verify must be true, false, last or every."],
    [{ plan: { llc: null } }, "plan.llc must be a size such as 64MiB."],
    [{ baseline: "" }, "baseline must be a path."],
    [{ runs: 0 }, "runs must be a whole number from 1 to 1000."],
    [{ runs: 1001 }, "runs must be a whole number from 1 to 1000."],
    [{ runs: "5" }, "runs must be a whole number from 1 to 1000."],
    [
      { significance: 1 },
      'significance is wrong: "1" is not a significance: it must be above 0 and at most 0.5. Did you mean 1%?',
    ],
    [{ significance: true }, "significance must be a chance above 0 and up to 0.5, such as 0.3% or 0.003."],
    [
      { thresholds: { default: "100%" } },
      'thresholds.default is wrong: "100%" is not a threshold, a share above 0 % and below 100 %. Write for example 5% or 0.05.',
    ],
    [
      { thresholds: { cells: { "d0/*": true } } },
      "thresholds.cells.d0/* must be a share such as 5% or 0.05.",
    ],
    [
      { thresholds: { floorUs: -1 } },
      "thresholds.floorUs must be a number of microseconds a copy from 0 up.",
    ],
  ])("%j", async (config, expected) => {
    const folder = folderOf({ [configFile]: config });
    expect(await refusalOf(loadConfiguration({ config: null }, folder))).toBe(
      `In ${join(folder, configFile)}, ${expected}`,
    );
  });
});
