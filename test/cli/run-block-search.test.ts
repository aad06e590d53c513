import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { BlockCutoffs } from "../../src/results/cutoffs/cutoff-schema.js";
import { parseResult } from "../../src/results/parse.js";
import { callCli } from "../helpers/in-process.js";
import { KiB } from "../helpers/result-document.js";
import { emulatedFaults, temporaryFolder } from "../helpers/run-cli.js";

const search = [
  "run",
  ...["--backend", "emulated", "--llc", "64KiB", "--quiet"],
  ...["--blocks", "auto", "--block-ways", "batch,kernel"],
];

/** A link that is slow enough for its own rate to decide: what the machine adds to a copy is little beside it. */
const slowLink = { PINBENCH_EMULATED_LINK: "7e8" };

const cutoffBytes = 200 * KiB;

/**
 * A batch that is 64 times as slow below a size, beside a kernel that is 8 times as slow at all: on a machine that is busy
 * with other tests a sample may take twice as long.
 */
const cliff = (direction: "h2d" | "d2h", below: string) =>
  emulatedFaults(
    { list: direction, by: "batch", below, slowdown: 64 },
    { list: direction, by: "kernel", slowdown: 8 },
  );

/** They put up with four samples that something else disturbs; a busy machine may disturb more. */
const enough = ["--samples", "15"];

describe("pinbench run --blocks auto", { retry: 2 }, () => {
  it("finds the cut-off, and prints a map, the cut-off and what to paste in at most 60 lines of 80 columns", async () => {
    const cwd = temporaryFolder();
    const args = [...search, ...enough, "--direction", "d2h", "--block-count", "2", "--output", "run.json"];
    const env = { ...slowLink, ...cliff("d2h", `${cutoffBytes / KiB}KiB`), COLUMNS: "80" };
    const { exitCode, stdout } = await callCli(args, { cwd, env });
    expect(exitCode).toBe(0);

    const document = parseResult(readFileSync(join(cwd, "run.json"), "utf8"));
    expect(document.blockCutoffs).toMatchObject([{ direction: "d2h", blockCount: 2 }]);
    const [{ cutoffs, sizes }] = document.blockCutoffs as [BlockCutoffs];
    expect(cutoffs).toMatchObject([{ below: { way: "kernel" }, above: { way: "batch" } }]);
    const [{ leastBytes, mostBytes }] = cutoffs as [BlockCutoffs["cutoffs"][number]];
    expect(leastBytes).toBeLessThan(cutoffBytes);
    expect(mostBytes).toBeGreaterThanOrEqual(cutoffBytes);
    expect(mostBytes / leastBytes).toBeLessThanOrEqual(2);
    // Five at first, and no more than halving takes beyond these.
    expect(sizes.length).toBeLessThanOrEqual(5 + 6);
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
    expect(stdout).toContain("Device to host (D2H), fastest way by block size and number of blocks");
    expect(stdout).toMatch(/^ +cut-off +\d+ KiB to \d+ KiB/m);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/a kernel is fastest up to .* and a batch from .* on/i);
  });

  it("searches both directions and each number of blocks", async () => {
    const { stdout } = await callCli([...search, "--samples", "6", "--block-count", "2,4", "--json"]);
    expect(
      parseResult(stdout).blockCutoffs!.map(({ direction, blockCount }) => [direction, blockCount]),
    ).toEqual([
      ["h2d", 2],
      ["h2d", 4],
      ["d2h", 2],
      ["d2h", 4],
    ]);
  });
});
