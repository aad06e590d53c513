import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { PinbenchError } from "../src/errors.js";
import {
  cannotRead,
  fileErrorReason,
  inheritedDescriptor,
  isObject,
  parseJson,
  readNewestLines,
  readTextFile,
} from "../src/text-file.js";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-read-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const inFolder = (name: string) => join(folder, name);

async function failure(path: string, limitBytes?: number): Promise<string> {
  const error = await readTextFile(path, limitBytes).catch((thrown: unknown) => thrown);
  if (!(error instanceof PinbenchError)) throw new Error(`no PinbenchError: ${String(error)}`);
  expect(error).toMatchObject({ kind: "usage", exitCode: 2, hint: expect.stringContaining("file") });
  return error.message;
}

/** A pipe of this process that a shell's command writes to, as a shell gives it one for <(…). */
function pipeFrom(command: string) {
  const fifo = inFolder("pipe");
  execFileSync("mkfifo", [fifo]);
  const child = spawn("sh", ["-c", `{ ${command}; } > '${fifo}'`], { stdio: ["pipe", "ignore", "ignore"] });
  const descriptor = openSync(fifo, "r");
  onTestFinished(() => closeSync(descriptor));
  return { child, path: `/dev/fd/${descriptor}` };
}

describe("readTextFile", () => {
  it.each([
    ["several chunks", "größer als ein Block, ".repeat(10_000), "größer als ein Block, ".repeat(10_000)],
    ["no bytes", "", ""],
    ["a byte order mark, which is left out", "\uFEFF{}", "{}"],
  ])("gives all of a file of %s", async (_, written, text) => {
    writeFileSync(inFolder("a.json"), written);
    expect(await readTextFile(inFolder("a.json"))).toBe(text);
  });

  it.each([
    ["with a byte order mark", Buffer.from("\uFEFF{}", "utf16le")],
    ["in the other byte order with a byte order mark", Buffer.from("\uFEFF{}", "utf16le").swap16()],
    ["without a mark", Buffer.from("{}", "utf16le")],
  ])("refuses UTF-16 text %s, and names the encoding", async (_, bytes) => {
    writeFileSync(inFolder("a.json"), bytes);
    await expect(readTextFile(inFolder("a.json"))).rejects.toThrow(
      `${inFolder("a.json")} is UTF-16 text, and pinbench reads UTF-8.`,
    );
  });

  it("reads a pipe of this process to its end, however slowly a program writes into it", async () => {
    const { child, path } = pipeFrom("printf through; read -r _; printf ' the pipe'");
    const text = readTextFile(path);
    child.stdin.write("go on\n");
    expect(await text).toBe("through the pipe");
  });

  it("reads all of a pipe that holds more than one chunk", async () => {
    const { path } = pipeFrom("head -c 200000 /dev/zero | tr '\\0' x");
    expect(await readTextFile(path)).toBe("x".repeat(200_000));
  });

  it("reads a file behind /dev/fd from its beginning, each time", async () => {
    writeFileSync(inFolder("a"), "all of it");
    const descriptor = openSync(inFolder("a"), "r");
    try {
      for (let time = 0; time < 2; ++time)
        expect(await readTextFile(`/dev/fd/${descriptor}`)).toBe("all of it");
    } finally {
      closeSync(descriptor);
    }
  });

  const notRead = "and only regular files are read.";

  it.each<[string, string, () => unknown]>([
    ["a named pipe", `it is a named pipe, ${notRead}`, () => execFileSync("mkfifo", [inFolder("a")])],
    ["a folder", "it is a folder.", () => mkdirSync(inFolder("a"))],
    ["a missing file", "there is no such file.", () => undefined],
    ["a link to a device", `it is a device, ${notRead}`, () => symlinkSync("/dev/zero", inFolder("a"))],
    ["a dangling link", "there is no such file.", () => symlinkSync(inFolder("b"), inFolder("a"))],
  ])("does not read %s, nor a link to it, and says why", async (_, reason, make) => {
    make();
    symlinkSync(inFolder("a"), inFolder("link"));
    for (const path of ["a", "link"].map(inFolder)) {
      expect(await failure(path)).toBe(`cannot read ${path}: ${reason}`);
    }
  });

  it.each([
    ["/dev/null", /: it is a device, /],
    // Without a terminal the system does not open it at all.
    ["/dev/tty", /: it is a (device|socket), /],
    ["/dev/fd/999", /^cannot read \/dev\/fd\/999: there is no such file\.$/],
    ["", /^cannot read "": it is not a file name\.$/],
    ["file/b", /a part of its path is a file/],
    ["circle", /circle/],
    ["socket", /it is a socket, and only regular files are read/],
  ])("says why it does not read %j", async (name, reason) => {
    writeFileSync(inFolder("file"), "");
    symlinkSync(inFolder("circle"), inFolder("circle"));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(inFolder("socket"), resolve));
    onTestFinished(() => void server.close());
    expect(await failure(name === "" || name.startsWith("/") ? name : inFolder(name))).toMatch(reason);
  });

  // Root may read everything.
  it.skipIf(process.getuid?.() === 0)("says that it may not read a file", async () => {
    writeFileSync(inFolder("secret"), "");
    chmodSync(inFolder("secret"), 0);
    expect(await failure(inFolder("secret"))).toContain("permission denied");
  });

  it("names size and limit of a file that is too large, without reading it", async () => {
    writeFileSync(inFolder("large"), "");
    truncateSync(inFolder("large"), 128 * 1024 ** 2 + 1);
    const path = inFolder("large");
    expect(await failure(path)).toBe(
      `cannot read ${path}: it has 128.1 MiB, and 128 MiB is the most that is read.`,
    );
  });

  it("stops reading a pipe at the limit, as its size is unknown before", async () => {
    const { path } = pipeFrom("printf 12345");
    expect(await failure(path, 4)).toContain("it is larger, and 4 bytes is the most that is read");
  });

  it("reads a file of exactly the limit", async () => {
    mkdirSync(inFolder("sub"));
    writeFileSync(inFolder("sub/four"), "1234");
    expect(await readTextFile(inFolder("sub/four"), 4)).toBe("1234");
  });
});

