import { fileScreen } from "../../../src/draw/screen.js";
import type { PinnedPool, Pinning, PoolShape } from "../../../src/pin/pinning-document.js";
import { pinningKind } from "../../../src/pin/pinning-report.js";
import { poolShapes, poolSizes } from "../../../src/pin/pool-shapes.js";
import { recommendPool, torchRounding } from "../../../src/pin/recommend-pool.js";
import { refusalReason } from "../../../src/pin/refusal-reason.js";
import { poolWays, watchedCalls } from "../../../src/settings/choices.js";
import { drawn, reportOf } from "../../helpers/drawn.js";
import { buildPinning, buildPool, buildUnmeasured } from "../../helpers/pinning.js";
import { seeded } from "../../helpers/seeded.js";
import { GiB, MiB } from "../../pin/fake-pools.js";
import { draws } from "../draws.js";

/** A pinning and its report, and some as they are drawn. */
const shown = (document: Pinning, isDrawn: boolean) => [
  ...[document, reportOf(pinningKind, document)],
  ...(isDrawn ? ["table", "markdown", "c", "python"] : []).map((format) =>
    drawn(pinningKind, document, format),
  ),
  isDrawn && drawn(pinningKind, document, "table", fileScreen({ columns: 80, showsAll: false })),
];

const shapes: PoolShape[] = [
  { way: "host-alloc", threads: 1 },
  ...(["register", "register-huge", "register-hugetlb"] as const).flatMap((way) =>
    [1, 2, 16].map((threads) => ({ way, threads })),
  ),
];

/** A document of pools at random, each part of it with its unknown and its odd values. */
export function randomPinning(seed: number): Pinning {
  const { uniform, pick } = seeded(seed);
  const calls = () =>
    watchedCalls
      .filter(() => uniform() < 0.6)
      .map((call) => ({
        ...{ call, answers: pick(2, 900), longestNs: pick(0, 2e5, 9_999_999, 10e6, 10_000_001, 7e7, 1.2e9) },
        stalledShare: pick(0, 0.004, 0.31, 0.999, 1),
      }));
  const pieces = () =>
    [MiB, 64 * MiB].flatMap((pieceBytes) =>
      (["host-alloc", "register"] as const).map((way) => ({
        ...{ way, pieceBytes, bytes: 64 * MiB, obtainNs: pick(1e7, 3e8), calls: calls() },
      })),
    );
  const [isWatched, isPlaced] = [uniform() < 0.6, uniform() < 0.5];
  const rate = () => {
    const median = pick(55, 55, 55, 55, 49.5, 49, 52.25, 38.5, 38, 12);
    return pick(true, true, true, true, true, true, false)
      ? { median, least: median * 0.9, most: median * pick(1, 1.01, 1.06) }
      : null;
  };
  const memory = () =>
    pick(() => ({
      residentBytes: pick(null, 2e8, 3e8, 17e9),
      pinnedBytes: pick(null, 5),
      lockedBytes: pick(null, 7),
    }))();
  const poolOf = (shape: PoolShape, sizeBytes: number): PinnedPool => {
    const kind = uniform();
    const reasons = ["no time was left", "1 GiB was refused", "it failed | with `ticks`"];
    if (kind < 0.12) return { ...buildUnmeasured(shape, "refused", pick(...reasons)), sizeBytes };
    if (kind < 0.3)
      return {
        ...buildUnmeasured(shape, "omitted", pick(...reasons)),
        sizeBytes,
        reason: pick(null, ...reasons),
      };
    const usual = pick(0.5, 0.5, 0.55, 0.56, 0.75, 0.76, 1, 7.87);
    const seconds = Array.from({ length: pick(1, 2, 3, 5) }, () => usual * pick(1, 1, 1.02, 1.3));
    const pool = buildPool(shape, seconds, {
      ...{ sizeBytes, h2dGigabytesPerSecond: rate(), d2hGigabytesPerSecond: rate() },
      hugePageShare: pick(null, 0, 0.004, 0.5, 0.996, 1),
      memory: pick(null, { before: memory(), held: memory(), after: memory() }),
      ...pick({}, { pagesOfNode: [] }, { pagesOfNode: [{ node: 1, pages: 16 }] }),
      ...(isPlaced
        ? {
            pagesOfNode: [
              { node: 1, pages: 900 },
              { node: pick(0, 3), pages: pick(1, 100) },
            ],
          }
        : {}),
    });
    const samples = pool.samples.map((one) => ({
      ...one,
      releaseNs: one.obtainNs * uniform(),
    }));
    return {
      ...pool,
      samples: samples.toReversed(),
      release: { ...pool.release!, median: pick(1.2e8, 3.4e9) },
    };
  };
  const sizes = pick([16 * MiB, GiB], [1536 * MiB], [GiB, 16 * GiB], [17 * MiB, 5 * GiB]);
  const share = pick(0.15, 0.4, 0.8);
  const pools = sizes.flatMap((size) =>
    shapes.filter(() => uniform() < share).map((shape) => poolOf(shape, size)),
  );
  const limits = shapes
    .filter(() => uniform() < 0.1)
    .map((shape) => ({
      ...{ ...shape, largestBytes: pick(0, 0, 1.5 * GiB + 1), refusedBytes: pick(2 * MiB, 3 * GiB + 1) },
      ...{
        error: { code: "CUDA_ERROR_OUT_OF_MEMORY", message: "none" },
        reason: pick("not known", "the limit"),
      },
    }));
  const place = { device: pick(0, 3), numaNode: pick(null, 1), hugePageBytes: pick(2 * MiB, 512 * MiB) };
  const base = buildPinning(pools);
  const status = pick("complete", "complete", "aborted", "failed");
  const link = {
    generation: pick(null, 5),
    width: pick(null, 16, 8),
    maxGeneration: 5,
    maxWidth: 16,
    smClockMHz: null,
    memoryClockMHz: null,
  };
  return {
    ...{ ...base, limits, status, createdAt: "2026-11-22T10:00:00.000Z" },
    error: status === "failed" ? { code: "CUDA_ERROR_UNKNOWN", message: "it is lost" } : null,
    ...pick({}, { backend: "emulated" as const, notice: "no GPU" }),
    labels: pick<Record<string, string>>({}, { rack: "7" }, { rack: "7", "a b": "c|d" }),
    device: {
      ...base.device,
      ordinal: place.device,
      pciBusId: pick(null, "0000:06:00.0"),
      link: pick(null, link),
    },
    machine: {
      ...{
        ...base.machine,
        cpusUsable: pick(1, 16),
        numaNode: place.numaNode,
        hugePageBytes: place.hugePageBytes,
        hugetlbFreeBytes: pick(null, 0, GiB),
      },
      ...{ cgroupMemoryLimitBytes: pick(null, 48 * GiB - 1), memlockLimitBytes: pick(null, 8 * MiB) },
      ...{
        virtualization: pick(null, "kvm", "unknown hypervisor"),
        transparentHugePages: pick(null, "never"),
      },
    },
    recommendation: recommendPool(pools, 60e9),
    torchRounding: torchRounding(pools),
    stalls: isWatched ? { quiet: pick([], calls(), calls()), pieces: pieces() } : null,
    ...{
      others: pick([], ["python3 (pid 7) is there"]),
      omitted: pick([], ["a pool of 32 GiB: too large", "copies: full"]),
    },
  };
}

