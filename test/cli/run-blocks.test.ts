import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { callCli } from "../helpers/in-process.js";
import { emulatedFaults, temporaryFolder } from "../helpers/run-cli.js";

const flags = ["--backend", "emulated", "--quiet"];
const quick = [...flags, "--samples", "6"];
const pinned = ["--memory", "pinned", "--direction", "h2d"];

const waysOf = { pinned: ["loop", "batch", "kernel", "gather"], pageable: ["loop", "batch", "gather"] };

type Memory = keyof typeof waysOf;

/** Ids of cells that copy 8 blocks of 4 KiB by every method, and as many bytes in one piece. */
function cellsOf(
  direction: string,
  { memories = ["pinned", "pageable"], besides = [""] }: { memories?: Memory[]; besides?: string[] } = {},
): string {
  const ids = memories.flatMap((memory) => {
    const plain = `d0/${direction}/${memory}/32768/w1/throughput/cold`;
    const inBlocks = (beside: string) => waysOf[memory].map((way) => `${plain}${beside}/blocks-4096-${way}`);
    return [plain, ...besides.flatMap(inBlocks)];
  });
  return ids.join();
}

describe("pinbench run --blocks", () => {
  it("measures and verifies every method of copying blocks, with the CPU's time for a block", async () => {
    const path = join(temporaryFolder(), "blocks.json");
    const cells = `${cellsOf("h2d")},${cellsOf("d2h")}`;
    const args = ["run", ...quick, "--cells", cells, "--output", path, "--all"];
    const { exitCode, stdout, stderr } = await callCli(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("Host to device (H2D), in scattered blocks, GB/s");
    expect(stdout).toContain("Device to host (D2H), in scattered blocks, GB/s");
    const document = parseResult(readFileSync(path, "utf8"));
    const blocks = document.cells.filter(({ blockBytes }) => blockBytes !== undefined);
    // Two directions; four methods with pinned memory, three with pageable.
    expect(blocks).toHaveLength(2 * (4 + 3));
    for (const cell of blocks) {
      expect(["converged", "budget"]).toContain(cell.outcome);
      expect(cell).toMatchObject({
        sizeBytes: 8 * cell.blockBytes!,
        samples: [{ durationNs: { length: 6 } }],
      });
      expect(cell.verification!.checkedBytes, cell.id).toBeGreaterThanOrEqual(cell.sizeBytes);
      expect(cell.verification!.mismatches).toEqual([]);
      expect(cell.hostNsPerBlock!.median, cell.id).toBeGreaterThan(0);
      // No longer than the samples themselves.
      const [{ bytesPerSample, durationNs }] = cell.samples as [(typeof cell.samples)[number]];
      const perBlock = (Math.max(...durationNs) * cell.blockBytes!) / bytesPerSample;
      expect(cell.hostNsPerBlock!.median, cell.id).toBeLessThanOrEqual(perBlock);
    }
  });

  it("measures and verifies blocks during a load on the GPU, which --blocks auto does not plan", async () => {
    const cells = cellsOf("h2d", { memories: ["pinned"], besides: ["", "/beside-compute"] });
    const { exitCode, stdout } = await callCli(["run", ...quick, "--cells", cells, "--json"]);
    expect(exitCode).toBe(0);
    const beside = parseResult(stdout).cells.filter((cell) => cell.beside && cell.blockWay);
    expect(beside.map(({ blockWay }) => blockWay)).toEqual(["loop", "batch", "kernel", "gather"]);
    for (const { load, verification, sizeBytes } of beside) {
      expect(load!.keptShare.median).toBeGreaterThan(0);
      expect(verification).toMatchObject({ mismatches: [] });
      expect(verification!.checkedBytes).toBeGreaterThanOrEqual(sizeBytes);
    }
    const planned = await callCli([
      ...["run", ...flags, ...pinned, "--beside", "compute"],
      ...["--blocks", "auto", "--dry-run", "--json"],
    ]);
    const plan = JSON.parse(planned.stdout) as { cells: { id: string }[] };
    expect(plan.cells.length).toBeGreaterThan(10);
    expect(plan.cells.map(({ id }) => id).filter((id) => /beside.*blocks/.test(id))).toEqual([]);
  });

  it("copies blocks in both directions at once by every method, and has a rate for their sum", async () => {
    const cells = cellsOf("bidir", { besides: ["", "/beside-compute"] });
    const { exitCode, stdout } = await callCli(["run", ...quick, "--cells", cells, "--json"]);
    expect(exitCode).toBe(0);
    const blocks = parseResult(stdout).cells.filter((cell) => cell.blockWay !== undefined);
    // Alone and during the load, as in one direction.
    expect(blocks).toHaveLength(2 * (4 + 3));
    for (const { id, stats, verification, sizeBytes, hostNsPerBlock } of blocks) {
      expect(
        stats.map(({ direction }) => direction),
        id,
      ).toEqual(["h2d", "d2h", "sum"]);
      expect(verification!.checkedBytes, id).toBeGreaterThanOrEqual(2 * sizeBytes);
      expect(verification!.mismatches, id).toEqual([]);
      expect(hostNsPerBlock!.median, id).toBeGreaterThan(0);
    }
  });

  it("skips batches if the driver is too old for them, and gives the reason", async () => {
    const env = emulatedFaults("cuMemcpyBatchAsync:missing");
    const { exitCode, stdout } = await callCli(["run", ...quick, "--cells", cellsOf("h2d")], { env });
    expect(exitCode).toBe(0);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      "skipped: a batch copies blocks by one call of the driver: the driver lacks cuMemcpyBatchAsync",
    );
  });
});
