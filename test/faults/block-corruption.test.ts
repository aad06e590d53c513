import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { MeasureRequest } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import type { BlockWay } from "../../src/settings/choices.js";
import { measureRequest } from "../helpers/measure-request.js";
import { emulatedFaults } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

/*
 * One block of a copy goes wrong and reports success: it is not copied, its bytes arrive a second time where the block
 * before it went, or it changes places with that one. The faults count the driver's copies in a direction: blocks of the
 * warm-up's copy and then of the timed ones, and the lists that kernels read, which go to the device.
 */

const KiB = 1024;
const { addon, emulatedLibraryPath } = loadAddon();
const arena = { chunksOfWorker: [1], chunkBytes: 512 * KiB };
const blocksPerSlot = 4;

const libraries = mkdtempSync(join(tmpdir(), "pinbench-block-corruption-"));
afterAll(() => rmSync(libraries, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

let opened = 0;

/** Measures with a copy of the driver of its own, as a driver reads its faults only once. */
async function measure(fault: string, request: MeasureRequest) {
  const library = join(libraries, `${++opened}.so`);
  copyFileSync(emulatedLibraryPath, library);
  vi.stubEnv("PINBENCH_EMULATED_FAULTS", emulatedFaults(fault).PINBENCH_EMULATED_FAULTS);
  const driver = addon.openDriver({ driver: library, nvml: null });
  await driver.initialize();
  rmSync(library);
  const session = await driver.openSession({ device: 0, cpus: [], threads: 1, numaNode: null, seed: 5 });
  try {
    await session.reserveDevice(arena, 1);
    await session.reserveHost(request.memory === "pageable" ? "pageable" : "pinned", arena);
    const chunkBytes = blocksPerSlot * request.blocks!.bytes;
    await session.reserveStaging({ workers: 1, slots: 3, chunkBytes, hostSlots: 0, hostChunkBytes: 0 });
    return await session.measure(request);
  } finally {
    await session.close();
  }
}

type Route = { way: BlockWay } & Pick<MeasureRequest, "direction" | "memory">;

const routes = (["h2d", "d2h"] as const).flatMap((direction): Route[] => [
  { way: "loop", memory: "pinned", direction },
  { way: "batch", memory: "pinned", direction },
  { way: "batch", memory: "pageable", direction },
  { way: "kernel", memory: "pinned", direction },
  { way: "gather", memory: "pinned", direction },
  { way: "gather", memory: "pageable", direction },
]);

/** Blocks that arrive wrong. */
const wrongBlocks = { drop: 1, twice: 1, swap: 2 } as const;
type Kind = keyof typeof wrongBlocks;

/** The fault that hits block `block` of timed copy `copy`, of copies of `count` blocks; each is compared or none. */
function faultAt(
  { way, direction }: Route,
  kind: Kind,
  { copy, block, count, isCompared }: { copy: number; block: number; count: number; isCompared: boolean },
) {
  // Kernels gather and scatter within the device.
  const counted = way === "gather" ? "d2d" : direction;
  const lists = way === "kernel" && direction === "h2d" ? 1 : 0;
  const comparing = isCompared && counted === "h2d" ? 2 * copy : 0;
  return `${counted}:${kind}:nth=${(1 + copy) * (lists + count) + comparing + lists + block + 1}`;
}

const wrongs = routes.flatMap((route) =>
  (Object.keys(wrongBlocks) as Kind[]).map((kind) => ({ route, kind })),
);

describe("one wrong block of a copy in scattered blocks", () => {
  it("is found wherever it is, and no right block is reported", async () => {
    const counts = countTrials("blocks made wrong");
    const { uniform } = seeded(trialSeed);
    const below = (most: number) => Math.floor(uniform() * most);
    const all = trials(24, 6 * wrongs.length);
    for (let i = 0; i < all; i++) {
      const { route, kind } = wrongs[trials(below(wrongs.length), i) % wrongs.length]!;
      const bytes = 16 * (1 + below(40));
      const count = blocksPerSlot * (1 + below(4));
      const buffers = 2 + below(4);
      const samples = 1 + below(buffers);
      // The first block of a list would be mixed up with the last one of the list before.
      const list = route.way === "gather" ? blocksPerSlot : count;
      const block = below(count / list) * list + 1 + below(list - 1);
      const isCompared = below(2) === 1;
      const fault = faultAt(route, kind, { copy: below(samples), block, count, isCompared });
      const request = measureRequest({
        direction: route.direction,
        memory: route.memory,
        sizeBytes: bytes * count,
        buffers,
        firstBuffer: below(buffers),
        copiesPerSample: 1,
        samples,
        blocks: { bytes, way: route.way },
        verify: isCompared ? "every" : "last",
      });
      counts.tries();
      const { verification } = await measure(fault, request);
      const trial = JSON.stringify({ route, fault, request });
      expect(verification, trial).toMatchObject({ copies: samples, provenCopies: samples });
      // In ordinary memory that the driver writes to, no two blocks are mixed up: the second one is dropped.
      const isDropped = route.memory === "pageable" && fault.startsWith("d2h");
      expect(verification.mismatches, trial).toHaveLength(isDropped ? 1 : wrongBlocks[kind]);
      for (const { mismatchedBytes } of verification.mismatches) expect(mismatchedBytes, trial).toBe(bytes);
      counts.survives();
    }
  });
});
