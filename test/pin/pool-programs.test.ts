import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cProgram, type ProgrammedPool, pythonProgram } from "../../src/pin/pool-programs.js";
import { poolWays } from "../../src/settings/choices.js";

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;
/** Not whole huge pages of 8 MiB, and more than one part of 32 MiB. */
const oddBytes = 71 * MiB;
const anywhere = { device: 0, numaNode: null, hugePageBytes: 2 * MiB };

const pools: ProgrammedPool[] = poolWays.map((way) => ({
  ...anywhere,
  ...{ way, threads: way === "host-alloc" ? 1 : 16, sizeBytes: 16 * GiB },
}));

/** The nearest header of the CUDA runtime; there is one where there is a toolkit. */
const include = [process.env.CUDA_HOME, process.env.CUDA_PATH, "/usr/local/cuda"]
  .map((folder) => join(folder || "/nowhere", "include"))
  .find((folder) => existsSync(join(folder, "cuda_runtime_api.h")));
const has = (program: string) => spawnSync(program, ["--version"]).status === 0;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-code-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
/** What a compiler or an interpreter says of programs: nothing, if it accepts them without a warning. */
const verdict = (program: string, args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return { status, said: stdout + stderr };
};
const accepted = { status: 0, said: "" };

it("each method has a C and a Python program, for the measured device and its NUMA node", async () => {
  const onNode = pools.map((pool) => ({ ...pool, device: 3, numaNode: 1, hugePageBytes: 512 * MiB }));
  const codes = [...pools, ...onNode].flatMap((pool) => [cProgram(pool), pythonProgram(pool)]);
  for (const code of codes) expect(code.split("\n").filter((line) => line.length > 90)).toEqual([]);
  await expect(codes.join("\n")).toMatchFileSnapshot("snapshots/programs.txt");
  expect(new Set(codes).size).toBe(codes.length);
});

it("a pool below a huge page is aligned to 2 MiB", () => {
  const pool = { ...pools[2]!, hugePageBytes: 512 * MiB };
  expect(cProgram(pool)).toContain(`ALIGNMENT = (size_t)${512 * MiB};`);
  expect(cProgram({ ...pool, sizeBytes: 256 * MiB })).toContain(`ALIGNMENT = (size_t)${2 * MiB};`);
});

it.skipIf(include === undefined || !has("g++")).each([
  ["C", ["-std=gnu11", "-Wpedantic"]],
  ["C++, in which most programs for CUDA are written,", ["-x", "c++"]],
])("as %s the programs compile without a warning", (_, language) => {
  const flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", `-isystem${include}`];
  const files = pools.map((pool) => written(`${pool.way}.c`, cProgram(pool)));
  const compiler = language[0] === "-x" ? "g++" : "gcc";
  expect(verdict(compiler, [...language, ...flags, ...files])).toEqual(accepted);
});

const ran = [
  { way: "host-alloc", threads: 1, hugePageBytes: 2 * MiB },
  { way: "register", threads: 3, hugePageBytes: 2 * MiB },
  { way: "register-huge", threads: 3, hugePageBytes: 2 * MiB },
  { way: "register-huge", threads: 2, hugePageBytes: 8 * MiB },
] as const;
const poolOf = (part: (typeof ran)[number]) => ({ ...anywhere, ...part, sizeBytes: oddBytes });
const alignment = ({ way, hugePageBytes }: (typeof ran)[number]) =>
  way === "register-huge" ? { ALIGNMENT: String(hugePageBytes) } : {};

describe.skipIf(include === undefined || !has("gcc"))("the C programs, on a runtime without a GPU,", () => {
  it.each(ran)("allocate the whole pool and free it: %o", (part) => {
    const source = written("ran.c", cProgram(poolOf(part)));
    const program = join(folder, "ran");
    const runtime = fileURLToPath(new URL("fake_cudart.c", import.meta.url));
    execFileSync("gcc", ["-O1", `-isystem${include}`, source, runtime, "-o", program, "-lpthread"]);
    const run = (env: NodeJS.ProcessEnv) => {
      const { status, stdout, stderr } = spawnSync(program, [], { env, encoding: "utf8" });
      const [, held, pinned] = /held (-?\d+), pinned in all (\d+)/.exec(stderr) ?? [];
      return { status, stdout, held: Number(held), pinned: Number(pinned) };
    };
    for (const kernel of [{}, { NO_POPULATE: "1" }]) {
      expect(run({ ...alignment(part), ...kernel })).toEqual({
        ...{ status: 0, stdout: `${oddBytes} bytes are pinned\n`, held: 0, pinned: oddBytes },
      });
    }
    expect(run({ FAIL_AT: "1" })).toMatchObject({ status: 1, stdout: "", held: 0 });
  });
});

describe.skipIf(!has("python3"))("the Python modules", () => {
  it("are valid Python", () => {
    const parse = "import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path)";
    const files = pools.map((pool) => written(`${pool.way}.py`, pythonProgram(pool)));
    expect(verdict("python3", ["-c", parse, ...files])).toEqual(accepted);
  });

  it.each(ran)("allocate the whole pool and free it, with a stand-in for torch: %o", (part) => {
    const path = written("ran.py", pythonProgram(poolOf(part)));
    const torch = fileURLToPath(new URL("fake_torch", import.meta.url));
    const run = (env: NodeJS.ProcessEnv) =>
      spawnSync("python3", [path], {
        env: { ...process.env, PYTHONPATH: torch, PYTHONDONTWRITEBYTECODE: "1", ...env },
        encoding: "utf8",
      });
    const { status, stdout, stderr } = run(alignment(part));
    expect({ status, stdout, stderr }).toEqual({
      ...{ status: 0, stdout: `${oddBytes} bytes are pinned\n`, stderr: "held 0\n" },
    });
    if (part.way === "host-alloc") return;
    const failed = run({ FAIL_AT: "1" });
    expect(failed.status).toBe(1);
    expect(failed.stderr).toMatch(/RuntimeError: cudaHostRegister: 2\nheld 0\n$/);
  });
});
