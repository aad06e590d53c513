import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import type { BlockWay } from "../../src/settings/choices.js";
import { callCli } from "../helpers/in-process.js";
import { KiB } from "../helpers/result-document.js";
import { emulatedFaults, temporaryFolder } from "../helpers/run-cli.js";

const search = [
  "run",
  ...["--backend", "emulated", "--llc", "64KiB", "--quiet"],
  ...["--blocks", "auto", "--block-ways", "batch,kernel", "--samples", "15"],
];

/** A link that is slow enough for its own rate to decide: what the machine adds to a copy is little beside it. */
const slowLink = { PINBENCH_EMULATED_LINK: "7e8" };

/**
 * A batch that is 64 times as slow below a size, beside a kernel that is 8 times as slow at all: on a machine that is busy
 * with other tests a sample may take twice as long.
 */
const cliff = (direction: "h2d" | "d2h", below: string) => [
  { list: direction, by: "batch", below, slowdown: 64 },
  { list: direction, by: "kernel", slowdown: 8 },
];

// Fifteen samples put up with four that something else disturbs, and a busy machine may disturb more.
describe("pinbench run --blocks auto", { retry: 2 }, () => {
  it("finds the cut-off of each direction and count, and prints a map, the cut-offs and what to paste in at most 60 lines of 80 columns", async () => {
    const cutoffKiB = { h2d: 24, d2h: 200 };
    const faults = Object.entries(cutoffKiB).flatMap(([direction, size]) =>
      cliff(direction as "h2d" | "d2h", `${size}KiB`),
    );
    const cwd = temporaryFolder();
    const args = [...search, "--block-count", "2,4", "--output", "run.json"];
    const env = { ...slowLink, ...emulatedFaults(...faults), COLUMNS: "80" };
    const { exitCode, stdout } = await callCli(args, { cwd, env });
    expect(exitCode).toBe(0);

    const document = parseResult(readFileSync(join(cwd, "run.json"), "utf8"));
    expect(document.blockCutoffs!.map(({ direction, blockCount }) => [direction, blockCount])).toEqual([
      ["h2d", 2],
      ["h2d", 4],
      ["d2h", 2],
      ["d2h", 4],
    ]);
    for (const { direction, cutoffs, sizes } of document.blockCutoffs!) {
      const atBytes = cutoffKiB[direction] * KiB;
      expect(cutoffs).toHaveLength(1);
      const [{ leastBytes, mostBytes, below, above }] = cutoffs as [(typeof cutoffs)[number]];
      expect(leastBytes).toBeLessThan(atBytes);
      expect(mostBytes).toBeGreaterThanOrEqual(atBytes);
      expect(mostBytes / leastBytes).toBeLessThanOrEqual(2);
      expect([below.way, above.way] satisfies BlockWay[]).toEqual(["kernel", "batch"]);
      // Five at first, and no more than halving takes beyond these.
      expect(sizes.length).toBeLessThanOrEqual(5 + 6);
    }
    // Every cell has been verified, and rounds go on from one step to the next.
    const rounds = document.cells.flatMap(({ samples }) => samples.flatMap(({ round }) => round));
    expect(Math.max(...rounds)).toBeGreaterThan(6);
    for (const { id, verification, outcome } of document.cells) {
      expect(["converged", "budget"], id).toContain(outcome);
      expect(verification!.mismatches).toEqual([]);
    }

    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(60);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(stdout).toContain("Host to device (H2D), fastest way by block size and number of blocks");
    expect(stdout).toContain("Device to host (D2H), fastest way by block size and number of blocks");
    expect(stdout).toMatch(/^ +cut-off +\d+ KiB to \d+ KiB/m);
    expect(stdout).toMatch(/THRESHOLD_BYTES = \d+ \* 1024\n.*MIN_N = 2\n/);
    expect(stdout).toContain("--hicache-io-backend kernel");
    expect(stdout).toMatch(/--transfer-copy-mode auto --direct-copy-min-block-bytes \d+/);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/a kernel is fastest up to .* and a batch from .* on/i);
  });

  it("claims none where both ways are as fast as the link", async () => {
    const args = [...search, "--direction", "h2d", "--block-count", "2", "--json"];
    const { stdout } = await callCli(args, { env: { PINBENCH_EMULATED_LINK: "2e8" } });
    const [column] = parseResult(stdout).blockCutoffs!;
    expect(column!.cutoffs).toEqual([]);
  });

  it("shows a dry run what it begins with", async () => {
    const { stdout } = await callCli([...search, "--dry-run"]);
    expect(stdout).toMatch(/Search +more block sizes between these/);
  });

  it.each([
    [["run", "--blocks", "auto", "--processes", "2"], "--processes takes several"],
    [["baseline", "folder", "--blocks", "auto"], "a baseline takes several"],
    [["fleet", "run", "--nodes", "n1", "--output", "folder", "--blocks", "auto"], "fleet run takes several"],
    [["run", "--blocks", "auto,4KiB"], '"auto" is not a size'],
  ])("is refused where no process searches alone: %j", async (args, message) => {
    const { exitCode, stderr } = await callCli([...args, "--backend", "emulated"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
  });
});