describe("readNewestLines", () => {
  const bytes = 64 * 1024;

  async function newest(text: string, mostBytes?: number) {
    writeFileSync(inFolder("log"), text);
    return await readNewestLines(inFolder("log"), mostBytes);
  }

  it.each<[string, string, number, string, boolean]>([
    ["all of a file that just fits", "a\nbb\n", 5, "a\nbb\n", true],
    ["whole lines only", "a\nbbbb\ncc\n", 5, "cc\n", false],
    ["one more line if that just fits", "a\nbb\ncc\n", 6, "bb\ncc\n", false],
    ["nothing of a single line that is too long", "aaaaaaaa", 4, "", false],
    ["the last line of a file of several chunks", `${"x\n".repeat(bytes)}yy\nz\n`, 4, "z\n", false],
    ["lines of several chunks", `a\n${"x\n".repeat(bytes)}`, 2 * bytes + 1, "x\n".repeat(bytes), false],
  ])("gives %s", async (_, text, mostBytes, kept, isWhole) => {
    expect(await newest(text, mostBytes)).toEqual({ text: kept, isWhole });
  });

  it("refuses what is no regular file, as readTextFile does", async () => {
    await expect(readNewestLines(folder)).rejects.toThrow(`cannot read ${folder}: it is a folder.`);
  });
});

it.each<[string, number | null]>([
  ["/dev/stdin", 0],
  ["/dev/stdout", 1],
  ["/dev/stderr", 2],
  ["/dev/fd/12", 12],
  ["/proc/self/fd/3", 3],
  ["/dev/fd/x", null],
  ["/tmp/dev/fd/3", null],
  ["/dev/fd/3/a", null],
])("the file descriptor behind the path %s is %s", (path, descriptor) => {
  expect(inheritedDescriptor(path)).toBe(descriptor);
});

describe("the reason for an error of the file system", () => {
  const withCode = (code: string) => Object.assign(new Error(`${code}: no`), { code });

  it.each([
    ["ENOTDIR", "a part of its path is a file, not a folder"],
    ["EISDIR", "it is a folder"],
    ["EACCES", "permission denied"],
    ["EPERM", "the operation is not permitted"],
    ["ENAMETOOLONG", "its name is too long"],
    ["EROFS", "the file system is read-only"],
    ["ENOSPC", "the disk is full"],
    ["Unknown system error -122", "the disk quota is used up"],
    ["ENOENT", "nobody made it"],
    ["EIO", "its cable is out"],
    ["EWHAT", "EWHAT"],
  ])("%s: %s", (code, reason) => {
    const own = { ENOENT: "nobody made it", EIO: "its cable is out" };
    expect(fileErrorReason(withCode(code), own)).toBe(reason);
  });

  it("is the error's own message if that has no code", () => {
    expect(fileErrorReason(new Error("no"), {})).toBe("Error: no");
  });

  it("is a shortage of the machine, of kind unavailable, if too many files are open", () => {
    expect(cannotRead("a", withCode("EMFILE"))).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/^cannot read a: too many open files/) as string,
    });
  });
});

describe("parseJson", () => {
  it.each([
    ["only blanks", " \n", "a.json is empty."],
    ["a fault over several lines", '{"a":\n\n x}', /^a\.json is not JSON \([^\n]*\)\.$/],
  ])("names the text and says what to do: %s", (_, text, message) => {
    const parse = () => parseJson(text, "a.json", "Measure again.");
    expect(parse).toThrow(message);
    expect(parse).toThrow(expect.objectContaining({ kind: "usage", hint: "Measure again." }));
  });
});

it("a list, null and a text are no JSON objects", () => {
  expect([{}, { a: 1 }, [], null, "a", 1].map(isObject)).toEqual([true, true, false, false, false, false]);
});
