import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PoolShape } from "../../src/pin/pinning-document.js";
import { poolCode } from "../../src/pin/recommend-pool.js";
import { poolWays } from "../../src/settings/choices.js";

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;
/** Not whole huge pages, of which pieces would have equally many, and more than one part of 32 MiB. */
const oddBytes = 71 * MiB;
const anywhere = { device: 0, numaNode: null, hugePageBytes: 2 * MiB };

/** Every form that the programs have. */
const shapes: PoolShape[] = poolWays.flatMap((way) => [
  { way, pieces: 1, threads: way === "host-alloc" ? 1 : 16 },
  { way, pieces: 16, threads: 8 },
]);
const programs = shapes.map((shape) => ({ shape, ...poolCode(shape, 16 * GiB, anywhere) }));

/** The nearest header of the CUDA runtime; there is one where there is a toolkit. */
const include = [process.env.CUDA_HOME, process.env.CUDA_PATH, "/usr/local/cuda"]
  .map((folder) => join(folder || "/nowhere", "include"))
  .find((folder) => existsSync(join(folder, "cuda_runtime_api.h")));
const has = (program: string) => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-code-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** All programs of a language as files, in the order of `shapes`. */
const written = (language: "c" | "python", extension: string) =>
  programs.map((program, i) => {
    const path = join(folder, `pool-${i}${extension}`);
    writeFileSync(path, program[language]);
    return path;
  });

/** What a compiler or an interpreter says of programs: nothing, if it accepts them without a warning. */
const verdict = (program: string, args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return { status, said: stdout + stderr };
};
const accepted = { status: 0, said: "" };

it("each way has its programs, for the device that was measured and its node, which fit 80 columns", async () => {
  const ofDevice = shapes.map((shape) => poolCode(shape, GiB, { ...anywhere, device: 3, numaNode: 1 }));
  const codes = [programs[0]!, ...ofDevice].flatMap(({ c, python }) => [c, python]);
  for (const code of codes) expect(code.split("\n").filter((line) => line.length > 80)).toEqual([]);
  await expect(codes.join("\n")).toMatchFileSnapshot("snapshots/programs.txt");
  expect(new Set(codes).size).toBe(codes.length);
});

it("memory is aligned to the machine's huge pages, and to 2 MiB if a piece is smaller or of hugetlbfs", () => {
  const alignments = ([way, pieces]: [PoolShape["way"], number]) => {
    const place = { ...anywhere, hugePageBytes: 512 * MiB };
    const { c, python } = poolCode({ way, pieces, threads: 1 }, 16 * GiB, place);
    return [
      /HUGE_PAGE = \(size_t\)(\d+) << 20;/.exec(c)?.[1],
      /^HUGE_PAGE = (\d+) << 20$/m.exec(python)?.[1],
    ];
  };
  expect(alignments(["register-huge", 1])).toEqual(["512", "512"]);
  expect(alignments(["register-huge", 32])).toEqual(["512", "512"]);
  expect(alignments(["register-huge", 33])).toEqual(["2", "2"]);
  expect(alignments(["register-hugetlb", 1])).toEqual(["2", "2"]);
});

it.skipIf(include === undefined || !has("g++")).each([
  ["C", ["-std=gnu11", "-Wpedantic"]],
  ["C++, in which most programs for CUDA are written,", ["-x", "c++"]],
])("as %s the programs compile without a warning", (_, language) => {
  const flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", `-isystem${include}`];
  const compiler = language[0] === "-x" ? "g++" : "gcc";
  expect(verdict(compiler, [...language, ...flags, ...written("c", ".c")])).toEqual(accepted);
});

