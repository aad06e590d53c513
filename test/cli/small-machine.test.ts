import { describe, expect, it } from "vitest";
import { type Finished, pinbench, small, start } from "../helpers/run-cli.js";

/** The command line under limits of the shell's, such as "-n 40". */
function underLimit(limit: string, args: readonly string[]): Promise<Finished> {
  const command = `ulimit ${limit} && exec "$@"`;
  return start("bash", ["-c", command, "bash", process.execPath, pinbench, ...args]).finished;
}

describe("few open files", () => {
  it.each([
    ["devices", ["devices", "--backend", "emulated"]],
    ["run", small("--memory", "pinned")],
    ["run --processes", small("--memory", "pinned", "--processes", "2")],
  ])("are enough for %s: ulimit -n 40", async (_, args) => {
    expect(await underLimit("-n 40", args)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/./),
    });
  });

  it("are named if a measuring process cannot start", async () => {
    const { exitCode, stdout, stderr } = await underLimit("-n 28", small("--processes", "2"));
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toBe(
      "pinbench: A measuring process did not start: too many open files (a process may have 28 here). " +
        "Raise the limit with ulimit -n 1024.\n",
    );
  });

  it("are named if pinbench itself cannot start", async () => {
    const { exitCode, stdout, stderr } = await underLimit("-n 22", ["devices"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(
      /^pinbench: too many open files: the limit is 22, and .* Raise it with ulimit -n 1024\.\n$/,
    );
  });
});
