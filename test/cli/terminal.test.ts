import { afterEach, expect, it, vi } from "vitest";
import { columnsOf, showsUnicode, writeStdout } from "../../src/cli/output/terminal.js";
import { writeToStream } from "../../src/results/files/output-stream.js";

vi.mock("../../src/results/files/output-stream.js", { spy: true });

const usual = Object.getOwnPropertyDescriptor(process.stdout, "isTTY");
afterEach(() => {
  if (usual === undefined) Reflect.deleteProperty(process.stdout, "isTTY");
  else Object.defineProperty(process.stdout, "isTTY", usual);
  vi.resetAllMocks();
  vi.unstubAllEnvs();
});

/** Writes to a stdout that fails with this code. */
function written(code: string, isTerminal: boolean): Promise<void> {
  Object.defineProperty(process.stdout, "isTTY", { value: isTerminal, configurable: true });
  const failure = Object.assign(new Error(`write ${code}`), { code });
  vi.mocked(writeToStream).mockRejectedValueOnce(failure);
  return writeStdout("some text");
}

it("writing to a terminal that has closed is no error", async () => {
  await expect(written("EIO", true)).resolves.toBeUndefined();
  expect(writeToStream).toHaveBeenCalledExactlyOnceWith("/dev/stdout", "some text");
});

it.each([
  ["EIO", false, "cannot write stdout: its disk or its network has failed (EIO)"],
  ["ENOSPC", true, "cannot write stdout: the disk is full"],
])("writing to stdout fails with %s, on a terminal: %j", async (code, isTerminal, message) => {
  await expect(written(code, isTerminal)).rejects.toMatchObject({
    kind: "output",
    message: expect.stringContaining(message),
    hint: "Redirect it to another place.",
  });
});

it.each([
  ["the terminal, whatever COLUMNS says", { isTTY: true, columns: 120 }, 120],
  ["COLUMNS if the terminal reports no width", { isTTY: true, columns: 0 }, 60],
  ["COLUMNS without a terminal", { isTTY: false, columns: 120 }, 60],
  ["the narrowest layout in a terminal that is narrower", { isTTY: true, columns: 20 }, 40],
])("output is as wide as %s", (_, stream, columns) => {
  vi.stubEnv("COLUMNS", "60");
  expect(columnsOf(stream, 100)).toBe(columns);
});

it.each(["", "0", "wide", "-5", "1e9"])("output has its default width if COLUMNS is %j", (columns) => {
  vi.stubEnv("COLUMNS", columns);
  expect(columnsOf({ isTTY: false, columns: 120 }, 100)).toBe(100);
});

it.each([
  ["ASCII in a locale without UTF-8", { LANG: "de_DE.ISO-8859-1" }, false],
  ["Unicode in a locale with UTF-8 under any of its names", { LC_ALL: "", LANG: "C.utf8" }, true],
  ["Unicode if LC_ALL has UTF-8 and LANG has not", { LC_ALL: "en_US.UTF-8", LANG: "C" }, true],
  ["ASCII if only LC_ALL has no UTF-8", { LC_ALL: "C", LC_CTYPE: "C.UTF-8", LANG: "C.UTF-8" }, false],
  ["ASCII if LC_ALL is empty and LANG has no UTF-8", { LC_ALL: "", LANG: "C" }, false],
  ["ASCII if LC_CTYPE is empty and LANG has no UTF-8", { LC_CTYPE: "", LANG: "POSIX" }, false],
  ["Unicode if all variables are empty", { LC_ALL: "", LANG: "" }, true],
])("output is in %s", (_, env, isUnicode) => {
  expect(showsUnicode(env)).toBe(isUnicode);
});
