import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { type Pinning, pinningSchema } from "../../src/pin/pinning-document.js";
import { cProgram, pythonProgram } from "../../src/pin/pool-programs.js";
import { poolWays } from "../../src/settings/choices.js";
import { runCli } from "../helpers/run-cli.js";
import { backendName, isEmulated } from "./backend.js";

const MiB = 1024 ** 2;
const missing = inject("missing");

async function pinned(...args: string[]): Promise<Pinning> {
  const flags = ["--backend", backendName, "--json", "--quiet"];
  const { exitCode, stdout, stderr } = await runCli(["pin", ...flags, ...args]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return pinningSchema.parse(JSON.parse(stdout));
}

describe("pools of a GPU", () => {
  it("are allocated by every method, and copied like pinned memory", { timeout: 120_000 }, async () => {
    const plan = ["--sizes", "256MiB", "--threads", "1,4", "--budget", "20s"];
    const pinning = await pinned(...plan);
    const measured = pinning.pools.filter(({ outcome }) => outcome === "measured");
    expect(new Set(measured.map(({ way }) => way)).size).toBeGreaterThanOrEqual(3);
    const best = Math.max(...measured.map((pool) => pool.h2dGigabytesPerSecond!.median));
    for (const pool of measured) {
      if (!isEmulated) expect(pool.h2dGigabytesPerSecond!.median).toBeGreaterThan(best / 2);
    }
    for (const { memory, sizeBytes } of measured) {
      const { before, after } = memory!;
      expect(after.residentBytes! - before.residentBytes!).toBeLessThan(sizeBytes / 2);
    }
  });

  it("are ready sooner by the recommended method than by cuMemHostAlloc", {
    timeout: 120_000,
  }, async ({ skip }) => {
    skip(missing.gpu !== null, missing.gpu ?? undefined);
    const { recommendation } = await pinned("--sizes", "1GiB", "--budget", "20s");
    expect(recommendation!.timesAsFast).toBeGreaterThan(1);
  });
});

it("calls are answered while memory is pinned in pieces", { timeout: 120_000 }, async () => {
  const { stalls, omitted } = await pinned(
    "--sizes",
    "256MiB",
    "--threads",
    "4",
    "--stalls",
    "--budget",
    "40s",
  );
  expect(omitted).toEqual([]);
  expect(stalls!.pieces).toHaveLength(8);
  for (const calls of [...stalls!.pieces.map((pieces) => pieces.calls), stalls!.quiet]) {
    expect(calls.map(({ call }) => call)).toContain("small-copy");
    for (const { answers } of calls) expect(answers).toBeGreaterThan(1);
  }
});

// hugetlbfs has no pages unless root has set some aside.
const ways = poolWays.filter((way) => way !== "register-hugetlb");

describe.each(ways)("the programs for %s", (way) => {
  const inFolder = (work: (folder: string) => void) => {
    const folder = mkdtempSync(join(tmpdir(), "pinbench-pool-"));
    try {
      work(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  const pool = {
    ...{ way, threads: way === "host-alloc" ? 1 : 4, sizeBytes: 64 * MiB },
    ...{ device: 0, numaNode: null, hugePageBytes: 2 * MiB },
  };

  it("allocate it with torch", { timeout: 60_000 }, ({ skip }) => {
    skip(missing.torch !== null, missing.torch ?? undefined);
    inFolder((folder) => {
      const path = join(folder, "pool.py");
      writeFileSync(path, pythonProgram(pool));
      expect(execFileSync(inject("gpuPython"), [path], { encoding: "utf8" })).toBe(
        `${64 * MiB} bytes are pinned\n`,
      );
    });
  });

  it("allocate it in C", { timeout: 60_000 }, ({ skip }) => {
    skip(missing.nvcc !== null, missing.nvcc ?? undefined);
    inFolder((folder) => {
      const [source, program] = [join(folder, "pool.c"), join(folder, "pool")];
      writeFileSync(source, cProgram(pool));
      execFileSync("nvcc", ["-o", program, source, "-lpthread"]);
      expect(execFileSync(program, { encoding: "utf8" })).toBe(`${64 * MiB} bytes are pinned\n`);
    });
  });
});
