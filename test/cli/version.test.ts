import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../src/cli/commands.js";
import { callCli } from "../helpers/in-process.js";
import { runCli, temporaryFolder } from "../helpers/run-cli.js";

const isClone = existsSync(new URL("../../.git", import.meta.url));
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

/** The commit is unknown in a copy without git. */
const oneLine = new RegExp(
  `^${version.replaceAll(".", "\\.")} \\(commit (unknown|[0-9a-f]{12}(-dirty)?, \\d{4}-\\d\\d-\\d\\d)\\)\\n$`,
);

describe("pinbench", () => {
  it.each(["--version", "-V"])("prints its version in one line with %s", async (flag) => {
    expect(await runCli([flag])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(oneLine),
      stderr: "",
    });
  });

  it.each(["--version", "--help"])("loads no compiled module for %s", async (flag) => {
    const env = { PINBENCH_ADDON: join(temporaryFolder(), "none.node") };
    expect(await runCli([flag], { env })).toMatchObject({ exitCode: 0, stderr: "" });
  });

  it("reports with --version --json how it was built and installed", async () => {
    const { exitCode, stdout, stderr } = await runCli(["--version", "--json"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      version,
      commit: isClone ? expect.stringMatching(/^[0-9a-f]{12}/) : null,
      commitDate: isClone ? expect.stringMatching(/^\d{4}-\d\d-\d\d$/) : null,
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
      glibc: execFileSync("getconf", ["GNU_LIBC_VERSION"], { encoding: "utf8" }).match(/[\d.]+/)![0],
      addon: {
        path: expect.stringMatching(/pinbench\.node$/),
        source: expect.stringMatching(/^(PINBENCH_ADDON|local build)$/),
        neededGlibc: expect.stringMatching(/^2\.\d+$/),
        emulatedDriver: expect.stringMatching(/libpinbench_emulated\.so$/),
        compiler: expect.any(String),
        kernels: expect.any(Boolean),
        sanitizer:
          process.env.PINBENCH_ADDON === undefined ? null : expect.toBeOneOf([null, "address", "thread"]),
      },
      notUsed: [],
    });
  });

  it("reports with --version --json why no module loads, and exits with 0", async () => {
    const env = { PINBENCH_ADDON: join(temporaryFolder(), "none.node") };
    const { exitCode, stdout } = await runCli(["--version", "--json"], { env });
    expect(exitCode).toBe(0);
    const { addon, notUsed } = JSON.parse(stdout);
    expect({ addon, notUsed }).toEqual({
      addon: null,
      notUsed: [expect.stringContaining("none.node does not load: there is no such file")],
    });
  });
});

describe("--help", () => {
  const program = createProgram({ setExitCode: () => undefined });
  const commands = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name())
    .filter((name) => name !== "help");

  it.each(commands)("shows examples: pinbench %s", async (command) => {
    const { exitCode, stdout } = await callCli([...command.split(" ").filter(Boolean), "--help"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Examples:\n( {2}.*\bpinbench .*\n)+/m);
  });
});
