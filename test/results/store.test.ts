import { execFile, execFileSync, spawnSync } from "node:child_process";
import { constants } from "node:fs";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cannotWrite } from "../../src/results/files/output-stream.js";
import { checkWritable, finalize, finalizeNamed, writePartial } from "../../src/results/files/store.js";

let folder = "";

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "pinbench-store-")));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const inFolder = (name: string) => join(folder, name);

describe("the test whether an output file can be written", () => {
  it("accepts a new file, and leaves nothing behind", async () => {
    await checkWritable(inFolder("result.json"));
    expect(await readdir(folder)).toEqual([]);
  });

  it("accepts an existing file, and does not change it", async () => {
    await writeFile(inFolder("result.json"), "before");
    await checkWritable(inFolder("result.json"));
    expect(await readdir(folder)).toEqual(["result.json"]);
    expect(await readFile(inFolder("result.json"), "utf8")).toBe("before");
  });

  it.each([
    ["a missing folder", "none/result.json", "its folder does not exist"],
    ["a folder in the file's place", "folder", "it is a folder"],
    ["a file in a folder's place", "file/result.json", "a part of its path is a file"],
    ["a name that is too long", `${"x".repeat(250)}.json`, "its name is too long"],
    ["a name that only its .partial makes too long", `${"x".repeat(245)}.json`, "its name is too long"],
    ["a link that leads to itself", "circle", "lead in a circle"],
    ["an empty name", "", "it is not a file name"],
    ["a name that ends as a folder's", "new/", "it is not a file name"],
  ])("refuses %s", async (_, name, reason) => {
    await mkdir(inFolder("folder"));
    await writeFile(inFolder("file"), "");
    await symlink("circle", inFolder("circle"));
    const before = await readdir(folder);
    await expect(checkWritable(name === "" ? "" : `${folder}/${name}`)).rejects.toMatchObject({
      kind: "output",
      message: expect.stringMatching(new RegExp(`^cannot write .*: .*${reason}.*\\.$`)),
      hint: expect.any(String),
    });
    expect(await readdir(folder)).toEqual(before);
  });

  it("refuses a file in /proc, where not even root can write", async () => {
    await expect(checkWritable("/proc/result.json")).rejects.toMatchObject({ kind: "output" });
  });

  it("does not wait for a reader of a fifo", async () => {
    execFileSync("mkfifo", [inFolder("pipe.json")]);
    await checkWritable(inFolder("pipe.json"));
  });
});

describe("writing an interim result", () => {
  it("writes FILE.partial whole and leaves FILE as it was", async () => {
    await writeFile(inFolder("result.json"), "before");
    await writePartial(inFolder("result.json"), "round 1");
    await writePartial(inFolder("result.json"), "round 2");
    expect((await readdir(folder)).sort()).toEqual(["result.json", "result.json.partial"]);
    expect(await readFile(inFolder("result.json.partial"), "utf8")).toBe("round 2");
    expect(await readFile(inFolder("result.json"), "utf8")).toBe("before");
  });

  it("gives FILE.partial the permissions of FILE", async () => {
    await writeFile(inFolder("result.json"), "before", { mode: 0o600 });
    await writePartial(inFolder("result.json"), "round 1");
    expect((await stat(inFolder("result.json.partial"))).mode & 0o777).toBe(0o600);
  });

  it("leaves no temporary file when it fails", async () => {
    await mkdir(inFolder("result.json.partial"));
    await expect(writePartial(inFolder("result.json"), "round 1")).rejects.toMatchObject({
      kind: "output",
      message: expect.stringMatching(/result\.json\.partial: it is a folder\.$/),
    });
    expect(await readdir(folder)).toEqual(["result.json.partial"]);
  });
});

