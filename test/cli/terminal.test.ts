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

/** Writes to a stdout that fails so. */
function written(code: string, isTerminal: boolean): Promise<void> {
  Object.defineProperty(process.stdout, "isTTY", { value: isTerminal, configurable: true });
  const failure = Object.assign(new Error(`write ${code}`), { code });
  vi.mocked(writeToStream).mockRejectedValueOnce(failure);
  return writeStdout("some text");
}

it("a terminal that has closed is no failure: its reader has gone", async () => {
  await expect(written("EIO", true)).resolves.toBeUndefined();
  expect(writeToStream).toHaveBeenCalledExactlyOnceWith("/dev/stdout", "some text");
});

it.each([
  ["EIO", false, "cannot write stdout: its disk or its network has failed (EIO)"],
  ["ENOSPC", true, "cannot write stdout: the disk is full"],
])("%s of a stdout is a failure (of a terminal: %j)", async (code, isTerminal, message) => {
  await expect(written(code, isTerminal)).rejects.toMatchObject({
    kind: "output",
    message: expect.stringContaining(message),
    hint: "Redirect it to another place.",
  });
});

it.each([
  ["of the terminal, whatever COLUMNS says", { isTTY: true, columns: 120 }, 120],
  ["of COLUMNS if the terminal reports none", { isTTY: true, columns: 0 }, 60],
  ["of COLUMNS without a terminal", { isTTY: false, columns: 120 }, 60],
  ["of the least layout in a narrower terminal", { isTTY: true, columns: 20 }, 40],
])("the width is that %s", (_, stream, columns) => {
  vi.stubEnv("COLUMNS", "60");
  expect(columnsOf(stream, 100)).toBe(columns);
});

it.each(["", "0", "wide", "-5", "1e9"])("the width is the usual one if COLUMNS is %j", (columns) => {
  vi.stubEnv("COLUMNS", columns);
  expect(columnsOf({ isTTY: false, columns: 120 }, 100)).toBe(100);
});

it.each([
  ["of another locale than UTF-8", { LANG: "de_DE.ISO-8859-1" }, false],
  ["of UTF-8 by any of its names", { LC_ALL: "", LANG: "C.utf8" }, true],
  ["of LC_ALL before LANG", { LC_ALL: "en_US.UTF-8", LANG: "C" }, true],
  ["of LC_ALL before all others", { LC_ALL: "C", LC_CTYPE: "C.UTF-8", LANG: "C.UTF-8" }, false],
  ["of LANG if LC_ALL is empty", { LC_ALL: "", LANG: "C" }, false],
  ["of LANG if LC_CTYPE is empty", { LC_CTYPE: "", LANG: "POSIX" }, false],
  ["of UTF-8 if none is set or all are empty", { LC_ALL: "", LANG: "" }, true],
])("the characters are those %s", (_, env, isUnicode) => {
  expect(showsUnicode(env)).toBe(isUnicode);
});
