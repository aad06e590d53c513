import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PoolShape } from "../../src/pools/pinning-document.js";
import { poolCode } from "../../src/pools/pool-code.js";
import { poolWays } from "../../src/settings/choices.js";

const GiB = 1024 ** 3;

/** Every form that the programs have. */
const shapes: PoolShape[] = poolWays.flatMap((way) => [
  { way, pieces: 1, threads: way === "host-alloc" ? 1 : 16 },
  { way, pieces: 16, threads: 8 },
]);
const programs = shapes.map((shape) => ({ shape, ...poolCode(shape, 16 * GiB) }));

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

it("the code says what it obtains, and fits a terminal of 80 columns", () => {
  for (const { shape, c, python } of programs) {
    for (const code of [c, python]) {
      expect(code).toContain("16 GiB of pinned memory");
      expect(code).toContain(String(16 * GiB));
      expect(code.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect(code).toMatch(/^[\x20-\x7e\n]+\n$/);
      expect(code).not.toMatch(/ \n|undefined|null\b/);
    }
    if (shape.pieces > 1) expect(c).toContain(`PIECES = ${shape.pieces}, THREADS = ${shape.threads}`);
  }
});

describe("each way is in its program:", () => {
  const codeOf = (way: PoolShape["way"], pieces: number) =>
    programs.find(({ shape }) => shape.way === way && shape.pieces === pieces)!;

  it("what the driver allocates is one call in C, and pin_memory for torch", () => {
    const { c, python } = codeOf("host-alloc", 1);
    expect(c).toMatch(/cudaHostAlloc\(/);
    expect(c).not.toContain("pthread");
    expect(python).toContain("pin_memory=True");
  });

  it("huge pages are asked for, those of hugetlbfs taken", () => {
    for (const pieces of [1, 16]) {
      expect(codeOf("register-huge", pieces).c).toContain("MADV_HUGEPAGE");
      expect(codeOf("register-huge", pieces).python).toContain("MADV_HUGEPAGE");
      expect(codeOf("register-hugetlb", pieces).c).toContain("MAP_HUGETLB");
      expect(codeOf("register-hugetlb", pieces).python).toContain("MAP_HUGETLB");
      expect(codeOf("register", pieces).c).not.toMatch(/MADV_HUGEPAGE|MAP_HUGETLB/);
    }
  });
});

it.skipIf(include === undefined || !has("gcc"))("the C programs compile without a warning", () => {
  const flags = [
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-fsyntax-only",
    `-isystem${include}`,
  ];
  execFileSync("gcc", [...flags, ...written("c", ".c")], { stdio: "pipe" });
});

it.skipIf(include === undefined || !has("g++"))(
  "and as C++, in which most programs for CUDA are written",
  () => {
    const flags = ["-x", "c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", `-isystem${include}`];
    execFileSync("g++", [...flags, ...written("c", ".c")], { stdio: "pipe" });
  },
);

it.skipIf(!has("python3"))("the Python modules are Python", () => {
  const parse = "import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path)";
  execFileSync("python3", ["-c", parse, ...written("python", ".py")], { stdio: "pipe" });
});
