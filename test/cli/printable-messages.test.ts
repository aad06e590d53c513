import { describe, expect, it, vi } from "vitest";
import { reportError } from "../../src/cli/output/terminal.js";
import { PinbenchError } from "../../src/errors.js";
import { callCli } from "../helpers/in-process.js";
import { small, temporaryFolder } from "../helpers/run-cli.js";

const odd = "x\u001b[2J\u202e\npinbench: all is well";
const shown = String.raw`x\x1b[2J\u202e\npinbench: all is well`;

/** Requires one line of stderr, in which the name is escaped. */
function expectEscaped(stderr: string): void {
  expect(stderr).toContain(shown);
  expect(stderr).toMatch(/^pinbench: [^\p{Cc}\p{Bidi_Control}]+\n$/u);
}

describe("an error message escapes control characters", () => {
  it.each([
    ["the name of a missing file", ["compare", `${odd}.json`, "b.json"]],
    ["the name of a missing baseline", ["check", "--baseline", odd]],
    ["the value of a flag", ["run", "--sizes", odd]],
    ["the name of a configuration", small("--config", odd)],
    ["the name of an output", small("--output", `${odd}.xyz`)],
    ["a hint", ["history", odd]],
  ])("in %s", async (_, args) => {
    const { exitCode, stderr } = await callCli(args, { cwd: temporaryFolder() });
    expect(exitCode).not.toBe(0);
    expectEscaped(stderr);
  });

  it("in a flag, and turns its line breaks into blanks", async () => {
    const { stderr } = await callCli(["run", `--${odd}`]);
    expect(stderr).toContain(String.raw`there is no flag "--x\x1b[2J\u202e pinbench: all is well"`);
    expect(stderr).toMatch(/^pinbench: [^\p{Cc}\p{Bidi_Control}]+\n$/u);
  });
});

it("an error is one line of JSON with PINBENCH_ERRORS=json", async () => {
  const env = { PINBENCH_ERRORS: "json" };
  const { exitCode, stdout, stderr } = await callCli(["run", "--sizes", odd, "--json"], { env });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr.split("\n")).toHaveLength(2);
  const { kind, message, hint } = JSON.parse(stderr);
  expect({ kind, hint: typeof hint }).toEqual({ kind: "usage", hint: "string" });
  expect(message).toContain(odd);
});

describe("an error", () => {
  let exitCode = 0;
  function reported(error: unknown): string {
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    exitCode = reportError(error);
    const text = write.mock.calls.map(([one]) => one).join("");
    write.mockRestore();
    return text;
  }

  it("is one line with its hint, or is followed by its details and the lines of its hint", () => {
    const hint = "Do this.\nOr that.";
    expect(reported(new PinbenchError("usage", "It is wrong.", { hint: "Do this." }))).toBe(
      "pinbench: It is wrong. Do this.\n",
    );
    expect(reported(new PinbenchError("usage", "It is wrong.", { details: ["here", "there"], hint }))).toBe(
      "pinbench: It is wrong.\n  here\n  there\nDo this.\nOr that.\n",
    );
  });

  it.each<[string, unknown, number, RegExp]>([
    ["a known error", new PinbenchError("notComparable", "It is wrong."), 5, /^pinbench: It is wrong\.\n$/],
    [
      "a bug in pinbench",
      new TypeError("x is undefined"),
      4,
      /^pinbench: x is undefined This is a bug in pinbench:\nTypeError: x is undefined\n +at .+:\d+:\d+/,
    ],
    ["a string that was thrown", "odd", 4, /^pinbench: odd This is a bug in pinbench:\nodd\n$/],
    [
      "too many open files",
      Object.assign(new Error("no"), { code: "ENFILE" }),
      3,
      /^pinbench: too many files are open on this machine\. End other programs/,
    ],
  ])("has the exit code of its kind: %s", (_, error, code, text) => {
    expect(reported(error)).toMatch(text);
    expect(exitCode).toBe(code);
  });

  it("that is a bug is printed with stack, cause and native location, without control characters", () => {
    const cause = Object.assign(new Error(odd), { location: "memory/arena.cpp:88" });
    const text = reported(new TypeError("outer", { cause }));
    expect(text).toMatch(/\ncaused by: Error: .*\n +at .+:\d+:\d+.* at memory\/arena\.cpp:88\n$/s);
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  });

  it("that pinbench foresees is printed without a stack", () => {
    const error = new PinbenchError("usage", "It is wrong.", { cause: new Error("inner") });
    expect(reported(error)).toBe("pinbench: It is wrong.\n");
  });
});