describe("writing the final result", () => {
  it("replaces FILE and removes FILE.partial", async () => {
    await writeFile(inFolder("result.json"), "before");
    await writePartial(inFolder("result.json"), "round 1");
    await finalize(inFolder("result.json"), "done");
    expect(await readdir(folder)).toEqual(["result.json"]);
    expect(await readFile(inFolder("result.json"), "utf8")).toBe("done");
  });

  it.skipIf(spawnSync("prlimit", ["--version"]).status !== 0)(
    "leaves FILE as it was if only a part of the text fits",
    async () => {
      await writeFile(inFolder("result.json"), "before");
      // As on a full disk, the first write is partial and the next one fails.
      const limit = (bytes: string) => execFileSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]);
      limit("8192");
      try {
        await expect(finalize(inFolder("result.json"), "0123456789".repeat(5000))).rejects.toMatchObject({
          kind: "output",
          message: expect.stringMatching(/result\.json: it would be larger than a file may be\.$/),
        });
      } finally {
        limit("unlimited");
      }
      expect(await readdir(folder)).toEqual(["result.json"]);
      expect(await readFile(inFolder("result.json"), "utf8")).toBe("before");
    },
  );

  it("replaces FILE, so that a program that has it open keeps reading the old text", async () => {
    await writeFile(inFolder("result.json"), "before");
    const reader = await open(inFolder("result.json"));
    await finalize(inFolder("result.json"), "done");
    expect(await reader.readFile("utf8")).toBe("before");
    await reader.close();
  });

  it("keeps the permissions of FILE, and gives a new one those of the umask", async () => {
    await writeFile(inFolder("old.json"), "before");
    // With the set-group-ID bit.
    await chmod(inFolder("old.json"), 0o2640);
    await finalize(inFolder("old.json"), "done");
    await finalize(inFolder("new.json"), "done");
    expect((await stat(inFolder("old.json"))).mode & 0o7777).toBe(0o2640);
    expect((await stat(inFolder("new.json"))).mode & 0o7777).toBe(0o666 & ~process.umask());
  });

  it("writes through a symbolic link to a file", async () => {
    await mkdir(inFolder("data"));
    await writeFile(inFolder("data/old.json"), "before");
    await symlink("data/old.json", inFolder("old.json"));
    await checkWritable(inFolder("old.json"));
    await writePartial(inFolder("old.json"), "round 1");
    await finalize(inFolder("old.json"), "done");
    expect((await lstat(inFolder("old.json"))).isSymbolicLink()).toBe(true);
    expect(await readdir(inFolder("data"))).toEqual(["old.json"]);
    expect(await readFile(inFolder("data/old.json"), "utf8")).toBe("done");
  });

  it("refuses a symbolic link at a name that pinbench chose, and leaves its target", async () => {
    await writeFile(inFolder("precious"), "precious");
    await symlink("precious", inFolder("to-file"));
    await symlink("nothing", inFolder("to-nothing"));
    for (const name of ["to-file", "to-nothing"]) {
      const path = inFolder(name);
      await expect(finalizeNamed(path, "new")).rejects.toMatchObject({
        ...{ kind: "output", exitCode: 2 },
        message: `cannot write ${path}: it is a symbolic link, and a link of this name is never followed.`,
      });
    }
    expect(await readFile(inFolder("precious"), "utf8")).toBe("precious");
    expect((await readdir(folder)).sort()).toEqual(["precious", "to-file", "to-nothing"]);
  });

  it("writes to a fifo directly, without FILE.partial", async () => {
    const pipe = inFolder("pipe.json");
    execFileSync("mkfifo", [pipe]);
    const text = "0123456789".repeat(50_000);
    const reader = promisify(execFile)("cat", [pipe], { maxBuffer: 1e6 });
    await writePartial(pipe, "round 1");
    await finalize(pipe, text);
    expect((await reader).stdout).toBe(text);
    expect(await readdir(folder)).toEqual(["pipe.json"]);
  });

  it("succeeds if the reader of a fifo stops reading early", async () => {
    const pipe = inFolder("pipe.json");
    execFileSync("mkfifo", [pipe]);
    const reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writing = finalize(pipe, "0123456789".repeat(50_000));
    // Reads until the writer has opened its end.
    const read = () => reader.read(Buffer.alloc(10), 0, 10).catch(() => ({ bytesRead: 0 }));
    while ((await read()).bytesRead === 0) await sleep(1);
    await reader.close();
    await expect(writing).resolves.toBeUndefined();
  });

  it("writes to a device such as /dev/null", async () => {
    await checkWritable("/dev/null");
    await finalize("/dev/null", "done");
    expect((await stat("/dev/null")).isCharacterDevice()).toBe(true);
  });

  it("writes to a descriptor of the process by its path", async () => {
    const handle = await open(inFolder("redirected"), "w");
    await handle.write("first\n");
    await finalize(`/dev/fd/${handle.fd}`, "second\n");
    await handle.close();
    expect(await readFile(inFolder("redirected"), "utf8")).toBe("first\nsecond\n");
  });
});

it("a rename that fails between file systems is reported in plain words", () => {
  const error = Object.assign(new Error("EXDEV: cross-device link"), { code: "EXDEV" });
  expect(cannotWrite("a.json", error).message).toBe(
    "cannot write a.json: it cannot be replaced by a file beside it, which counts as on another file system (EXDEV).",
  );
});
