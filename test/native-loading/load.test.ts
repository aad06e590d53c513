import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { loadAddon } from "../../src/native/load.js";
import { inspectBinary } from "../../src/native/load-failure.js";
import { candidates } from "../../src/native/probe.js";
import { runCli } from "../helpers/run-cli.js";

vi.mock("../../src/native/probe.js", { spy: true });

let folder = "";
let named = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-load-"));
  named = join(folder, "pinbench.node");
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const built = loadAddon();
const bytes = readFileSync(built.path);

/** With a cache of its own. */
const environment = () => ({ PINBENCH_ADDON: named, XDG_CACHE_HOME: join(folder, "cache") });

function refusal(): PinbenchError {
  try {
    loadAddon(environment());
  } catch (error) {
    expect(error).toBeInstanceOf(PinbenchError);
    return error as PinbenchError;
  }
  throw new Error("it loaded");
}

/** test/helpers/test-variants.ts names another one. */
const compiler = process.env.CXX ?? "g++";

/** A library that is none of pinbench's, with this in it. */
function compile(source: string): void {
  const command = ["-x", "c++", "-shared", "-fPIC", "-o", named, "-"];
  const { status, stderr } = spawnSync(compiler, command, { input: source, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

describe("loadAddon", () => {
  it("loads this build, with the emulated driver that lies beside it", () => {
    expect(built.addon.build).toMatchObject({ compiler: expect.any(String), kernels: expect.any(Boolean) });
    expect([null, "address", "thread"]).toContain(built.addon.build.sanitizer);
    expect(built.emulatedLibraryPath).toBe(join(dirname(built.path), "libpinbench_emulated.so"));
    expect(built.passedOver).toEqual([]);
  });

  it("loads the module that PINBENCH_ADDON names, with the emulated driver beside it", () => {
    copyFileSync(built.path, named);
    expect(loadAddon(environment())).toMatchObject({
      source: "PINBENCH_ADDON",
      path: named,
      emulatedLibraryPath: join(folder, "libpinbench_emulated.so"),
    });
  });

  it("skips and reports a damaged module, and skips a missing one silently", () => {
    writeFileSync(named, "");
    const emulatedLibraryPath = built.emulatedLibraryPath;
    const paths = { missing: join(folder, "missing.node"), damaged: named, built: built.path };
    vi.mocked(candidates).mockReturnValueOnce(
      Object.values(paths).map((path) => ({ source: "prebuilt", path, emulatedLibraryPath })),
    );
    const { path, passedOver } = loadAddon();
    expect(path).toBe(paths.built);
    expect(passedOver).toMatchObject([{ path: paths.damaged, failure: { kind: "damaged" } }]);
  });

  it("tries a module in another process once, until the file changes", () => {
    copyFileSync(built.path, named);
    const cache = join(folder, "cache/pinbench/loaded.json");
    loadAddon(environment());
    expect(JSON.parse(readFileSync(cache, "utf8"))).toHaveLength(1);
    loadAddon(environment());
    expect(JSON.parse(readFileSync(cache, "utf8"))).toHaveLength(1);
    rmSync(named);
    copyFileSync(built.path, named);
    writeFileSync(cache, "no JSON");
    loadAddon(environment());
    expect(JSON.parse(readFileSync(cache, "utf8"))).toHaveLength(1);
  });

  it("fails if the named module is missing, though pinbench has another", () => {
    const { kind, message, hint } = refusal();
    expect(kind).toBe("unavailable");
    expect(message).toContain(`${named} does not load: there is no such file (`);
    expect(hint).toContain("unset it");
  });

  it("refuses a named pipe, and a path below a regular file", () => {
    spawnSync("mkfifo", [named]);
    expect(refusal().message).toContain("it is not a regular file");
    expect(inspectBinary(named)?.kind).toBe("unreadable");
    named = join(built.path, "pinbench.node");
    expect(refusal().message).toContain("there is no such file");
  });

  it("names the system, its C library and Node in its error", () => {
    expect(refusal().message).toMatch(/\(linux-\w+, (no glibc|glibc [\d.]+), Node v[\d.]+\)/);
  });

  it("runs no file as a script", () => {
    writeFileSync(named, "throw new Error('it was run')");
    expect(refusal().message).toContain("it is not an ELF file");
  });

  it("reports that a module file was cut short", () => {
    writeFileSync(named, bytes.subarray(0, bytes.length / 2));
    expect(refusal().message).toMatch(/cut short: \d+ of \d+ bytes/);
    writeFileSync(named, bytes.subarray(0, -1));
    expect(refusal().message).toContain(`cut short: ${bytes.length - 1} of ${bytes.length} bytes`);
    writeFileSync(named, "");
    expect(refusal().message).toContain("it is empty");
  });

  it("reports that the emulated driver beside the module was cut short", () => {
    copyFileSync(built.path, named);
    const emulated = readFileSync(built.emulatedLibraryPath);
    writeFileSync(join(folder, "libpinbench_emulated.so"), emulated.subarray(0, 9000));
    expect(refusal().message).toMatch(/of libpinbench_emulated\.so beside it: it is cut short/);
  });

  it("reports that a module is for another architecture", () => {
    const other = Buffer.from(bytes);
    const [name, machine] = process.arch === "arm64" ? (["x64", 62] as const) : (["arm64", 183] as const);
    other.writeUInt16LE(machine, 18);
    writeFileSync(named, other);
    expect(refusal().message).toContain(`it is for ${name}, and this Node is for ${process.arch}`);
  });

  it("reports an error if only the module's header is intact", () => {
    const other = Buffer.from(bytes);
    other.fill(0xff, 64, 4096);
    writeFileSync(named, other);
    expect(refusal().message).toMatch(/pinbench\.node does not load: .+\./);
  });
});

describe.skipIf(spawnSync(compiler, ["--version"]).status !== 0)("a module that misbehaves", () => {
  it.each([
    ["aborts", "std::abort();", /crashes the process \(SIGABRT\)/],
    ["reads an invalid address", "*(volatile int*)8 = 1;", /crashes the process \(SIGSEGV\)|exit code 1/],
    [
      "has instructions that the CPU lacks",
      `__asm__ volatile("${process.arch === "arm64" ? "udf #0" : "ud2"}");`,
      /this CPU lacks \(SIGILL\)/,
    ],
    ["ends the process", "std::_Exit(3);", /ends the process with exit code 3/],
  ])("fails with a message, not a crash, if on loading it %s", (_, statement, reason) => {
    compile(`#include <cstdlib>\n__attribute__((constructor)) static void begin() { ${statement} }`);
    // AddressSanitizer, where the tests run under it, ends a process of its own accord.
    expect(refusal().message).toMatch(reason);
  });

  it("is refused each time, not remembered as one that loads", () => {
    compile("#include <cstdlib>\n__attribute__((constructor)) static void begin() { std::abort(); }");
    expect(refusal().message).toContain("SIGABRT");
    // Were it remembered, the second attempt would end this very process.
    expect(existsSync(join(folder, "cache/pinbench/loaded.json"))).toBe(false);
    expect(refusal().message).toContain("SIGABRT");
  });

  it("is refused if it loads but is not pinbench's", () => {
    compile("int answer = 42;");
    expect(refusal().message).toMatch(/Module did not self-register|not pinbench's/);
  });

  it("ends a command with one message and exit code 3", async () => {
    compile("#include <cstdlib>\n__attribute__((constructor)) static void begin() { std::abort(); }");
    const { exitCode, stdout, stderr } = await runCli(["run", "--backend", "emulated"], {
      env: environment(),
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(/^pinbench: The compiled module .* does not load: .*SIGABRT\) .* Point .*\n$/);
  });
});
