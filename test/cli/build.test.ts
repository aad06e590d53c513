import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { loadAddon } from "../../src/native/load.js";
import { packageVersion } from "../../src/package-facts.js";
import { callCli } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/* `pinbench build` with programs that compile nothing; test/package has the whole of it. */

const own = vi.hoisted(() => ({ folder: "" }));
vi.mock("../../src/native/probe.js", async (importOriginal) => ({
  ...(await importOriginal<typeof import("../../src/native/probe.js")>()),
  get localBuildFolder() {
    return own.folder;
  },
}));

/** Calls the command with these tools alone, of which CMake is this script, in a package whose folder is `folder`. */
async function build(
  cmake: string,
  tools: string[],
  { folder = temporaryFolder(), more = [] as string[], env = {} } = {},
) {
  const workshops = () => readdirSync(tmpdir()).filter((name) => name.startsWith("pinbench-build-"));
  const [PATH, before] = [temporaryFolder(), workshops()];
  for (const tool of tools) writeFileSync(join(PATH, tool), `#!/bin/sh\n${cmake}\n`, { mode: 0o755 });
  own.folder = join(folder, "build");
  const finished = await callCli(["build", ...more], { env: { PATH, ...env } });
  expect(workshops()).toEqual(before);
  return { ...finished, installed: (at = own.folder) => (existsSync(at) ? readdirSync(at).sort() : null) };
}

const all = ["g++", "make", "cmake"];
const modules = ["libpinbench_emulated.so", "pinbench.node"];

/** Says its arguments to this file, and puts the modules where the compiler would. */
const compiling = (told: string) => `printf '%s\\n' "$@" >> ${told}
[ "$1" = --build ] || exit 0
/bin/mkdir -p "$2/Release"
/bin/cp ${modules.map((name) => join(loadAddon().path, "..", name)).join(" ")} "$2/Release"`;

describe("a build", () => {
  it("puts both modules into the package's folder, and says what it has compiled and what comes before it", async () => {
    const told = join(temporaryFolder(), "told");
    const { exitCode, stdout, stderr, installed } = await build(compiling(told), all, {
      env: { PINBENCH_ADDON: "/other/pinbench.node", HOME: temporaryFolder() },
    });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: `pinbench: compiling for ${own.folder}, which takes a minute or two
pinbench: PINBENCH_ADDON is set, and comes first: /other/pinbench.node\n`,
    });
    const { compiler, kernels } = loadAddon().addon.build;
    const what = kernels ? "with kernels" : "without kernels, because nvcc was not found";
    expect(stdout).toBe(`Compiled by ${compiler}, ${what}: ${own.folder}/pinbench.node\n`);
    expect(installed()).toEqual(modules);
    expect(readFileSync(told, "utf8")).toMatch(
      /\n-G\nUnix Makefiles\n-DCMAKE_BUILD_TYPE=Release\n[\s\S]*\n--build\n/,
    );
  });

  it("is by Ninja where there is no make, by the compiler that CXX names, and for the user in a read-only package", async () => {
    const told = join(temporaryFolder(), "told");
    const folder = join(temporaryFolder(), "file");
    writeFileSync(folder, "");
    const HOME = temporaryFolder();
    const env = { HOME, CXX: "g++-12" };
    const { exitCode, stdout, installed } = await build(compiling(told), ["ninja", "cmake"], { folder, env });
    const ofUser = join(HOME, ".cache/pinbench", `build-${packageVersion()}`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining(`: ${ofUser}/pin`) });
    expect(installed(ofUser)).toEqual(modules);
    expect(readFileSync(told, "utf8")).toContain("\n-G\nNinja\n");
  });

  it("is refused where it can put nothing, and if some program is missing", async () => {
    const folder = join(temporaryFolder(), "file");
    writeFileSync(folder, "");
    const nowhere = await build("", all, { folder, env: { HOME: "" } });
    expect(nowhere).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`Neither ${own.folder} can be`),
    });
    const { exitCode, stderr } = await build("", ["make"]);
    expect(exitCode).toBe(3);
    expect(stderr).toContain("needs a C++20 compiler and CMake, not found in the PATH. Install it first (");
    expect(stderr).toContain("apt-get install g++ cmake)");
  });

  const lines = Array.from({ length: 50 }, (_, i) => `line ${i + 1}`);
  const failing = `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}; exit 1`;

  it.each([
    [
      "the last of what the compiler said, where the error is",
      [],
      lines.slice(10),
      / --verbose shows all\.$/,
    ],
    [
      "all that it said as it comes with --verbose, and nothing of it again",
      ["--verbose"],
      lines,
      /code 1\.$/,
    ],
  ])("that fails shows %s, and leaves what was there", async (_, more, shown, end) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "build"));
    writeFileSync(join(folder, "build/pinbench.node"), "old");
    const { exitCode, stderr, installed } = await build(failing, all, { folder, more });
    expect(exitCode).toBe(3);
    expect(stderr.match(/^line .*/gm)).toEqual(shown);
    expect(stderr).not.toContain("\n\n");
    expect(stderr).toContain("Compiling failed: cmake configure ended with exit code 1.");
    expect(stderr.trim()).toMatch(end);
    expect(installed()).toEqual(["pinbench.node"]);
  });
});
