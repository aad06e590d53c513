import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../src/settings/configuration.js";
import { configFile, folderOf, refusalOf } from "../helpers/config.js";

describe("a file that cannot be used is named, and why", () => {
  it.each([
    ["is empty", "", /^\S+pinbench\.config\.json is empty\.$/],
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
