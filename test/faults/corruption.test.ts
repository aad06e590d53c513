import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { WorkerPool } from "../../src/measure/worker-pool.js";
import type { ArenaGeometry, ArenaKind, MeasureRequest, NativeSession } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import { arenaKind } from "../../src/plan/geometry.js";
import { measureRequest } from "../helpers/measure-request.js";
import { emulatedFaults, pinbench } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

/*
 * One copy goes wrong and reports success. The emulated driver counts copies by direction: first those of the warm-up,
 * then the timed ones, with those between them that comparing itself makes. So each trial knows which copy it hits, and
 * what the result must say.
 */

const KiB = 1024;
const { addon, emulatedLibraryPath } = loadAddon();
const arena: ArenaGeometry = { chunksOfWorker: [1, 1], chunkBytes: 256 * KiB };
const ring = { workers: 2, slots: 3, chunkBytes: 16 * KiB, hostSlots: 0, hostChunkBytes: 0 };

const libraries = mkdtempSync(join(tmpdir(), "pinbench-corruption-"));
afterAll(() => rmSync(libraries, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

function stubFaults(fault: string): void {
  vi.stubEnv("PINBENCH_EMULATED_FAULTS", emulatedFaults(fault).PINBENCH_EMULATED_FAULTS);
}

let opened = 0;

/** Sessions on two devices of a driver of its own, as a driver reads its faults only once. */
async function openSessions(fault: string): Promise<[NativeSession, NativeSession]> {
  const library = join(libraries, `${++opened}.so`);
  copyFileSync(emulatedLibraryPath, library);
  vi.stubEnv("PINBENCH_EMULATED_DEVICES", "2");
  stubFaults(fault);
  const driver = addon.openDriver({ driver: library, nvml: null });
  await driver.initialize();
  rmSync(library);
  const open = (device: number) =>
    driver.openSession({ device, cpus: [], threads: 1, numaNode: null, seed: 5 });
  return [await open(0), await open(1)];
}

type Route = Pick<MeasureRequest, "direction" | "memory"> & {
  path?: "write" | "read" | "through-host";
  chunks?: number;
};

const hostMemories = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"] as const;
const routes: readonly Route[] = [
  ...hostMemories.flatMap((memory): Route[] => [
    { direction: "h2d", memory },
    { direction: "d2h", memory },
  ]),
  { direction: "h2d", memory: "pinned", chunks: 3 },
  { direction: "h2d", memory: "pageable", chunks: 3 },
  { direction: "d2d", memory: "device" },
  { direction: "p2p", memory: "device", path: "write" },
  { direction: "p2p", memory: "device", path: "read" },
  { direction: "p2p", memory: "device", path: "through-host" },
];

const faults = ["flip:at=0", "flip", "flip:at=-1", "drop", "shift", "stale"] as const;

const wrongs = routes.flatMap((route) =>
  faults.flatMap((fault) => (["cold", "warm"] as const).map((cache) => ({ route, fault, cache }))),
);

/** Driver's copies that make one copy of a route: a staged one fills two slots. */
const piecesOf = ({ memory, chunks }: Route) => chunks ?? (memory === "staged" ? 2 : 1);

/** Driver's copies in the route's direction by which `buffers` buffers are compared. */
function comparingCopies({ direction, memory }: Route, buffers: number): number {
  if (direction === "h2d") return 1;
  return direction === "d2h" && memory === "write-combined" ? buffers : 0;
}

/** Measures with a driver that has the fault. */
async function measure(route: Route, fault: string, part: Partial<MeasureRequest>) {
  const sessions = await openSessions(fault);
  try {
    const [first, second] = sessions;
    const { direction, memory, chunks, path } = route;
    for (const session of path === undefined ? [first] : sessions) {
      await session.reserveDevice(arena, memory === "device" ? 2 : 1);
      if (memory !== "device") await session.reserveHost(arenaKind(memory), arena);
    }
    if (memory === "staged") await first.reserveStaging(ring);
    const pipeline = chunks === undefined ? {} : { pipeline: { chunks, computeNs: 0 } };
    const peer = path === undefined ? {} : { peer: { session: second, path } };
    return await first.measure(measureRequest({ direction, memory, ...pipeline, ...peer, ...part }));
  } finally {
    await Promise.all(sessions.map((session) => session.close()));
  }
}

/** What a seed gives: counts, and requests of buffers that do not touch each other and fill two slots of the ring. */
function drawing(seed: number) {
  const { uniform } = seeded(seed);
  const below = (count: number) => Math.floor(uniform() * count);
  return {
    below,
    request: (cache: "cold" | "warm") => {
      const sizeBytes = 17_001 + 2 * below(7000);
      const buffers = cache === "warm" ? 1 : 4;
      const rotation = { buffers, firstBuffer: below(buffers), samples: 2 + below(3) };
      return { cache, sizeBytes, warmupBytes: sizeBytes, warmupCopies: 1, ...rotation };
    },
    /** Each of them `times` times, or `few` of them in the short form. */
    some: <Trial>(all: readonly Trial[], few: number, times: number): Trial[] =>
      Array.from(
        { length: trials(few, times * all.length) },
        (_, i) => all[trials(below(all.length), i) % all.length]!,
      ),
  };
}

describe("one copy that arrives wrong", () => {
  it("is found wherever it is if every copy is compared", async () => {
    const counts = countTrials("copies made wrong, every copy compared");
    const draw = drawing(trialSeed);
    for (const { route, fault, cache } of draw.some(wrongs, 40, 2)) {
      const request = draw.request(cache);
      const workers = 1 + draw.below(2);
      const copiesPerSample = 1 + draw.below(request.buffers);
      const ofSample = workers * copiesPerSample;
      const pieces = ofSample * piecesOf(route);
      const step = pieces + comparingCopies(route, ofSample);
      const nth = 1 + workers * piecesOf(route) + draw.below(request.samples) * step + draw.below(pieces);
      counts.tries();
      const every = { ...request, workers, copiesPerSample, verify: "every" } as const;
      const { verification } = await measure(route, `${route.direction}:${fault}:nth=${nth}`, every);
      const trial = JSON.stringify({ route, fault, nth, every });
      const copies = ofSample * request.samples;
      expect(verification, trial).toMatchObject({ copies, provenCopies: copies });
      expect(verification.mismatches, trial).toHaveLength(1);
      counts.survives();
    }
  });

  it("is found among copies in both directions at once", async () => {
    const counts = countTrials("copies made wrong, every copy compared");
    const draw = drawing(trialSeed + 1);
    const all = hostMemories.flatMap((memory) => faults.map((fault) => ({ memory, fault })));
    for (const { memory, fault } of draw.some(all, 8, 2)) {
      const route: Route = { direction: "bidir", memory };
      const copy = draw.below(2) === 0 ? "h2d" : "d2h";
      // Copies that keep the other direction busy, and count for nothing, follow the first timed copy.
      const nth = 1 + piecesOf(route) + draw.below(piecesOf(route));
      counts.tries();
      const request = draw.request(draw.below(2) === 0 ? "cold" : "warm");
      const every = { ...request, copiesPerSample: 1, verify: "every" } as const;
      const { verification } = await measure(route, `${copy}:${fault}:nth=${nth}`, every);
      const trial = JSON.stringify({ memory, fault, copy, nth, every });
      expect(verification.provenCopies, trial).toBe(2 * request.samples);
      expect(verification.mismatches, trial).toMatchObject([{ direction: copy }]);
      counts.survives();
    }
  });

  it("is found in worker processes if every copy is compared", async () => {
    const counts = countTrials("copies made wrong, every copy compared");
    const draw = drawing(trialSeed + 2);
    const all = (["pinned", "pageable"] as const).flatMap((memory) =>
      (["h2d", "d2h"] as const).flatMap((direction) =>
        faults.map((fault) => ({ route: { direction, memory }, fault })),
      ),
    );
    for (const { route, fault } of draw.some(all, 2, 1)) {
      const request = draw.request(draw.below(2) === 0 ? "cold" : "warm");
      const copiesPerSample = 1 + draw.below(request.buffers);
      const step = copiesPerSample + comparingCopies(route, copiesPerSample);
      const nth = 2 + draw.below(request.samples) * step + draw.below(copiesPerSample);
      stubFaults(`${route.direction}:${fault}:nth=${nth}`);
      counts.tries();
      const every = measureRequest({ ...route, ...request, workers: 2, copiesPerSample, verify: "every" });
      const { verification } = await measureInProcesses(every, route.memory);
      const trial = JSON.stringify({ fault, nth, every });
      // Each process has a driver of its own, and the same copy goes wrong in both.
      const workers = verification.mismatches.map(({ worker }) => worker);
      expect(workers, trial).toEqual([0, 1]);
      expect(verification.provenCopies, trial).toBe(2 * copiesPerSample * request.samples);
      counts.survives();
    }
  });

  it("is found by default if it is among the copies that the result counts as verified", async () => {
    const counts = countTrials("copies made wrong, last copies compared");
    const draw = drawing(trialSeed + 3);
    for (const { route, fault, cache } of draw.some(wrongs, 40, 2)) {
      const request = { ...draw.request(cache), copiesPerSample: 1 + draw.below(2), verify: "last" } as const;
      const copies = request.copiesPerSample * request.samples;
      const hit = draw.below(copies);
      const nth = 1 + (1 + hit) * piecesOf(route) + draw.below(piecesOf(route));
      counts.tries();
      const { verification } = await measure(route, `${route.direction}:${fault}:nth=${nth}`, request);
      const trial = JSON.stringify({ route, fault, nth, request });
      const { buffers } = request;
      const provenCopies = copies <= buffers ? copies : Math.max(0, 2 * buffers - copies);
      expect(verification, trial).toMatchObject({ copies, provenCopies });
      const isLast = hit + buffers >= copies;
      const found = verification.mismatches.length;
      if (!isLast) expect(found, trial).toBe(0);
      else if (hit < buffers) expect(found, trial).toBe(1);
      // A stale or dropped copy may leave the right bytes of an earlier one.
      else if (/^(flip|shift)/.test(fault)) expect(found, trial).toBe(1);
      counts.survives();
    }
  });
});

/** By two processes, which start in this process' environment. */
async function measureInProcesses(request: MeasureRequest, kind: ArenaKind) {
  const own = { chunksOfWorker: [1], chunkBytes: arena.chunkBytes };
  const arenas = {
    host: { [kind]: own },
    device: own,
    deviceCopies: 1,
    staging: null,
    gatherBytes: 0,
    blocks: { listed: 0, all: 0 },
  } as const;
  const pool = new WorkerPool({
    entry: pinbench,
    backend: "emulated",
    session: { device: 0, cpus: [], threads: 1, numaNode: null },
    arenas: [arenas, arenas],
    rendezvous: addon.createRendezvous(),
    openedAtNs: 0,
    freeBytes: () => 0,
  });
  try {
    await pool.open();
    return await pool.measure(request);
  } finally {
    await pool.close();
  }
}
