import { describe, expect, it } from "vitest";
import { type ErrorKind, type ExitCode, errorCode, exitCodeOf, PinbenchError } from "../src/errors.js";

describe("a failure that a user can act on", () => {
  it.each<[ErrorKind, number]>([
    ["usage", 2],
    ["output", 2],
    ["limit", 2],
    ["unavailable", 3],
    ["unsupported", 3],
    ["measurement", 4],
    ["notComparable", 5],
    ["wrongData", 7],
  ])("of kind %s ends with exit code %i", (kind, code) => {
    expect(new PinbenchError(kind, "a.")).toMatchObject({ kind, exitCode: code });
  });

  it("keeps its cause, and has neither a hint nor a cause by default", () => {
    const cause = new Error("no");
    expect(new PinbenchError("usage", "a.", { hint: "b.", cause })).toMatchObject({ hint: "b.", cause });
    const plain = new PinbenchError("usage", "a.");
    expect(plain.hint).toBeNull();
    expect("cause" in plain).toBe(false);
  });

  it("has its details on indented lines after its sentence", () => {
    const error = new PinbenchError("usage", "two files.", { details: ["a.json", "b.json"] });
    expect(error.message).toBe("two files.\n  a.json\n  b.json");
    expect(error).toMatchObject({ sentence: "two files.", details: ["a.json", "b.json"] });
  });

  it("quotes the ends of a value that is too long to read, in its message and its hint", () => {
    const long = `begin${"x".repeat(1991)}endx`;
    const whole = new PinbenchError("usage", long, { hint: long });
    expect([whole.message, whole.hint]).toEqual([long, long]);
    const cut = new PinbenchError("usage", `${long}end`, { hint: `${long}end` });
    const ends = /^beginx{995} … 3 more characters … x{993}endxend$/;
    expect(cut.sentence).toMatch(ends);
    expect(cut.hint).toMatch(ends);
  });
});

describe("the exit code of several failures", () => {
  it.each<[string, number, (ExitCode | null)[]]>([
    ["success if nothing failed", 0, []],
    ["success if no finding has a code", 0, [null, 0, null]],
    ["wrong data before that of another machine", 7, [5, 7]],
    ["another machine before that of a failed measurement", 5, [4, 5]],
    ["a failed measurement before that of a loss", 4, [1, 4]],
    ["a loss before that of an undecided check", 1, [6, 1, 0]],
    ["an undecided check before that of a path that cannot be written", 6, [2, null, 6]],
    ["wrong data before that of a deadline", 7, [4, 7, 1]],
    ["a signal before any other", 130, [7, 5, 130, 4, 1, 6]],
  ])("is that of %s", (_, code, codes) => {
    expect(exitCodeOf(...codes)).toBe(code);
  });
});

describe("the system's code of an error", () => {
  it.each<[string, unknown, string | null]>([
    ["is its code if that is a text", Object.assign(new Error("no"), { code: "ENOENT" }), "ENOENT"],
    ["is null if its code is a number", Object.assign(new Error("no"), { code: 5 }), null],
    ["is null if it has no code", new Error("ENOENT"), null],
    ["is null for an object that is no error", { code: "ENOENT" }, null],
  ])("%s", (_, error, code) => {
    expect(errorCode(error)).toBe(code);
  });
});
