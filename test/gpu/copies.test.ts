import { describe, expect, it } from "vitest";
import type { Direction, HostMemory } from "../../src/settings/choices.js";
import { KiB, MiB, requestOf, useSession } from "./session.js";

const memories: HostMemory[] = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"];
const directions: Direction[] = ["h2d", "d2h", "bidir"];

const opened = useSession({ workers: 8, chunkBytes: 64 * MiB });

describe("every byte arrives", () => {
  for (const memory of memories) {
    for (const direction of directions) {
      it.each([1, 4])(`${memory} ${direction}, %i workers`, async (workers) => {
        for (const sizeBytes of [1, 1000, 4 * KiB, 64 * KiB + 8, 1 * MiB, 16 * MiB]) {
          const request = requestOf({ direction, memory, workers, sizeBytes });
          const result = await opened.session.measure(request);
          const ways = direction === "bidir" ? 2 : 1;
          expect(result.verification.mismatches).toEqual([]);
          expect(result.verification.checkedBytes).toBe(ways * workers * request.buffers * sizeBytes);
          expect(result.columns.map((column) => column.direction)).toEqual(
            direction === "bidir" ? ["h2d", "d2h"] : [direction],
          );
          for (const { durationNs } of result.columns) {
            expect(durationNs).toHaveLength(request.samples);
            expect(Math.min(...durationNs)).toBeGreaterThan(0);
          }
        }
      });
    }
  }

  it("within the device", async () => {
    const result = await opened.session.measure(
      requestOf({ direction: "d2d", memory: "device", workers: 2, sizeBytes: 16 * MiB }),
    );
    expect(result.verification.mismatches).toEqual([]);
    expect(result.verification.checkedBytes).toBe(2 * 2 * 16 * MiB);
  });

  it("through a long rotation of cold buffers, from any of them on", async () => {
    for (const firstBuffer of [0, 63, 900]) {
      const result = await opened.session.measure(
        requestOf({
          direction: "d2h",
          memory: "pinned",
          sizeBytes: 64 * KiB,
          buffers: 1000,
          firstBuffer,
          copiesPerSample: 50,
        }),
      );
      expect(result.verification.mismatches).toEqual([]);
      expect(result.verification.checkedBytes).toBe(6 * 50 * 64 * KiB);
    }
  });
});

describe("latency", () => {
  it("has an entry for each copy and worker", async () => {
    const result = await opened.session.measure(
      requestOf({
        direction: "h2d",
        memory: "pinned",
        mode: "latency",
        workers: 3,
        sizeBytes: 4 * KiB,
        copiesPerSample: 1,
        samples: 20,
      }),
    );
    expect(result.columns[0]?.durationNs).toHaveLength(60);
    expect(result.verification.mismatches).toEqual([]);
  });
});
