import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { configFile, folderOf, refusalOf } from "../helpers/config.js";

describe("the configuration file", () => {
  it("is the nearest one, from the working directory upwards", async () => {
    const folder = folderOf({
      [configFile]: { runs: 1 },
      [`a/${configFile}`]: { runs: 2 },
      "a/b/c/other": "",
    });
    expect(await loadConfiguration({ config: null }, join(folder, "a/b/c"))).toMatchObject({
      path: join(folder, "a", configFile),
      runs: 2,
    });
  });

  it("may be the key pinbench of package.json; one without the key is passed by", async () => {
    const folder = folderOf({
      "package.json": { name: "x", pinbench: { runs: 4 } },
      "a/package.json": { dependencies: { pinbench: "^1" } },
      "a/b/package.json": "",
    });
    expect(await loadConfiguration({ config: null }, join(folder, "a/b"))).toMatchObject({
      path: join(folder, "package.json"),
      runs: 4,
    });
  });

  it("comes before package.json in the same folder", async () => {
    const folder = folderOf({ [configFile]: { runs: 1 }, "package.json": { pinbench: { runs: 2 } } });
    expect(await loadConfiguration({ config: null }, folder)).toMatchObject({ runs: 1 });
  });

  it("is the one that is named, whatever its name, and package.json's key there too", async () => {
    const folder = folderOf({
      [configFile]: { runs: 1 },
      "nightly.txt": { runs: 2 },
      "p/package.json": { pinbench: { runs: 3 } },
    });
    expect(await loadConfiguration({ config: "nightly.txt" }, folder)).toMatchObject({ runs: 2 });
    expect(await loadConfiguration({ config: join(folder, "p/package.json") }, folder)).toMatchObject({
      runs: 3,
    });
  });

  it("may begin with a byte order mark, and name its schema", async () => {
    const text = '\uFEFF{"$schema": "./node_modules/pinbench/schema/config-v1.json", "runs": 2}';
    const folder = folderOf({ [configFile]: text });
    expect(await loadConfiguration({ config: null }, folder)).toMatchObject({ runs: 2 });
    expect(await loadConfiguration({ config: join(folder, configFile) })).toMatchObject({ runs: 2 });
  });

  it("is never run", async () => {
    const script = "process.exit(9)";
    const folder = folderOf({ "pinbench.config.js": script, ".pinbenchrc.cjs": script, "a.mjs": script });
    expect(await loadConfiguration({ config: null }, folder)).toMatchObject({ path: null });
    expect(await refusalOf(loadConfiguration({ config: join(folder, "a.mjs") }))).toMatch(
      /a\.mjs is not JSON/,
    );
  });
});
