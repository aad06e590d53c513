import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { setUpCommand } from "../helpers/set-up-commands.js";
import { skipWithoutTorch, testPython } from "../helpers/test-python.js";

const { hasKernels } = inject("installed");
const root = fileURLToPath(new URL("../..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const wheelName = `pinbench-${version}-py3-none-manylinux_2_28_x86_64.whl`;

/** Holds the wheel, and an environment in which README's command has installed it. */
let folder = "";
let inEnvironment = (_: string) => "";
let ran = "";

/** Neither Node nor any variable of this process; a wheel that needs no other package needs no index. */
const bare = { PATH: "/nowhere", PIP_NO_INDEX: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1" };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-wheel-"));
  const flags = ["--out", folder, ...(hasKernels ? [] : ["--without-kernels"])];
  expectDone(start(process.execPath, ["scripts/wheel.mjs", ...flags], { cwd: root, env: process.env }));
  const environment = join(folder, "mit Leerzeichen & 測定");
  inEnvironment = (name) => join(environment, "bin", name);
  expectDone(start(testPython, ["-m", "venv", environment]));
  const command = `${setUpCommand("pip")} --preset quick --backend emulated`;
  const installed = start("/bin/sh", ["-c", command], { env: { ...bare, PATH: inEnvironment("") } });
  expectDone(installed);
  ran = installed.stdout;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Finished {
  status: number | null;
  stdout: string;
  stderr: string;
}

function start(
  command: string,
  args: string[],
  { cwd = folder, env = bare }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Finished {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (error) throw error;
  return { status, stdout, stderr };
}

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ status: 0, stderr: "" });
}

describe("the wheel", () => {
  it("holds what its RECORD says, one package, and what is to be known of it", () => {
    const checker = join(root, "test/package/check-record.py");
    const { stdout, status } = start(testPython, [checker, wheelName]);
    expect(status).toBe(0);
    const { faults, folders, programs, metadata, description, inDistInfo } = JSON.parse(stdout);
    expect(faults).toEqual([]);
    expect(folders).toEqual(["pinbench", `pinbench-${version}.dist-info`]);
    expect(programs).toContain("pinbench/program/runtime/node");
    expect(metadata).toMatchObject({ Name: "pinbench", Version: version, License: "MIT" });
    expect(metadata).not.toHaveProperty("Requires-Dist");
    expect(description).toBe("# pinbench");
    expect(inDistInfo).toEqual([
      "LICENSE",
      "METADATA",
      "RECORD",
      "WHEEL",
      "entry_points.txt",
      "sboms/pinbench.cdx.json",
      "top_level.txt",
    ]);
  });

  it("is installed and run by README's one command, without Node in the path", () => {
    expect(ran).toMatch(/^Successfully installed pinbench-/m);
    expect(ran).toMatch(/^ +H2D +32 MiB +[\d.]+ .*× +-$/m);
  });

  it("is a program and a module, without an environment", () => {
    const ways = [[inEnvironment("pinbench")], [inEnvironment("python"), "-m", "pinbench"]];
    for (const [command = "", ...args] of ways) {
      const { stdout } = start("/usr/bin/env", ["-i", command, ...args, "--version", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({
        version,
        node: process.version,
        addon: { source: "prebuilt", sanitizer: null, kernels: hasKernels },
      });
    }
  });

  it("is imported: a function returns a document, or raises an error with its kind and hint", () => {
    const script = `
import json, pinbench
found = pinbench.run(sizes=["64KiB", 131072], memory="pinned", direction="h2d", preset="quick", backend="emulated")
try:
    pinbench.check("nowhere")
except pinbench.PinbenchError as error:
    raised = [error.kind, error.hint, str(error)]
print(json.dumps([[cell["sizeBytes"] for cell in found["cells"]], pinbench.doctor(preset="quick", backend="emulated")["kind"], raised]))
`;
    const { stdout, stderr } = start(inEnvironment("python"), ["-c", script]);
    expect(stderr).toBe("");
    const [sizes, kind, [errorKind, hint, message]] = JSON.parse(stdout);
    expect({ sizes, kind, errorKind }).toEqual({
      sizes: [65536, 131072],
      kind: "diagnosis",
      errorKind: "notComparable",
    });
    expect(message).toContain("nowhere");
    expect(message.endsWith(hint)).toBe(true);
  });

  it("hands on arguments, exit codes and the lines on stderr", () => {
    const { status, stdout, stderr } = start(inEnvironment("pinbench"), ["run", "--no such flag"]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^pinbench: there is no flag "--no such flag"/);
  });

  it("is the process that was started: a signal reaches it", async () => {
    const child = spawn(inEnvironment("pinbench"), ["run", "--backend", "emulated", "--quiet"], {
      env: bare,
      stdio: "ignore",
    });
    const exit = once(child, "exit");
    const isNode = () => readlinkSync(`/proc/${child.pid}/exe`).endsWith("/program/runtime/node");
    await expect.poll(isNode, { timeout: 30_000 }).toBe(true);
    child.kill("SIGTERM");
    // By the signal, or where it was already listened to, by its code.
    expect([
      [null, "SIGTERM"],
      [143, null],
    ]).toContainEqual(await exit);
  });
});

describe("tune in a user's own installation, if Python has torch", () => {
  skipWithoutTorch();

  let python = "";
  let pinbench = "";
  let env: NodeJS.ProcessEnv = {};
  const wrote = (name: string) => readFileSync(join(folder, name), "utf8");

  /** As `pip install --user` in an environment that sees the system's torch, and is not activated. */
  beforeAll(() => {
    const environment = join(folder, "with torch");
    const userBase = join(folder, "home of a user");
    mkdirSync(userBase);
    python = join(environment, "bin/python");
    pinbench = join(userBase, "bin/pinbench");
    env = { ...bare, PATH: "/usr/bin:/bin", PYTHONUSERBASE: userBase };
    expectDone(start(testPython, ["-m", "venv", "--without-pip", "--system-site-packages", environment]));
    const install = ["--python", python, "install", "--user", "--no-warn-script-location", wheelName];
    expectDone(start(inEnvironment("pip"), install, { env }));
  });

  it("loads the data set by the Python that it lies in", () => {
    const who = "import sys\nopen('loaded-by', 'w').write(sys.executable)\n";
    writeFileSync(join(folder, "data.py"), `${who}def make():\n    return list(range(100))\n`);
    const search = ["--max-workers", "0", "--budget", "1s", "--quiet"];
    const finished = start(pinbench, ["tune", "--torch", "data.py:make", "--batch-size", "4", ...search], {
      env,
    });
    expect(finished).toMatchObject({ status: 0 });
    expect(wrote("loaded-by")).toBe(python);
  });

  it("starts a job with the Python of the installation, or with another Python on request", () => {
    writeFileSync(join(folder, "job.py"), "import sys\nopen('run-by', 'w').write(sys.executable)\n");
    // A job without a loader is a failure, told once it has ended.
    expect(start(pinbench, ["tune", "--", "python", "job.py"], { env }).status).not.toBe(0);
    expect(wrote("run-by")).toBe(python);
    start(pinbench, ["tune", "--", testPython, "job.py"], { env });
    expect(wrote("run-by")).toBe(testPython);
  });
});
