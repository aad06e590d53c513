import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
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

  it("may be the key pinbench of a package.json; a package.json without the key is skipped", async () => {
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

  it("is not searched for above the home folder", async () => {
    const folder = folderOf({ [configFile]: { runs: 1 }, "home/a/b": "" });
    vi.stubEnv("HOME", join(folder, "home"));
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await loadConfiguration({ config: null }, join(folder, "home/a"))).toMatchObject({ path: null });
    expect(await loadConfiguration({ config: null }, folder)).toMatchObject({ runs: 1 });
  });

  it("is searched for in the home folder too, and from there no further", async () => {
    const folder = folderOf({
      [configFile]: { runs: 1 },
      [`home/${configFile}`]: { runs: 2 },
      "home/a/b": "",
    });
    vi.stubEnv("HOME", join(folder, "home"));
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await loadConfiguration({ config: null }, join(folder, "home/a"))).toMatchObject({ runs: 2 });
    rmSync(join(folder, "home", configFile));
    expect(await loadConfiguration({ config: null }, join(folder, "home"))).toMatchObject({ path: null });
  });

  it("takes precedence over package.json in the same folder", async () => {
    const folder = folderOf({ [configFile]: { runs: 1 }, "package.json": { pinbench: { runs: 2 } } });
    expect(await loadConfiguration({ config: null }, folder)).toMatchObject({ runs: 1 });
  });

  it("is the file that --config names, be it a package.json", async () => {
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

  it.each([
    [
      "a link that leads in a circle",
      (path: string) => symlinkSync(path, path),
      "its symbolic links lead in a circle",
    ],
    ["a dangling link", (path: string) => symlinkSync("nothing", path), "there is no such file"],
    ["a link to a device", (path: string) => symlinkSync("/dev/zero", path), "it is a device"],
    ["a named pipe", (path: string) => execFileSync("mkfifo", [path]), "it is a named pipe"],
    ["a folder", (path: string) => mkdirSync(path), "it is a folder"],
  ])("is reported and not skipped if it is %s", async (_, make, reason) => {
    const folder = folderOf({ "a/b/c": "" });
    const path = join(folder, "a", configFile);
    make(path);
    expect(await refusalOf(loadConfiguration({ config: null }, join(folder, "a/b")))).toContain(
      `cannot read ${path}: ${reason}`,
    );
    expect(await loadConfiguration({ config: false }, join(folder, "a/b"))).toMatchObject({ path: null });
  });

  it("is an error if package.json is a circular link, and skipped if it is a dangling link", async () => {
    const folder = folderOf({ "a/b": "" });
    symlinkSync("nothing", join(folder, "package.json"));
    expect(await loadConfiguration({ config: null }, join(folder, "a"))).toMatchObject({ path: null });
    symlinkSync("package.json", join(folder, "a/package.json"));
    expect(await refusalOf(loadConfiguration({ config: null }, join(folder, "a")))).toContain("circle");
  });

  it("is never run as a program, even if it is JavaScript", async () => {
    const script = "process.exit(9)";
    const folder = folderOf({ "pinbench.config.js": script, ".pinbenchrc.cjs": script, "a.mjs": script });
    expect(await loadConfiguration({ config: null }, folder)).toMatchObject({ path: null });
    expect(await refusalOf(loadConfiguration({ config: join(folder, "a.mjs") }))).toMatch(
      /a\.mjs is not JSON/,
    );
  });
});
