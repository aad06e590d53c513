import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { configFile, folderOf, refusalOf } from "../helpers/config.js";

describe("an unusable configuration file is refused with its path and the reason", () => {
  it.each([
    ["is empty", "", /^\S+pinbench\.config\.json is empty\.$/],
    ["is cut off", '{"runs": 3', /^\S+pinbench\.config\.json is not JSON \(.*\)\.$/],
    ["is no object", "[]", /^In \S+pinbench\.config\.json, the whole must be an object\.$/],
    ["is null", "null", /the whole must be an object\.$/],
  ])("if it %s", async (_, text, message) => {
    const folder = folderOf({ [configFile]: text });
    expect(await refusalOf(loadConfiguration({ config: null }, folder))).toMatch(message);
    expect(await refusalOf(loadConfiguration({ config: join(folder, configFile) }))).toMatch(message);
  });

  it("if a folder is in its place, named with --config or searched for", async () => {
    const folder = folderOf({ [`${configFile}/a`]: "" });
    const message = /^cannot read \S+pinbench\.config\.json: it is a folder\./;
    expect(await refusalOf(loadConfiguration({ config: null }, folder))).toMatch(message);
    expect(await refusalOf(loadConfiguration({ config: join(folder, configFile) }))).toMatch(message);
  });

  it("if --config names the working directory", async () => {
    expect(await refusalOf(loadConfiguration({ config: "." }))).toMatch(/^cannot read \.: it is a folder\./);
  });

  it("if it does not exist", async () => {
    expect(await refusalOf(loadConfiguration({ config: "/none/here.json" }))).toMatch(
      /^cannot read \/none\/here\.json: there is no such file\./,
    );
  });

  it("if it is a package.json whose key pinbench is broken, missing or unknown", async () => {
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
