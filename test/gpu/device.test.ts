import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { linkLimitGBps } from "../../src/results/device-facts.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { backendName, isEmulated, openTestBackend } from "./backend.js";
import { KiB, MiB, openTestSession, requestOf, useSession } from "./session.js";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const opened = useSession({ workers: 2, chunkBytes: 64 * MiB });

function run(...flags: string[]): { document: ResultDocument; status: number | null } {
  const child = spawnSync(process.execPath, [cli, "run", "--backend", backendName, "--json", ...flags], {
    encoding: "utf8",
    maxBuffer: 64 * MiB,
  });
  return { document: parseResult(child.stdout), status: child.status };
}

describe("the device", () => {
  it("has kernels", () => {
    expect(opened.session.opening.kernelsOff).toBeNull();
  });

  it("is described by driver and NVML", () => {
    const [device] = opened.backend.facts.devices;
    expect(device?.uuid).toMatch(/^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(device?.totalMemoryBytes).toBeGreaterThan(1024 * MiB);
    if (!isEmulated) expect(opened.backend.facts.driverVersion).toMatch(/^\d+\.\d+/);
  });

  it.skipIf(isEmulated)("reports its link under load, which no copy exceeds", async () => {
    const result = await opened.session.measure(
      requestOf({ direction: "h2d", memory: "pinned", sizeBytes: 32 * MiB, readLink: true }),
    );
    const limitGBps = linkLimitGBps(result.link?.generation ?? null, result.link?.width ?? null);
    if (limitGBps === null) return;
    const fastestNs = Math.min(...result.columns[0]!.durationNs);
    expect((4 * 32 * MiB) / fastestNs).toBeLessThan(limitGBps);
  });
});

describe("registered memory", () => {
  it("is backed by huge pages if the system gives them", async () => {
    const cost = await opened.session.measurePinning("registered", 256 * MiB);
    expect(cost.hugePageBytes).not.toBeNull();
    expect(cost.hugePageBytes! % (2 * MiB)).toBe(0);
  });
});

describe("memory that cannot be allocated", () => {
  it("is a typed error, and the session goes on", async () => {
    const tooMuch = { chunksOfWorker: [1], chunkBytes: 2 ** 45 };
    const session = await openTestSession(await openTestBackend());
    await expect(session.reserveDevice(tooMuch, 1)).rejects.toMatchObject({
      code: "CUDA_ERROR_OUT_OF_MEMORY",
      call: "cuMemAlloc_v2",
      sticky: false,
    });
    await session.reserveDevice({ chunksOfWorker: [1], chunkBytes: MiB }, 1);
    await session.close();
  });
});

describe("an abort", () => {
  it("ends a long measurement within moments, without samples", async () => {
    const session = await openTestSession(await openTestBackend());
    const arena = { chunksOfWorker: [1], chunkBytes: 16 * MiB };
    await session.reserveDevice(arena, 1);
    await session.reserveHost("pinned", arena);
    const measuring = session.measure(
      requestOf({
        direction: "h2d",
        memory: "pinned",
        sizeBytes: 8 * MiB,
        copiesPerSample: 4000,
        samples: 500,
      }),
    );
    setTimeout(() => session.abort(), 100);
    const result = await measuring;
    expect(result.aborted).toBe(true);
    expect(result.columns).toEqual([]);
    await session.close();
  });
});

describe("pinbench run", () => {
  it("measures and verifies all memory kinds and directions", () => {
    const hostMemories = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"];
    const { document, status } = run(
      ...["--sizes", "64KiB,4MiB", "--workers", "1,2", "--direction", "h2d,d2h,bidir,d2d"],
      ...["--memory", [...hostMemories, "device"].join()],
      ...["--samples", "6"],
    );
    expect(status).toBe(0);
    expect(document.run.status).toBe("complete");
    const outcomes = new Set(document.cells.map(({ outcome }) => outcome));
    expect(outcomes).not.toContain("failed");
    expect(outcomes).not.toContain("mismatch");
    // The host's control is no copy to or from the device.
    const measured = document.cells.filter(
      ({ outcome, memory }) => outcome !== "skipped" && memory !== "host",
    );
    const routes = ["h2d", "d2h", "bidir"].flatMap((direction) =>
      hostMemories.map((memory) => `${direction}/${memory}`),
    );
    expect(new Set(measured.map(({ direction, memory }) => `${direction}/${memory}`))).toEqual(
      new Set([...routes, "d2d/device"]),
    );
    expect(measured).toHaveLength(4 * (routes.length + 1));
    for (const cell of measured) {
      expect(cell.verification?.checkedBytes, cell.id).toBeGreaterThan(0);
      const directions = cell.direction === "bidir" ? 2 : 1;
      expect(
        cell.samples.map(({ durationNs }) => durationNs.length),
        cell.id,
      ).toEqual(Array(directions).fill(6));
    }
  });

  it("pinned is faster than pageable at 32 MiB, unless the device is emulated", () => {
    const { document } = run("--preset", "quick");
    const rate = (memory: string) =>
      document.cells.find((cell) => cell.memory === memory)!.stats[0]!.bandwidthGBps.median;
    if (document.backend === "cuda") expect(rate("pinned")).toBeGreaterThan(rate("pageable"));
    const copies = document.cells.filter(({ memory }) => memory !== "host");
    expect(copies.map(({ sizeBytes }) => sizeBytes)).toEqual(Array(4).fill(32 * 1024 * KiB));
  });
});
