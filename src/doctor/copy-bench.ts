import { setTimeout as sleep } from "node:timers/promises";
import { Bench, type BenchOptions, settledTogether } from "../measure/bench.js";
import type {
  ArenaReport,
  MeasureRequest,
  MeasureResult,
  NativeError,
  NativeRendezvous,
  PinningKind,
} from "../native/contract.js";
import type { DeviceHealth } from "../native/device-contract.js";
import type { PlannedArenas, PlannedCell } from "../plan/geometry.js";
import { copiesPerSample, warmup } from "../plan/sampling.js";
import type { Verifying } from "../settings/choices.js";
import type { LinkRecord } from "../settings/schema-parts.js";
import { median } from "../stats/order-statistics.js";
import {
  type CopyCounts,
  eachWay,
  type Rates,
  type LinkDirection as Way,
  linkDirections as ways,
} from "./examination.js";

export const noRates: Rates = { h2d: null, d2h: null };

/** Number of copies so far, and of those with wrong data. */
interface BenchCounts {
  wrongCopies: number;
  copied: CopyCounts;
}

export interface CopyBenchOptions extends BenchOptions {
  arenas: PlannedArenas;
  cell: Pick<PlannedCell, "sizeBytes" | "cache" | "buffersPerWorker">;
  /** Counters to add to. */
  counts: BenchCounts;
  /** "every" compares each copy whose rate counts, "last" the last copy to each buffer. */
  verify: Verifying;
}

/**
 * Number of visits of each direction in turns. A visit takes 1 or 3 samples of one copy each, so that single slow
 * copies are seen.
 */
export const visits = 3;
/** Pinned copies get more visits, to see one slow copy in ten several times. */
export const visitsOfPinned = 3 * visits;
const samplesOfVisit = (copyNs: number) => (copyNs > 20e6 ? 1 : 3);

/**
 * Extra warm-up copies per visit if every copy is compared, which warm-up copies are not. Varied, so that a fault in
 * every third copy cannot always fall on a warm-up copy: faults in every second to eighth copy also fall on compared
 * ones.
 */
const moreWarmUp = [0, 0, 2, 2, 0, 1, 0, 0, 0];

/** How long copies run while NVML is read. */
const loadNs = 300e6;
const betweenReadingsMs = 20;

/** An idle CPU reaches its deepest sleep state within this time. */
const restMs = 10;
const backToBackCopies = 40;
const restedCopies = 12;

/** An open device with one copying thread. Rejects with the driver's error. */
export class CopyBench {
  readonly #bench: Bench;
  readonly #options: CopyBenchOptions;
  readonly #reserved = new Set<PinningKind>();
  readonly #copyNs = new Map<string, number>();
  readonly #hostShares: Record<Way, number[]> = { h2d: [], d2h: [] };
  #firstBuffer = 0;
  readonly #visits: Record<Way, number> = { h2d: 0, d2h: 0 };
  /** The link, read during copies; null before them and without NVML. */
  link: LinkRecord | null = null;
  /** NUMA nodes of the memory reserved last; empty unless requested, or if the system does not report it. */
  pagesOfNode: ArenaReport["pagesOfNode"] = [];

  private constructor(bench: Bench, options: CopyBenchOptions) {
    this.#bench = bench;
    this.#options = options;
  }

  static async open(options: CopyBenchOptions): Promise<CopyBench> {
    return new CopyBench(await Bench.open(options), options);
  }

  close(): Promise<void> {
    return this.#bench.close();
  }

