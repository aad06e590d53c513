import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { loadSchema, type WeightsLoad } from "../../src/load/load-document.js";
import { callCli } from "../helpers/in-process.js";
import { emulatedFaults, runCli, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { safetensors } from "../helpers/safetensors.js";

const load = (...args: string[]) => ["load", "--backend", "emulated", "--quiet", ...args];
const once = ["--threads", "2", "--budget", "0.001s"];

const parse = (text: string): WeightsLoad => loadSchema.parse(JSON.parse(text));

async function loaded(args: readonly string[], env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await callCli(load(...once, "--json", ...args), { env });
  return { exitCode, stderr, document: parse(stdout) };
}

function file(name: string, content: string | Uint8Array, folder = temporaryFolder()): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** 3 MB, of which no two blocks are equal. */
const plain = () => Uint8Array.from({ length: 3e6 }, (_, i) => i * 7 + (i >> 8));

/** Sizes as in a ResNet-50 (float32), and as in a layer of a transformer of width 1024 (bfloat16), in bytes. */
const resnet50 = [9408, 256, 16384, 147456, 65536, 2359296, 8192000, 4000];
const transformer = [2097152, 2097152, 2097152, 2097152, 8388608, 8388608, 2048, 2048];

describe("pinbench load", () => {
  it("loads a file by every method, verifies its bytes, and leaves it unchanged", async () => {
    const path = file("weights.bin", plain());
    const before = statSync(path);
    const { exitCode, document } = await loaded([path, "--cold"]);
    expect(exitCode).toBe(0);
    expect(document).toMatchObject({
      status: "complete",
      totalBytes: 3e6,
      copiedBytes: 3e6,
      pieces: { count: 1, medianBytes: 3e6 },
      files: [{ path, bytes: 3e6, isSafetensors: false }],
      verification: { mismatchedBytes: 0 },
    });
    const warm = document.ways.filter(({ isCold }) => !isCold).map(({ way }) => way);
    expect(warm).toEqual(["mapped", "registered", "mapped-slots", "read-slots"]);
    const copying = document.ways.filter(({ way, error }) => way !== "storage" && error === null);
    for (const { passes, gigabytesPerSecond } of copying) {
      expect(passes.length).toBeGreaterThan(0);
      expect(gigabytesPerSecond!.median).toBeGreaterThan(0);
    }
    const passes = copying.reduce((sum, way) => sum + way.passes.length, 0);
    // The first pass is not counted.
    expect(document.verification.checkedBytes).toBe((passes + 1) * 3e6);
    const after = statSync(path);
    expect([after.size, after.mtimeMs, after.ino]).toEqual([before.size, before.mtimeMs, before.ino]);
  });

  it.each([
    ["ResNet-50", resnet50],
    ["transformer", transformer],
  ])("copies a safetensors file of a %s tensor by tensor", async (_, sizes) => {
    const path = file("model.safetensors", safetensors(sizes));
    const { exitCode, document } = await loaded([path]);
    const bytes = sizes.reduce((sum, size) => sum + size);
    expect(exitCode).toBe(0);
    expect(document).toMatchObject({
      totalBytes: bytes,
      copiedBytes: bytes,
      pieces: { count: sizes.length },
      verification: { mismatchedBytes: 0 },
    });
  });

  it("takes the safetensors files of a folder, or all its files if it has none", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "nested"));
    file("b.bin", "b", folder);
    file("a.bin", "a", folder);
    const paths = async () => (await loaded([folder])).document.files.map(({ path }) => path);
    expect(await paths()).toEqual([join(folder, "a.bin"), join(folder, "b.bin")]);
    const model = file("model.safetensors", safetensors([1000]), folder);
    expect(await paths()).toEqual([model]);
  });

  it("makes a file of its own if none is named, and loads 64 MiB of it at a time", async () => {
    const folder = temporaryFolder();
    const { exitCode, document } = await loaded(["--make", "65MiB", "--file-folder", folder]);
    expect(exitCode).toBe(0);
    expect(document).toMatchObject({
      files: [{ path: folder }],
      totalBytes: 65 * 2 ** 20,
      pieces: { count: 2 },
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reports which methods a machine refuses, and measures the others", async () => {
    // The first registration is that of the slots.
    const refusal = emulatedFaults("cuMemHostRegister_v2:801:nth=2");
    const { exitCode, document } = await loaded([file("a.bin", plain())], refusal);
    expect(exitCode).toBe(0);
    expect(document.ways.map(({ way, error }) => [way, error?.code ?? null])).toEqual([
      ["mapped", null],
      ["registered", "CUDA_ERROR_NOT_SUPPORTED"],
      ["mapped-slots", null],
      ["read-slots", null],
    ]);
  });

  it("exits with 7 if bytes arrive wrong", async () => {
    const { exitCode, document } = await loaded([file("a.bin", plain())], emulatedFaults("h2d:flip:every=2"));
    expect(exitCode).toBe(7);
    expect(document.verification.mismatchedBytes).toBeGreaterThan(0);
  });

  it("writes every format, and pinbench show prints the saved result again", async () => {
    const cwd = temporaryFolder();
    const outputs = ["load.json", "load.md", "load.txt", "load.html", "load.py"];
    const path = file("a.bin", plain());
    const args = load(path, ...once, ...outputs.flatMap((name) => ["--output", name]));
    const { exitCode, stdout } = await callCli(args, { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("=> Mapped, as safetensors copies it: ");
    for (const name of outputs) expect(readFileSync(join(cwd, name), "utf8")).not.toBe("");
    const shown = await callCli(["show", "load.json"], { cwd });
    expect(shown.stdout).toBe(stdout);
  });
});

describe("pinbench load exits with 2 and one sentence for", () => {
  const header = (text: string) => {
    const bytes = Buffer.alloc(8 + text.length);
    bytes.writeBigUInt64LE(BigInt(text.length));
    bytes.write(text, 8);
    return bytes;
  };
  it.each<[string, () => string[], string]>([
    ["a call without a file", () => [], "load takes files and folders, or --make."],
    [
      "a file and --make",
      () => [file("a", "a"), "--make", "1MiB"],
      "load takes files and folders, or --make.",
    ],
    ["a missing file", () => ["/nowhere"], "/nowhere cannot be loaded: there is no such file."],
    ["an empty file", () => [file("a", "")], "cannot be loaded: it is empty."],
    ["an empty folder", () => [temporaryFolder()], "cannot be loaded: the folder has no files."],
    ["a device file", () => ["/dev/null"], "/dev/null cannot be loaded: it is not a regular file."],
    [
      "a named pipe",
      () => {
        const path = join(temporaryFolder(), "pipe");
        execFileSync("mkfifo", [path]);
        return [path];
      },
      "cannot be loaded: it is not a regular file.",
    ],
    [
      "a safetensors file that is cut in its header",
      () => [file("a.safetensors", safetensors([4000]).subarray(0, 30))],
      "its safetensors header is cut, or names no tensors.",
    ],
    [
      "a safetensors file that is cut in its data",
      () => [file("a.safetensors", safetensors([4000, 4000]).subarray(0, -1))],
      "it is cut: its safetensors header names more bytes than it has.",
    ],
    ["a safetensors header that is no JSON", () => [file("a.safetensors", header("{"))], "names no tensors."],
    ["a tensor described by a list", () => [file("a.safetensors", header('{"w":[]}'))], "names no tensors."],
    ["a safetensors header of no tensors", () => [file("a.safetensors", header("{}"))], "names no tensors."],
    [
      "a tensor that ends before it begins",
      () => [file("a.safetensors", header('{"w":{"data_offsets":[5,1]}}'))],
      "its safetensors header names more bytes than it has.",
    ],
    ["a safetensors file of junk", () => [file("a.safetensors", Buffer.alloc(64, 255))], "names no tensors."],
    ["a safetensors file of 3 bytes", () => [file("a.safetensors", "abc")], "names no tensors."],
    [
      "more data than a third of the memory",
      () => ["--make", "900TiB"],
      "load takes a third of the free memory at most, ",
    ],
    [
      "a missing --file-folder",
      () => ["--make", "1MiB", "--file-folder", "/nowhere"],
      "there is no such folder.",
    ],
    [
      "a missing --file-folder with --cold",
      () => ["--make", "1MiB", "--cold", "--file-folder", "/nowhere"],
      "No files can be made in /nowhere: there is no such folder.",
    ],
    [
      "a folder in memory with --cold",
      () => ["--make", "1MiB", "--cold", "--file-folder", "/dev/shm"],
      "No files can be made in /dev/shm: it is in memory.",
    ],
    [
      "files in memory with --cold",
      () => [file("a", "a", "/dev/shm"), "--cold"],
      "it is in memory and has no storage for --cold.",
    ],
    [
      "too many threads",
      () => [file("a", "a"), "--threads", "1,5000"],
      "load takes a third of the free memory at most, ",
    ],
  ])("%s", async (_, args, sentence) => {
    const given = args();
    const { exitCode, stdout, stderr } = await callCli(load(...given));
    for (const path of given.filter((one) => one.startsWith("/dev/shm/"))) execFileSync("rm", [path]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^pinbench: [^\n]+\n$/);
    expect(stderr).toContain(sentence);
  });

  it.skipIf(process.getuid?.() === 0)("a file that may not be read", async () => {
    const path = file("a.bin", "a");
    chmodSync(path, 0);
    expect((await callCli(load(path))).stderr).toContain("cannot be loaded: permission denied.");
  });

  it("a machine with too little memory for its file", async () => {
    // Device memory counts like the host's: here 100 MB.
    const env = { PINBENCH_EMULATED_MEMORY: "100000000" };
    const { exitCode, stderr } = await callCli(load("--make", "50MB"), { env });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("load takes a third of the free memory at most, 31.8 MiB, and not 48 MiB.");
  });
});

/** Whether a child of the process has mapped a file with this path. */
function hasMapped(pid: number, path: string): boolean {
  const read = (name: string) => {
    try {
      return readFileSync(name, "utf8");
    } catch {
      return "";
    }
  };
  const children = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean);
  return children.some((child) => read(`/proc/${child}/maps`).includes(path));
}

describe("pinbench load of a file that is cut meanwhile", () => {
  it("exits with 4, and writes nothing", async () => {
    const cwd = temporaryFolder();
    const path = file("big.bin", Buffer.alloc(8e6, 3), cwd);
    // A pass takes 4 s.
    const env = { PINBENCH_EMULATED_LINK: "2e6" };
    const { child, finished } = startCli(load(path, ...once, "--output", "load.json"), { cwd, env });
    while (child.exitCode === null && !hasMapped(child.pid!, path)) await sleep(20);
    truncateSync(path, 4096);
    const { exitCode, stdout, stderr } = await finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: "" });
    expect(stderr).toMatch(/big\.bin was changed or cut while it was loaded\.\n$/);
    expect(readdirSync(cwd)).toEqual(["big.bin"]);
  });
});

describe("an interrupted pinbench load", () => {
  it("exits with 130 and removes the file that it made", async () => {
    const folder = temporaryFolder();
    const args = load(
      "--make",
      "4MiB",
      "--file-folder",
      folder,
      "--json",
      "--threads",
      "1",
      "--budget",
      "10m",
    );
    const { child, finished } = startCli(args, { env: { PINBENCH_EMULATED_LINK: "4e6" } });
    while (child.exitCode === null && !hasMapped(child.pid!, folder)) await sleep(20);
    child.kill("SIGINT");
    const { exitCode, stdout } = await finished;
    expect(exitCode).toBe(130);
    if (stdout !== "") expect(parse(stdout).status).toBe("aborted");
    expect(readdirSync(folder)).toEqual([]);
  });
});

it("pinbench load works as a process of its own", async () => {
  const { exitCode, stdout } = await runCli(load(file("a.bin", plain()), ...once));
  expect(exitCode).toBe(0);
  expect(stdout).toContain("From the page cache, GB/s");
});
