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
  it("gives all of a file, of several chunks too", async () => {
    const text = "größer als ein Block, ".repeat(10_000);
    writeFileSync(inFolder("a.json"), text);
    expect(await readTextFile(inFolder("a.json"))).toBe(text);
  });

  it("gives the empty text of an empty file: what that means its reader knows", async () => {
    writeFileSync(inFolder("empty"), "");
    expect(await readTextFile(inFolder("empty"))).toBe("");
  });

  it("leaves a byte order mark out", async () => {
    writeFileSync(inFolder("bom.json"), "\uFEFF{}");
    expect(await readTextFile(inFolder("bom.json"))).toBe("{}");
  });

  it("reads what a program writes into a pipe that this process has, to its end and however slowly", async () => {
    const { child, path } = pipeFrom("printf through; read -r _; printf ' the pipe'");
    const text = readTextFile(path);
    child.stdin.write("go on\n");
    expect(await text).toBe("through the pipe");
  });

  it("reads all of a pipe that holds more than one chunk", async () => {
    const { path } = pipeFrom("head -c 200000 /dev/zero | tr '\\0' x");
    expect(await readTextFile(path)).toBe("x".repeat(200_000));
  });

  it("reads a file that this process has open from its top, each time", async () => {
    writeFileSync(inFolder("a"), "all of it");
    const descriptor = openSync(inFolder("a"), "r");
    try {
      for (let time = 0; time < 2; ++time)
        expect(await readTextFile(`/dev/fd/${descriptor}`)).toBe("all of it");
    } finally {
      closeSync(descriptor);
    }
  });

  it("does not wait for anybody to write to a named pipe, and says what it is", async () => {
    execFileSync("mkfifo", [inFolder("fifo")]);
    symlinkSync(inFolder("fifo"), inFolder("link"));
    for (const path of [inFolder("fifo"), inFolder("link")]) {
      expect(await failure(path)).toBe(
        `cannot read ${path}: it is a named pipe, and only regular files are read.`,
      );
    }
  });

  it.each(["/dev/zero", "/dev/null", "/dev/tty"])("does not read %s, nor a link to it", async (device) => {
    symlinkSync(device, inFolder("link"));
    // Without a terminal the system does not open /dev/tty at all.
    const reason = /: it is a (device|socket), and only regular files are read\.$/;
    expect(await failure(device)).toMatch(reason);
    expect(await failure(inFolder("link"))).toMatch(reason);
  });

  it("says that a path is a socket's", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(inFolder("socket"), resolve));
    try {
      expect(await failure(inFolder("socket"))).toContain("it is a socket, and only regular files are read");
    } finally {
      server.close();
    }
  });

  it("says that this process has nothing open under a number", async () => {
    expect(await failure("/dev/fd/999")).toBe("cannot read /dev/fd/999: it is not open for reading.");
  });

  it("says that a file is not there", async () => {
    const path = inFolder("missing.json");
    expect(await failure(path)).toBe(`cannot read ${path}: there is no such file.`);
  });

  it("says that a path is a folder", async () => {
    expect(await failure(folder)).toBe(`cannot read ${folder}: it is a folder.`);
  });

  it("says that a path is none", async () => {
    expect(await failure("")).toBe('cannot read "": it is not a file name.');
  });

  it("says that a part of the path is a file", async () => {
    writeFileSync(inFolder("a"), "");
    expect(await failure(inFolder("a/b"))).toContain("a part of its path is a file");
  });

  it("says that links lead in a circle", async () => {
    symlinkSync(inFolder("b"), inFolder("a"));
    symlinkSync(inFolder("a"), inFolder("b"));
    expect(await failure(inFolder("a"))).toContain("circle");
  });

  // Root may read everything.
  it.skipIf(process.getuid?.() === 0)("says that it may not", async () => {
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

  it("stops at the limit if no size is known before", async () => {
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

  it.each<[string, string, number, string, number]>([
    ["all of a file that just fits", "a\nbb\n", 5, "a\nbb\n", 0],
    ["whole lines only", "a\nbbbb\ncc\n", 5, "cc\n", 2],
    ["the first of them if it just fits", "a\nbb\ncc\n", 6, "bb\ncc\n", 1],
    ["none of a single line", "aaaaaaaa", 4, "", 0],
    ["the count of lines of several chunks before", `${"x\n".repeat(bytes)}yy\nz\n`, 4, "z\n", bytes + 1],
    ["the rest in several chunks", `a\n${"x\n".repeat(bytes)}`, 2 * bytes + 1, "x\n".repeat(bytes), 1],
  ])("gives %s", async (_, text, mostBytes, kept, linesBefore) => {
    expect(await newest(text, mostBytes)).toEqual({ text: kept, linesBefore });
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
])("the descriptor behind %s", (path, descriptor) => {
  expect(inheritedDescriptor(path)).toBe(descriptor);
});

describe("why the file system failed", () => {
  const withCode = (code: string) => Object.assign(new Error(`${code}: no`), { code });

  it.each([
    ["ENOTDIR", "a part of its path is a file, not a folder"],
    ["EISDIR", "it is a folder"],
    ["EACCES", "permission denied"],
    ["EPERM", "the operation is not permitted"],
    ["ENAMETOOLONG", "its name is too long"],
    ["EROFS", "the file system is read-only"],
    ["ENOSPC", "the disk is full"],
    ["EDQUOT", "the disk quota is used up"],
    ["ENOENT", "nobody made it"],
    ["EIO", "its cable is out"],
    ["EWHAT", "EWHAT"],
  ])("%s: %s", (code, reason) => {
    const own = { ENOENT: "nobody made it", EIO: "its cable is out" };
    expect(fileErrorReason(withCode(code), own)).toBe(reason);
  });

  it("an error without a code speaks for itself", () => {
    expect(fileErrorReason(new Error("no"), {})).toBe("Error: no");
  });

  it("a machine that lacks a resource is no fault of the file's; nothing to read now is", () => {
    expect(cannotRead("a", withCode("EMFILE"))).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/^cannot read a: too many open files/) as string,
    });
    expect(cannotRead("a", withCode("EAGAIN"))).toMatchObject({
      kind: "usage",
      message: "cannot read a: it has nothing to read now, and is not a regular file.",
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

describe("a text with far more in it than a document of pinbench's is refused before it takes time and memory", () => {
  it.each([
    ["objects", "{},"],
    ["lists", "[],"],
    ["texts", '"",'],
    ["numbers", "1,", 17e6],
  ])("%s", (_, element, count = 9e6) => {
    expect(() => parseJson(`[${element.repeat(count)}1]`, "a.json")).toThrow(
      /^a\.json has far more values than a document of pinbench's\.$/,
    );
  });

  it("an object with more names than a schema can refuse one by one", () => {
    const names = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 1]));
    const text = (count: number) => JSON.stringify({ cells: [{ labels: names(count) }] });
    expect(() => parseJson(text(10_001), "a.json")).toThrow(
      /^a\.json has an object with more than 10000 names\.$/,
    );
    expect(parseJson(text(10_000), "a.json")).toHaveProperty("cells");
  });
});