/** The choice of shapes and sizes, and the reasons for refusals, at random and at their limits. */
function* rules(): Generator<[string, unknown]> {
  const { pick } = seeded(1);
  const many = (make: () => unknown) => Array.from({ length: 500 }, make);
  const shape = () => {
    const sizeBytes = pick(2 * MiB, 31 * MiB, 32 * MiB, 33 * MiB, 1000 * MiB, 16 * GiB);
    const resources = { cpusUsable: pick(1, 16), hugetlbFreeBytes: pick(null, sizeBytes - 1, sizeBytes) };
    return poolShapes(sizeBytes, resources, pick(null, [1], [2, 3]));
  };
  const sizes = () => {
    const memoryAvailableBytes = pick(16, 31, 32, 128, 2047, 2048, 32_768, 70_000) * MiB;
    const limits = { memoryAvailableBytes, maxPinnedBytes: pick(null, 16 * MiB, GiB, 16 * GiB) };
    try {
      const asked = pick(null, [2 * MiB - 1], [2 * MiB, GiB], [GiB + 1]);
      return poolSizes(asked, { ...limits, emulated: pick(false, true) });
    } catch (error) {
      return [String(error), (error as { hint?: string }).hint];
    }
  };
  const reason = () =>
    refusalReason({
      ...{
        way: pick(...poolWays),
        code: pick("OUT_OF_HOST_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED"),
      },
      ...{ largestBytes: pick(0, 6), refusedBytes: 10 },
      machine: {
        ...{
          virtualization: pick(null, null, "wsl2", "kvm"),
          memlockLimitBytes: pick(null, null, 5, 6, 9, 10),
        },
        ...{
          memoryTotalBytes: 64,
          cgroupMemoryLimitBytes: pick(null, 8, 64),
          memoryAvailableBytes: pick(19, 20, 21),
        },
      },
    });
  yield ["shapes of pools", many(shape)];
  yield ["sizes of pools", many(sizes)];
  yield ["reasons of refusals", many(reason)];
}

function* pinnings(): Generator<[string, unknown]> {
  yield* rules();
  for (let seed = 1; seed <= 60; ++seed) {
    yield [`pools at random ${seed}`, shown(randomPinning(seed), seed % 8 === 0)];
  }
}

draws(import.meta.url, pinnings);