  /** Allocates memory of a kind, unless it has it already. */
  async reserve(memory: PinningKind): Promise<void> {
    if (this.#reserved.has(memory)) return;
    const { pagesOfNode } = await this.#bench.reserve(this.#options.arenas, memory);
    this.pagesOfNode = pagesOfNode;
    this.#reserved.add(memory);
  }

  /** Median rates of both directions in GB/s, measured in turns; null without a visit that copied correctly. */
  async rates(memory: PinningKind): Promise<Rates> {
    return ratesOf(await this.samples(memory, visits));
  }

  /** Rates of samples in GB/s, over this many visits of each direction in turns. */
  async samples(memory: PinningKind, count: number): Promise<Record<Way, number[]>> {
    await this.reserve(memory);
    const samples: Record<Way, number[]> = { h2d: [], d2h: [] };
    for (let visit = 0; visit < count; ++visit) {
      for (const way of ways) samples[way].push(...(await this.#visit(memory, way)));
    }
    return samples;
  }

  /**
   * Calls `readHealth` repeatedly during pinned copies to the device. Returns its result from the middle, with all
   * reasons for lower clocks and the link as copies see it; null if it reports nothing.
   */
  async underLoad(readHealth: () => Promise<DeviceHealth | null>): Promise<DeviceHealth | null> {
    await this.reserve("pinned");
    const request = await this.#request("pinned", "h2d");
    const sampleNs = request.copiesPerSample * this.#copyNs.get("pinned h2d")!;
    let isOver = false;
    const samples = Math.max(1, Math.ceil(loadNs / sampleNs));
    // Comparing each copy would leave the link idle at times.
    const load = this.#measure({ ...request, samples, verify: "last", readLink: true }, false).finally(() => {
      isOver = true;
    });
    const readings: DeviceHealth[] = [];
    const reading = (async () => {
      await sleep(betweenReadingsMs);
      while (!isOver) {
        const health = await readHealth();
        if (health === null) return;
        readings.push(health);
        await sleep(betweenReadingsMs);
      }
    })();
    const [result] = await Promise.all([load, reading]);
    this.link = result.link ?? this.link;
    const middle = readings[Math.floor(readings.length / 2)];
    if (middle === undefined) return null;
    const reasons = new Set(readings.flatMap(({ clockReasons }) => clockReasons ?? []));
    return {
      ...middle,
      link: this.link ?? middle.link,
      clockReasons: middle.clockReasons === null ? null : [...reasons],
    };
  }

  /** Median time of a copy of 4 KiB to the device in microseconds: back to back, and after a rest. */
  async latency(): Promise<{ backToBackUs: number; afterRestUs: number }> {
    const medianUs = async (copies: number, rest: number) => {
      const times: number[] = [];
      for (let i = 0; i < copies; ++i) times.push((await this.#bench.session.measureFirstCopy(rest)) / 1e3);
      return median(times);
    };
    return {
      backToBackUs: await medianUs(backToBackCopies, 0),
      afterRestUs: await medianUs(restedCopies, restMs),
    };
  }

  /**
   * Median rates of pinned copies in one direction by all devices at once, in the order of `benches`. All must have
   * pinned memory.
   */
  static async together(
    benches: readonly CopyBench[],
    way: Way,
    rendezvous: NativeRendezvous,
  ): Promise<(number | null)[]> {
    const requests = await Promise.all(benches.map((bench) => bench.#request("pinned", way)));
    rendezvous.reset(benches.map(() => 1));
    const samples = visits * Math.max(...requests.map((request) => request.samples));
    const settled = await settledTogether(
      rendezvous,
      benches.map((bench, flow) =>
        bench.#measure({ ...requests[flow]!, samples, company: { rendezvous, flow } }),
      ),
    );
    const failed = settled.filter((one) => one.status === "rejected");
    // The other devices end as aborted; the failed one has the reason.
    const cause = failed.find(({ reason }) => (reason as NativeError).code !== "ABORTED") ?? failed[0];
    if (cause !== undefined) throw cause.reason;
    return settled.map((one, i) =>
      medianIn(one.status === "fulfilled" ? ratesIn(one.value, requests[i]!) : []),
    );
  }

  /** Median share of a pinned copy's time that its call takes; null without copies. */
  get hostShare(): Rates {
    return eachWay((way) => medianIn(this.#hostShares[way]));
  }

  /** Median rates of pinned copies in both directions at once. */
  async bothWays(): Promise<Rates> {
    await this.reserve("pinned");
    const request = { ...(await this.#request("pinned", "h2d")), direction: "bidir" } as const;
    const samples: Record<Way, number[]> = { h2d: [], d2h: [] };
    for (let visit = 0; visit < visits; ++visit) {
      const result = await this.#measure(request);
      for (const column of result.columns) {
        samples[column.direction as Way].push(...ratesIn({ ...result, columns: [column] }, request));
      }
    }
    return ratesOf(samples);
  }

  async #visit(memory: PinningKind, way: Way): Promise<number[]> {
    const request = await this.#request(memory, way);
    const more = request.verify === "every" ? moreWarmUp[this.#visits[way]++ % moreWarmUp.length]! : 0;
    const result = await this.#measure({ ...request, warmupCopies: request.warmupCopies + more });
    if (memory === "pinned") {
      for (const { hostNs = [], durationNs } of result.columns) {
        this.#hostShares[way].push(...[...hostNs].map((ns, i) => ns / durationNs[i]!));
      }
    }
    return ratesIn(result, request);
  }

  /** Measures the duration of a copy at the first request for a kind and direction. */
  async #request(memory: PinningKind, way: Way): Promise<MeasureRequest> {
    const { sizeBytes, cache, buffersPerWorker: buffers } = this.#options.cell;
    const key = `${memory} ${way}`;
    const plain = {
      direction: way,
      memory,
      sizeBytes,
      workers: 1,
      mode: "throughput",
      cache,
      buffers,
      verify: this.#options.verify,
      readLink: false,
    } as const;
    if (!this.#copyNs.has(key)) {
      const first = { ...plain, firstBuffer: 0, warmupCopies: 1, warmupBytes: sizeBytes };
      const { columns } = await this.#measure({ ...first, copiesPerSample: 1, samples: 2, readLink: true });
      this.#copyNs.set(key, Math.min(...columns.flatMap(({ durationNs }) => [...durationNs])));
    }
    const copyNs = this.#copyNs.get(key)!;
    const most = plain.verify === "every" ? buffers : Number.POSITIVE_INFINITY;
    const copies = Math.min(most, copiesPerSample({ ...plain }, copyNs));
    const samples = samplesOfVisit(copyNs);
    const firstBuffer = this.#firstBuffer;
    this.#firstBuffer = (firstBuffer + copies * samples) % buffers;
    return {
      ...plain,
      firstBuffer,
      ...warmup({ sizeBytes, cache }, copyNs),
      copiesPerSample: copies,
      samples,
    };
  }

  async #measure(request: MeasureRequest, doRatesCount = true): Promise<MeasureResult> {
    const result = await this.#bench.copy(request);
    this.link = result.link ?? this.link;
    const { copies, provenCopies, mismatches } = result.verification;
    const { counts } = this.#options;
    const { copied } = counts;
    counts.wrongCopies += mismatches.length;
    const { copiesPerSample: ofSample, samples, sizeBytes, warmupCopies, warmupBytes } = request;
    // A bidir request makes this many copies in each direction.
    const flows = request.direction === "bidir" ? 2 : 1;
    copied.bytes += flows * (ofSample * samples * sizeBytes + warmupCopies * warmupBytes);
    if (doRatesCount) {
      copied.made += copies;
      copied.proven += provenCopies;
      if (request.direction === "h2d") copied.provenH2d += provenCopies;
      if (request.direction === "d2h") copied.provenD2h += provenCopies;
    }
    return result;
  }
}

/** Rates of samples in GB/s; none if data came back wrong. */
function ratesIn({ columns, verification }: MeasureResult, request: MeasureRequest): number[] {
  if (verification.mismatches.length > 0) return [];
  const bytes = request.copiesPerSample * request.sizeBytes;
  return columns.flatMap(({ durationNs }) => [...durationNs].map((ns) => bytes / ns));
}

/** Median rates; null for a direction without samples. */
export function ratesOf(samples: Readonly<Record<Way, readonly number[]>>): Rates {
  return eachWay((way) => medianIn(samples[way]));
}

function medianIn(figures: readonly number[]): number | null {
  return figures.length === 0 ? null : median(figures);
}
