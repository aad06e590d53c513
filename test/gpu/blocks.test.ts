import { describe, expect, it } from "vitest";
import type { BlockCopy } from "../../src/native/contract.js";
import { parseResult } from "../../src/results/parse.js";
import { type BlockWay, blockWays, type HostMemory } from "../../src/settings/choices.js";
import { runCli } from "../helpers/run-cli.js";
import { backendName } from "./backend.js";
import { KiB, MiB, requestOf, useSession } from "./session.js";

const opened = useSession({ workers: 4, chunkBytes: 64 * MiB });

const directions = ["h2d", "d2h", "bidir"] as const;

/** A driver older than CUDA 12.8 has no batch copies. */
const hasBatchCopies = () => !opened.backend.facts.missingSymbols.includes("cuMemcpyBatchAsync");

async function measureBlocks(
  blocks: BlockCopy,
  count: number,
  fields: { direction: (typeof directions)[number]; memory: HostMemory } & Partial<
    Parameters<typeof requestOf>[0]
  >,
) {
  const request = requestOf({ sizeBytes: blocks.bytes * count, blocks, ...fields });
  return { request, result: await opened.session.measure(request) };
}

const memoriesOf = (way: BlockWay): HostMemory[] => (way === "kernel" ? ["pinned"] : ["pinned", "pageable"]);

describe("every block arrives", () => {
  for (const way of blockWays) {
    for (const memory of memoriesOf(way)) {
      for (const direction of directions) {
        const flows = direction === "bidir" ? 2 : 1;
        it.each([1, 2])(`${memory} ${direction} by ${way}, %i workers`, async (workers) => {
          if (way === "batch" && !hasBatchCopies()) return;
          for (const [bytes, count] of [
            [16, 100],
            [48, 1000],
            [4 * KiB, 1024],
            [64 * KiB, 64],
            [1 * MiB, 8],
            [3 * MiB + 16, 2],
          ] as const) {
            const blocks = { bytes, way };
            const { request, result } = await measureBlocks(blocks, count, {
              direction,
              memory,
              workers,
              buffers: 8,
              copiesPerSample: 2,
              samples: 4,
            });
            expect(result.verification.mismatches).toEqual([]);
            expect(result.verification.checkedBytes).toBe(flows * workers * 8 * request.sizeBytes);
            expect(result.columns).toHaveLength(flows);
            for (const { durationNs, hostNs } of result.columns) {
              expect(hostNs).toHaveLength(4);
              for (const [i, ns] of hostNs!.entries()) expect(ns).toBeLessThanOrEqual(durationNs[i]!);
            }
          }
        });
      }
    }
  }

  it.each(blockWays)("of every copy by %s, where each brings new bytes", async (way) => {
    if (way === "batch" && !hasBatchCopies()) return;
    for (const direction of directions) {
      const blocks = { bytes: 4 * KiB, way };
      const { result } = await measureBlocks(blocks, 512, {
        direction,
        memory: "pinned",
        buffers: 4,
        copiesPerSample: 1,
        samples: 9,
        verify: "every",
      });
      expect(result.verification.mismatches).toEqual([]);
      expect(result.verification.provenCopies).toBe(direction === "bidir" ? 18 : 9);
    }
  });
});

describe("the search for cut-offs", () => {
  it("ends within a minute, with every block right, and has intervals that lie within the sizes", async () => {
    const args = ["run", "--backend", backendName, "--blocks", "auto"];
    const { exitCode, stdout } = await runCli([...args, "--budget", "5s", "--json", "--quiet"]);
    expect(exitCode).toBe(0);
    const { blockCutoffs, cells, run } = parseResult(stdout);
    expect(run.wallNs!).toBeLessThan(60e9);
    expect(blockCutoffs).toHaveLength(2 * 3);
    for (const { outcome, id } of cells) expect(["converged", "budget", "skipped"], id).toContain(outcome);
    for (const { cutoffs } of blockCutoffs!) {
      for (const { leastBytes, mostBytes, bytes } of cutoffs) {
        expect(leastBytes).toBeGreaterThanOrEqual(4 * KiB);
        expect(mostBytes).toBeLessThanOrEqual(MiB);
        expect(bytes).toBeGreaterThanOrEqual(leastBytes);
        expect(bytes).toBeLessThanOrEqual(mostBytes);
      }
    }
  }, 120_000);
});
