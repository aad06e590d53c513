import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { asNobody, isRoot, nobody } from "./users.js";

const { app, path } = inject("installed");
const inPackage = (...parts: string[]) => join(app, "node_modules/pinbench", ...parts);
const built = fileURLToPath(new URL("../../build/Release", import.meta.url));

/**
 * Compilers that take no time: what they "compile" is what `npm ci` has compiled from the same sources. That npx fetches
 * cmake-js, and that this one calls CMake, is real.
 */
let home = "";
let tools = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "pinbench-home-"));
  tools = mkdtempSync(join(tmpdir(), "pinbench-tools-"));
  chmodSync(tools, 0o755);
  for (const name of ["c++", "make"]) fakeTool(name, "exit 0");
  // Where another user can read it.
  const compiled = join(tools, "compiled");
  cpSync(built, compiled, { recursive: true });
  fakeTool(
    "cmake",
    `[ "$1" = --build ] && mkdir -p "$2/Release" && cp '${compiled}'/*pinbench* "$2/Release"; exit 0`,
  );
});
afterEach(() => {
  for (const folder of [home, tools, inPackage("build")]) rmSync(folder, { recursive: true, force: true });
});

function fakeTool(name: string, script: string): void {
  const file = join(tools, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

function pinbench(args: string[], { user = [] as string[], env = {} as NodeJS.ProcessEnv } = {}) {
  const [command = "", ...rest] = [...user, join(path, "node"), inPackage("bin/pinbench.js"), ...args];
  const { status, stdout, stderr } = spawnSync(command, rest, {
    cwd: home,
    encoding: "utf8",
    // The programs that a shell script of npm's or of ours needs stand last.
    env: { PATH: `${tools}:${path}:/usr/bin:/bin`, HOME: home, npm_config_cache: npmCache(), ...env },
  });
  return { status, stdout, stderr };
}

/** That of this user, which has cmake-js since `npm ci`; root's is not for others. */
function npmCache(): string {
  return spawnSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).stdout.trim();
}

const versionFacts = () => JSON.parse(pinbench(["--version", "--json"]).stdout);

describe("pinbench build", () => {
  it("compiles into the package's folder, from where it is loaded from then on", () => {
    const { status, stdout } = pinbench(["build"]);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^Compiled by .*build\/Release\/pinbench\.node\n$/),
    });
    expect(existsSync(inPackage("build/Release/libpinbench_emulated.so"))).toBe(true);
    expect(versionFacts()).toMatchObject({ addon: { source: "local build" } });
  });

  it.skipIf(!isRoot)("compiles into the user's cache where the package's folder cannot be written", () => {
    chownSync(home, nobody, nobody);
    const npm = join(home, "npm");
    mkdirSync(npm);
    chownSync(npm, nobody, nobody);
    const options = { user: asNobody, env: { npm_config_cache: npm } };
    const { status, stdout } = pinbench(["build"], options);
    const { version } = JSON.parse(readFileSync(inPackage("package.json"), "utf8"));
    const file = join(home, ".cache/pinbench", `build-${version}`, "pinbench.node");
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(file) });
    const facts = JSON.parse(pinbench(["--version", "--json"], options).stdout);
    expect(facts).toMatchObject({ addon: { source: "build of this user", path: file } });
    expect(existsSync(inPackage("build"))).toBe(false);
  });

  it("says where what npx needs cannot be fetched from", () => {
    const env = {
      npm_config_cache: join(home, "empty"),
      npm_config_registry: "http://127.0.0.1:9",
      npm_config_fetch_retries: "0",
    };
    const { status, stderr } = pinbench(["build"], { env });
    expect({ status, stderr }).toEqual({
      status: 3,
      stderr: expect.stringMatching(
        /cmake-js 8\S+ and node-addon-api 8\S+, which npx could not fetch: .*127\.0\.0\.1/,
      ),
    });
  });

  it("shows what CMake says where it fails", () => {
    fakeTool("cmake", "echo CMake 3.20 or higher is required; exit 1");
    const { status, stdout, stderr } = pinbench(["build"]);
    expect({ status, stdout }).toEqual({ status: 3, stdout: "" });
    expect(stderr).toMatch(
      /CMake 3\.20 or higher is required[\s\S]*\npinbench: Compiling failed: cmake-js configure/,
    );
    expect(existsSync(inPackage("build/Release/pinbench.node"))).toBe(false);
  });

  it("names all that is missing, and how to get it", () => {
    const { status, stdout, stderr } = pinbench(["build"], { env: { PATH: path } });
    expect({ status, stdout, stderr }).toEqual({
      status: 3,
      stdout: "",
      stderr:
        "pinbench: Compiling needs a C++20 compiler and CMake and make or ninja, not found in the PATH. " +
        "Install it first (Debian: apt-get install g++ cmake make).\n",
    });
  });
});
