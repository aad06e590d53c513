import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { callCli } from "../helpers/in-process.js";
import { emulatedFaults, runCli, small, temporaryFolder } from "../helpers/run-cli.js";

const files = (...args: string[]) => small("--memory", "file,file-registered", "--direction", "h2d", ...args);

async function measured(args: readonly string[], env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await callCli([...args, "--json"], { env });
  return { exitCode, stderr, cells: parseResult(stdout, "stdout").cells };
}

describe("pinbench run --memory file", () => {
  it("measures and verifies copies out of a file, and leaves no file behind", async () => {
    const folder = temporaryFolder();
    const { exitCode, cells } = await measured(files("--file-folder", folder, "--workers", "1,2"));
    expect(exitCode).toBe(0);
    expect(cells.map(({ memory, workers }) => `${memory} ${workers}`).sort()).toEqual([
      "file 1",
      "file 2",
      "file-registered 1",
      "file-registered 2",
    ]);
    for (const { stats, verification, pages } of cells) {
      expect(stats[0]!.samples).toBe(6);
      expect(verification).toMatchObject({ checkedBytes: expect.any(Number), mismatches: [] });
      expect(pages).toMatchObject({ kind: "base", hugePageBytes: null, ofNodes: expect.any(Array) });
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it("measures with worker processes, and compares every copy", async () => {
    const processes = ["--worker-kind", "process", "--verify", "every"];
    const { exitCode, cells } = await measured(files("--file-folder", temporaryFolder(), ...processes));
    expect(exitCode).toBe(0);
    for (const { verification } of cells) expect(verification!.provenCopies).toBe(verification!.copies);
  });

  it("exits with 7 if copies out of a file arrive wrong", async () => {
    const folder = temporaryFolder();
    const { exitCode, cells } = await measured(
      files("--file-folder", folder),
      emulatedFaults("h2d:flip:every=2"),
    );
    expect(exitCode).toBe(7);
    expect(cells.map(({ outcome }) => outcome)).toEqual(["mismatch", "mismatch"]);
  });

  it("skips copies into a file", async () => {
    const folder = temporaryFolder();
    const directions = ["--direction", "h2d,d2h,bidir"];
    const { cells } = await measured(files("--file-folder", folder, ...directions));
    for (const { direction, skipReason } of cells) expect(skipReason === null).toBe(direction === "h2d");
    expect(await callCli(files("--direction", "d2h"))).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining("a mapped file is only copied to the device"),
    });
  });

  it("reports the driver's error if the driver refuses to register a file", async () => {
    const args = files("--file-folder", temporaryFolder());
    const { exitCode, cells } = await measured(args, emulatedFaults("cuMemHostRegister_v2:801"));
    expect(exitCode).toBe(4);
    const outcomes = Object.fromEntries(cells.map(({ memory, error }) => [memory, error?.code ?? null]));
    expect(outcomes).toEqual({ file: null, "file-registered": "CUDA_ERROR_NOT_SUPPORTED" });
  });

  it.each([
    ["is missing", "/nowhere", "No files can be made in /nowhere: there is no such folder."],
    ["is no folder", "/dev/null", "No files can be made in /dev/null: it is no folder."],
  ])("refuses a --file-folder that %s", async (_, folder, sentence) => {
    const { exitCode, stderr } = await callCli(files("--file-folder", folder));
    expect(exitCode).toBe(2);
    expect(stderr).toContain(sentence);
  });

  it("uses a folder in memory only if --file-folder names it", async () => {
    const env = { TMPDIR: "/dev/shm" };
    expect(await runCli(files(), { env })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("No files can be made in /dev/shm: it is in memory."),
    });
    expect((await runCli(files("--file-folder", "/dev/shm"), { env })).exitCode).toBe(0);
  });

  it("refuses files that are too large for the memory or the disk", async () => {
    const huge = ["--sizes", "64GiB", "--max-pinned", "1TiB", "--cache", "warm"];
    const { exitCode, stderr } = await callCli(
      files("--file-folder", temporaryFolder(), "--memory", "file", ...huge),
    );
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/memory|left/);
  });
});