describe.skipIf(include === undefined || !has("gcc"))("the C programs, on a runtime without a GPU,", () => {
  const ran = [
    { way: "host-alloc", pieces: 5, threads: 3, hugePageMiB: 2 },
    { way: "register-huge", pieces: 1, threads: 3, hugePageMiB: 2 },
    { way: "register-huge", pieces: 5, threads: 3, hugePageMiB: 2 },
    { way: "register-huge", pieces: 1, threads: 3, hugePageMiB: 8 },
    { way: "register-huge", pieces: 2, threads: 2, hugePageMiB: 8 },
  ] as const;

  it.each(ran)("obtain all of it, and give it back: %o", ({ hugePageMiB, ...shape }) => {
    const name = join(folder, `${shape.way}-${shape.pieces}-${hugePageMiB}`);
    const hugePageBytes = hugePageMiB * MiB;
    writeFileSync(`${name}.c`, poolCode(shape, oddBytes, { ...anywhere, hugePageBytes }).c);
    const runtime = fileURLToPath(new URL("fake_cudart.c", import.meta.url));
    execFileSync("gcc", ["-O1", `-isystem${include}`, `${name}.c`, runtime, "-o", name, "-lpthread"]);
    const run = (env: NodeJS.ProcessEnv) => {
      const { status, stdout, stderr } = spawnSync(name, [], { env, encoding: "utf8" });
      const [, held, pinned] = /held (-?\d+), pinned in all (\d+)/.exec(stderr) ?? [];
      return { status, stdout, held: Number(held), pinned: Number(pinned) };
    };
    for (const kernel of [{}, { NO_POPULATE: "1" }]) {
      expect(run({ ALIGNMENT: String(hugePageBytes), ...kernel })).toEqual({
        ...{ status: 0, stdout: `${oddBytes} bytes are pinned\n`, held: 0, pinned: oddBytes },
      });
    }
    for (const nth of new Set([1, shape.pieces])) {
      expect(run({ FAIL_AT: String(nth) })).toMatchObject({ status: 1, stdout: "", held: 0 });
    }
  });
});

describe.skipIf(!has("python3"))("the Python modules", () => {
  it("are Python", () => {
    const parse = "import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path)";
    expect(verdict("python3", ["-c", parse, ...written("python", ".py")])).toEqual(accepted);
  });

  it.each([
    { way: "host-alloc", pieces: 1, threads: 1, hugePageMiB: 2 },
    { way: "host-alloc", pieces: 3, threads: 2, hugePageMiB: 2 },
    { way: "register-huge", pieces: 1, threads: 3, hugePageMiB: 2 },
    { way: "register-huge", pieces: 2, threads: 2, hugePageMiB: 8 },
    { way: "register", pieces: 5, threads: 3, hugePageMiB: 2 },
  ] as const)(
    "obtain all of it, and give it back, with a torch without a GPU: %o",
    ({ hugePageMiB, ...shape }) => {
      const path = join(folder, `${shape.way}-${shape.pieces}-${hugePageMiB}.py`);
      const hugePageBytes = hugePageMiB * MiB;
      writeFileSync(path, poolCode(shape, oddBytes, { ...anywhere, hugePageBytes }).python);
      const torch = fileURLToPath(new URL("fake_torch", import.meta.url));
      const run = (env: NodeJS.ProcessEnv) =>
        spawnSync("python3", [path], {
          env: { ...process.env, PYTHONPATH: torch, PYTHONDONTWRITEBYTECODE: "1", ...env },
          encoding: "utf8",
        });
      const { status, stdout, stderr } = run(
        shape.way === "register-huge" ? { ALIGNMENT: String(hugePageBytes) } : {},
      );
      expect({ status, stdout, stderr }).toEqual({
        status: 0,
        stdout: `${oddBytes} bytes are pinned\n`,
        stderr: "held 0\n",
      });
      if (shape.way === "host-alloc") return;
      const failed = run({ FAIL_AT: String(shape.pieces) });
      expect(failed.status).toBe(1);
      expect(failed.stderr).toMatch(/RuntimeError: cudaHostRegister: 2\nheld 0\n$/);
    },
  );
});
