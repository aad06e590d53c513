import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { PinbenchError } from "../../../src/errors.js";
import { describeJobExit, JobProcess, shellExitCode } from "../../../src/tune/live/job-process.js";

/* The command of a job: how it is started, and how it ended. */

afterEach(() => {
  vi.unstubAllEnvs();
});

it.each([
  [{ code: 0, signal: null }, 0, "ended with exit code 0"],
  [{ code: 7, signal: null }, 7, "ended with exit code 7"],
  [{ code: null, signal: "SIGSEGV" }, 139, "was killed (SIGSEGV)"],
  [{ code: null, signal: "SIGINT" }, 130, "was killed (SIGINT)"],
] as const)("%o is %i of a shell, and %s", (exit, code, text) => {
  expect([shellExitCode(exit), describeJobExit(exit)]).toEqual([code, text]);
});

/** A folder with one for temporary files, which the test's own process uses. */
function workFolder(name = "tmp"): { folder: string; temporary: string } {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const temporary = join(folder, name);
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
  return { folder, temporary };
}

const listen = async () => undefined;

describe("a command that cannot be started", () => {
  it.each([
    ["#!/nowhere/python\n", 0o755, /train cannot be run: its first line names a program that does not/, null],
    ["#!HERE/python\n", 0o755, /train is not executable/, /^Its first line names a program that is not/],
    [
      "exit 0\n",
      0o644,
      /train is not executable/,
      /^Make it executable, or name its interpreter: python .*train,/,
    ],
  ] as const)(
    "for its first line %j or mode %i is told with the reason, and leaves nothing",
    async (...args) => {
      const [text, mode, message, hint] = args;
      const { folder, temporary } = workFolder();
      const path = join(folder, "train");
      writeFileSync(join(folder, "python"), "");
      writeFileSync(path, text.replace("HERE", folder));
      chmodSync(path, mode);
      const error = await JobProcess.start([path], listen).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ kind: "usage", message: expect.stringMatching(message) });
      expect(error).toMatchObject({ hint: hint === null ? null : expect.stringMatching(hint) });
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  it("for want of its socket is told with that", async () => {
    const { temporary } = workFolder();
    const failing = async () => {
      throw new PinbenchError("unavailable", "There is no socket.");
    };
    await expect(JobProcess.start(["true"], failing)).rejects.toMatchObject({ kind: "unavailable" });
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe("a command", () => {
  /** What a shell has of its environment; the socket's path is the one that was listened at. */
  async function environmentOf(name?: string) {
    const { folder, temporary } = workFolder(name);
    const out = join(folder, "out");
    let socket = "";
    const job = await JobProcess.start(
      ["sh", "-c", `printf '%s\\n' "$PYTHONPATH" "$PATH" "$PINBENCH_TUNE_SOCKET" > ${out}; exit 3`],
      async (path) => {
        socket = path;
      },
    );
    expect(await job.exit).toEqual({ code: 3, signal: null });
    expect(job.ended).toEqual({ code: 3, signal: null });
    const ending = job.end();
    expect(job.end()).toBe(ending);
    await ending;
    const [pythonPath, path, told] = readFileSync(out, "utf8").split("\n");
    expect(told).toBe(socket);
    expect(readdirSync(temporary)).toEqual([]);
    return { pythonPath, path, socket, temporary };
  }

  it("has the hook before the user's own modules, and the wheel's programs before all", async () => {
    vi.stubEnv("PYTHONPATH", "/mine:/yours");
    vi.stubEnv("PINBENCH_PYTHON", "/opt/env/bin/python3");
    vi.stubEnv("PATH", "/usr/bin:/bin");
    const { pythonPath, path, socket, temporary } = await environmentOf();
    expect(pythonPath).toMatch(/\/tune\/live\/hook:\/mine:\/yours$/);
    expect(path).toBe("/opt/env/bin:/usr/bin:/bin");
    expect(socket.startsWith(temporary)).toBe(true);
  });

  it("has its socket in /tmp if the path of another folder would be too long", async () => {
    const { socket } = await environmentOf("long".repeat(30));
    expect(socket).toMatch(/^\/tmp\/pinbench-[\w-]+\/hook$/);
  });
});
