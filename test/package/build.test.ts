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
  symlinkSync,
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
 * Compilers that take no time: what they "compile" is what `npm ci` has compiled from the same sources. How CMake is
 * called is real.
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
    `printf '%s\\n' "$PWD" "$@" >> '${tools}/cmake-arguments'; [ "$1" = --build ] && mkdir -p "$2/Release" && cp '${compiled}'/*pinbench* "$2/Release"; exit 0`,
  );
});
afterEach(() => {
  for (const folder of [home, tools, inPackage("build")]) rmSync(folder, { recursive: true, force: true });
});

function fakeTool(name: string, script: string): void {
  const file = join(tools, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** What another user may put into a folder that all can write to: packages, settings of npm, and a project around them. */
function plant(folder: string, evil: string): void {
  const versions = { "cmake-js": "8.0.0", "node-addon-api": "8.9.2", "node-api-headers": "1.9.0" };
  for (const [name, version] of Object.entries(versions)) {
    const planted = join(folder, "node_modules", name);
    mkdirSync(join(planted, "bin"), { recursive: true });
    const bin = { "cmake-js": "bin/cmake-js" };
    writeFileSync(join(planted, "package.json"), JSON.stringify({ name, version, main: "index.js", bin }));
    const program = `#!${join(path, "node")}\nrequire("node:fs").appendFileSync(${JSON.stringify(evil)}, __filename);\n`;
    for (const file of ["bin/cmake-js", "index.js"])
      writeFileSync(join(planted, file), program, { mode: 0o755 });
  }
  const bin = join(folder, "node_modules/.bin");
  mkdirSync(bin);
  symlinkSync("../cmake-js/bin/cmake-js", join(bin, "cmake-js"));
  writeFileSync(join(folder, "package.json"), '{"name": "planted", "version": "1.0.0"}');
  const shell = join(folder, "shell");
  writeFileSync(shell, `#!/bin/sh\necho shell >> '${evil}'\nexec /bin/sh "$@"\n`, { mode: 0o755 });
  writeFileSync(join(folder, ".npmrc"), `script-shell=${shell}\n`);
}

function pinbench(args: string[], { user = [] as string[], env = {} as NodeJS.ProcessEnv } = {}) {
  const [command = "", ...rest] = [...user, join(path, "node"), inPackage("bin/pinbench.js"), ...args];
  const { status, stdout, stderr } = spawnSync(command, rest, {
    cwd: home,
    encoding: "utf8",
    // The programs that a shell script of npm's or of ours needs stand last.
    env: { PATH: `${tools}:${path}:/usr/bin:/bin`, HOME: home, ...env },
  });
  return { status, stdout, stderr };
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

  it.skipIf(!isRoot)("compiles into the user's cache if the package's folder cannot be written", () => {
    chownSync(home, nobody, nobody);
    const options = { user: asNobody };
    const { status, stdout } = pinbench(["build"], options);
    const { version } = JSON.parse(readFileSync(inPackage("package.json"), "utf8"));
    const file = join(home, ".cache/pinbench", `build-${version}`, "pinbench.node");
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(file) });
    const facts = JSON.parse(pinbench(["--version", "--json"], options).stdout);
    expect(facts).toMatchObject({ addon: { source: "build of this user", path: file } });
    expect(existsSync(inPackage("build"))).toBe(false);
  });

  it("takes no package, setting or program from the temporary folder, nor from those above it", () => {
    const evil = join(home, "evil");
    const above = join(home, "shared");
    const temporary = join(above, "tmp");
    for (const folder of [home, above, temporary]) plant(folder, evil);
    const { status, stderr } = pinbench(["build"], { env: { TMPDIR: temporary } });
    expect(existsSync(evil)).toBe(false);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(/compiling for [^\n]*\n$/),
    });
    const used = readFileSync(join(tools, "cmake-arguments"), "utf8");
    expect(used).toContain("\n-G\nUnix Makefiles\n");
    const includes = /CMAKE_JS_INC=(.*)/.exec(used)?.[1]?.split(";") ?? [];
    expect(includes).toHaveLength(2);
    for (const folder of includes) expect(folder).toMatch(/\/pinbench-build-\w+\/node-[a-z-]+$/);
  });
});
