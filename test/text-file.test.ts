import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PinbenchError } from "../src/errors.js";
import { readTextFile } from "../src/text-file.js";

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

  it("reads a fifo to its end", async () => {
    execFileSync("mkfifo", [inFolder("fifo")]);
    const [text] = await Promise.all([
      readTextFile(inFolder("fifo")),
      writeFile(inFolder("fifo"), "through the pipe"),
    ]);
    expect(text).toBe("through the pipe");
  });

  it("says that a file is not there", async () => {
    const path = inFolder("missing.json");
    expect(await failure(path)).toBe(`cannot read ${path}: there is no such file.`);
  });

  it("says that a path is a folder", async () => {
    expect(await failure(folder)).toBe(`cannot read ${folder}: it is a folder.`);
  });

  it("says that a path is none", async () => {
    expect(await failure("")).toBe('cannot read "": it is no file name.');
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

  it("stops at the limit where no size is known before", async () => {
    execFileSync("mkfifo", [inFolder("fifo")]);
    const [message] = await Promise.all([failure(inFolder("fifo"), 4), writeFile(inFolder("fifo"), "12345")]);
    expect(message).toContain("it is larger, and 4 bytes is the most that is read");
  });

  it("reads a file of exactly the limit", async () => {
    mkdirSync(inFolder("sub"));
    writeFileSync(inFolder("sub/four"), "1234");
    expect(await readTextFile(inFolder("sub/four"), 4)).toBe("1234");
  });
});
