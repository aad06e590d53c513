import { setTimeout as sleep } from "node:timers/promises";
import { isNear, type NumaPlacement, placementAt, placementsOn, readNumaNodes } from "../host/numa-nodes.js";
import { choosePlacement, type Placement } from "../host/topology.js";
import type { ArenaGeometry, NativeError } from "../native/contract.js";
import { areElsewhere } from "../results/nodes/node-rates.js";
import { leastLostShare } from "../results/over-time.js";
import { findFasterNode } from "./causes/cost.js";
import { registeredLosses } from "./causes/memory-causes.js";
import { lesser } from "./causes/path-links.js";
import { lostBothWays } from "./causes/platform-causes.js";
import { CopyBench, type CopyBenchOptions, noRates, ratesOf, visits, visitsOfPinned } from "./copy-bench.js";
import {
  betterRates,
  type Compared,
  eachWay,
  type FailureKind,
  type Rates,
  shortfallGBps,
  shortfallTogetherGBps,
  slowShareOf,
  linkDirections as ways,
} from "./examination.js";
import { asBuilt, comparedWith, type ExamineOptions, readHealth, type Subject } from "./examined-device.js";
import { readPciPath } from "./facts/pci-path.js";

/** Delay before slow copies are measured again: by then, short disturbances by programs or other guests are over. */
const secondLookAfterMs = 1000;

/** Runs the experiments of an examination; results are in the subjects. */
export class Experiments {
  readonly omitted: string[] = [];
  readonly #subjects: readonly Subject[];
  readonly #options: ExamineOptions;
  readonly #open = new Set<CopyBench>();
  /** Why no device can be used any more; null if they can. */
  lost: string | null = null;
  /** Number of devices that copied at the same time; 0 before that. */
  together = 0;
  /** Time that the slowest device needed for the verdict's measurements. */
  #plainMs = 0;
  /** Time that the slowest device needed for `visits` visits of pinned copies in each direction. */
  #roundMs = 0;

  constructor(subjects: readonly Subject[], options: ExamineOptions) {
    this.#subjects = subjects;
    this.#options = options;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((bench) => bench.close()));
    this.#open.clear();
  }

  async measureAll(): Promise<void> {
    const { isQuick } = this.#options;
    for (const subject of this.#subjects) {
      if (!this.#fits(`copies of device ${subject.facts.ordinal}`, this.#plainMs)) continue;
      const startedMs = performance.now();
      await this.#measurePlain(subject);
      this.#plainMs = Math.max(this.#plainMs, performance.now() - startedMs);
    }
    await this.#lookAgainAtPlain();
    if (isQuick) {
      // A slow device may only have its memory on the wrong node.
      for (const subject of this.#subjects) {
        if (this.#isSlow(subject)) await this.#measureNodes(subject);
      }
      this.omitted.push(
        "copies at the same time, after a rest, from other memory and, if they are not slow, on other NUMA nodes: --preset quick",
      );
      return;
    }
    await this.#measureTogether();
    for (const subject of this.#subjects) {
      await this.#measureLatency(subject);
      // Experiments for slow devices come before those for all.
      if (this.#mayBeFar(subject)) await this.#measureNodes(subject);
    }
    for (const subject of this.#subjects) {
      await this.#measureBothWays(subject);
      await this.#measureOtherMemory(subject);
    }
    const nodes = placementsOn(readNumaNodes(this.#options.root)).length;
    for (const subject of this.#subjects) {
      if (nodes === 0 || this.#mayBeFar(subject)) continue;
      const rest = `copies with each NUMA node from device ${subject.facts.ordinal} on (pinbench run --numa all)`;
      if (!this.#fits(rest, nodes * this.#plainMs)) break;
      await this.#measureNodes(subject);
    }
  }

  /** Makes the measurements for the verdict. */
  async #measurePlain(subject: Subject): Promise<void> {
    const { prepared, root } = this.#options;
    const { facts, measured } = subject;
    const isNeeded = true;
    const open = async () => {
      subject.bench = await this.#openBench(subject, choosePlacement(facts.pciBusId, "local", root));
      await subject.bench.reserve("pinned");
    };
    const measure = async () => {
      const startedMs = performance.now();
      const samples = await subject.bench!.samples("pinned", visitsOfPinned);
      measured.pinned = ratesOf(samples);
      measured.slowShare = eachWay((way) => slowShareOf(samples[way]));
      measured.hostShare = subject.bench!.hostShare;
      const ofOthers = visits / visitsOfPinned;
      this.#roundMs = Math.max(this.#roundMs, (performance.now() - startedMs) * ofOthers);
    };
    const read = async () => {
      const underLoad = await subject.bench!.underLoad(() => {
        // An idle link may be slower than its best.
        subject.path.underLoad = readPciPath(facts.pciBusId, root);
        return readHealth(prepared.backend.driver, facts);
      });
      subject.health.underLoad = asBuilt(underLoad, subject);
    };
    await this.#attempt(subject, `opening device ${facts.ordinal}`, open, { isNeeded });
    await this.#attempt(subject, `pinned copies of device ${facts.ordinal}`, measure, { isNeeded });
    await this.#attempt(subject, `NVML while device ${facts.ordinal} copies`, read, { isNeeded });
  }

  /** Measures slow plain copies again, so that a short disturbance is not blamed on a device. */
  async #lookAgainAtPlain(): Promise<void> {
    const isUneven = ({ measured }: Subject) =>
      ways.some((way) => (measured.slowShare?.[way] ?? 0) >= leastLostShare);
    const slow = this.#subjects.filter(
      (subject) => subject.failure === null && (isUneven(subject) || this.#isSlow(subject)),
    );
    await this.#lookAgain(slow, this.#roundMs, async ({ measured, bench }) => {
      const { pinned: firstLook, slowShare } = measured;
      const samples = await bench!.samples("pinned", visitsOfPinned);
      measured.pinned = betterRates(firstLook, ratesOf(samples));
      measured.slowShare = eachWay((way) => lesser(slowShare?.[way], slowShareOf(samples[way])));
      measured.firstLook = firstLook;
    });
  }

  /** After a pause, calls `measure` for each of these devices. */
  async #lookAgain(
    slow: readonly Subject[],
    aboutMs: number,
    measure: (subject: Subject) => Promise<void>,
  ): Promise<void> {
    let pauseMs = secondLookAfterMs;
    for (const subject of slow) {
      const what = `a second look at slow copies of device ${subject.facts.ordinal}`;
      if (!this.#fits(what, pauseMs + aboutMs)) continue;
      await this.#attempt(subject, what, async () => {
        await sleep(pauseMs, undefined, { signal: this.#options.signal });
        pauseMs = 0;
        await measure(subject);
      });
    }
  }

  async #measureTogether(): Promise<void> {
    const working = this.#subjects.filter(({ failure, bench }) => failure === null && bench !== null);
    if (working.length < 2 || !this.#fits("copies of all devices at once", 2 * this.#roundMs)) return;
    const benches = working.map(({ bench }) => bench!);
    const look = async () => {
      const rendezvous = this.#options.prepared.createRendezvous();
      const h2d = await CopyBench.together(benches, "h2d", rendezvous);
      const d2h = await CopyBench.together(benches, "d2h", rendezvous);
      for (const [i, { measured }] of working.entries()) {
        const rates = { h2d: h2d[i]!, d2h: d2h[i]! };
        measured.together = betterRates(measured.together ?? noRates, rates);
      }
    };
    await this.#attempt(working[0]!, "copies of all devices at once", async () => {
      await look();
      this.together = working.length;
    });
    const isSlow = working.some((subject) =>
      ways.some((way) => shortfallTogetherGBps(this.#compared(subject), way) !== null),
    );
    if (isSlow) await this.#lookAgain(working.slice(0, 1), 2 * this.#roundMs, look);
  }

  /** Measures whether a rest makes copies slower. */
  async #measureLatency(subject: Subject): Promise<void> {
    const { facts, measured, bench } = subject;
    const what = `the latency of copies of device ${facts.ordinal}`;
    if (bench === null || !this.#fits(what, 500)) return;
    await this.#attempt(subject, what, async () => {
      measured.latency = await bench.latency();
    });
  }

  /** Measures each direction during opposite copies: a link carries both at once. */
  async #measureBothWays(subject: Subject): Promise<void> {
    const { facts, measured, bench } = subject;
    const { arenas } = this.#options.prepared.plan;
    const what = `copies both ways at once of device ${facts.ordinal}`;
    // They need twice the memory, as do other kinds later.
    if (bench === null || arenas.host.registered === undefined || !this.#fits(what, this.#plainMs)) return;
    await this.#attempt(subject, what, async () => {
      const placement = choosePlacement(facts.pciBusId, "local", this.#options.root);
      const twice = (one: ArenaGeometry) => ({
        ...one,
        chunksOfWorker: [one.chunksOfWorker[0]!, one.chunksOfWorker[0]!],
      });
      const host = { pinned: twice(arenas.host.pinned!) };
      const doubled = { ...arenas, host, device: twice(arenas.device) };
      const both = await this.#openBench(subject, placement, { arenas: doubled });
      await this.#useBench(both, async () => {
        measured.bothWays = await both.bothWays();
        if (lostBothWays(measured) !== null && this.#fits(`a second look at ${what}`, this.#plainMs)) {
          measured.bothWays = betterRates(measured.bothWays, await both.bothWays());
        }
      });
    });
  }

  /** Frees a bench's memory after use, even after a failure: later experiments need it. */
  async #useBench<T>(bench: CopyBench, use: () => Promise<T>): Promise<T> {
    try {
      return await use();
    } finally {
      this.#open.delete(bench);
      await bench.close();
    }
  }

  /** Measures the device's copies from pageable and registered memory, as far as time and memory suffice. */
  async #measureOtherMemory(subject: Subject): Promise<void> {
    const { facts, measured, bench } = subject;
    if (bench === null) return;
    const of = `of device ${facts.ordinal}`;
    const aboutMs = 1.5 * this.#roundMs;
    if (this.#options.prepared.plan.arenas.host.registered === undefined) {
      this.omitted.push(`copies from pageable and registered memory ${of}: there is no memory for them`);
      return;
    }
    if (this.#fits(`copies from pageable memory ${of}`, aboutMs)) {
      await this.#attempt(subject, `pageable copies ${of}`, async () => {
        measured.pageable = await bench.rates("pageable");
      });
    }
    if (!this.#fits(`copies from registered memory ${of}`, aboutMs)) return;
    await this.#attempt(subject, `registered copies ${of}`, async () => {
      try {
        await bench.reserve("registered");
      } catch (error) {
        const { code, sticky } = error as NativeError;
        // Without system memory to register, the driver was not called.
        if (code === "ABORTED" || code === "OUT_OF_HOST_MEMORY" || sticky) throw error;
        measured.registered = { rates: noRates, refused: (error as Error).message };
        return;
      }
      const first = await bench.rates("registered");
      measured.registered = { rates: first, refused: null };
      if (registeredLosses(measured) === null || !this.#fits(`a second look at them ${of}`, aboutMs)) return;
      measured.registered = { rates: betterRates(first, await bench.rates("registered")), refused: null };
    });
  }

  #isSlow(subject: Subject): boolean {
    return ways.some((way) => shortfallGBps(this.#compared(subject), way) !== null);
  }

  #compared(subject: Subject): Compared {
    return comparedWith(subject, this.#options.prepared.backend.facts.emulated, this.together);
  }

  /** Whether the device's NUMA node may be wrong: copies are slow, or it is unknown. */
  #mayBeFar(subject: Subject): boolean {
    return this.#isSlow(subject) || subject.path.before.numaNode === null;
  }

  /** Measures each NUMA node in a session of its own, to compare them; the default node last, as time may be short. */
  async #measureNodes(subject: Subject): Promise<void> {
    const { root } = this.#options;
    const { facts, measured, failure } = subject;
    const placements = placementsOn(readNumaNodes(root));
    const isDefault = ({ memoryNode }: NumaPlacement) => memoryNode === subject.path.before.numaNode;
    const nodes = placements
      .filter((placement) => isNear(placement, placements))
      .sort((one, other) => Number(isDefault(one)) - Number(isDefault(other)));
    if (failure !== null) return;
    const rates = new Map<number, Rates>();
    const look = async (some: readonly NumaPlacement[]) => {
      for (const placement of some) {
        const node = placement.memoryNode;
        const what = `copies with NUMA node ${node} of device ${facts.ordinal}`;
        if (!this.#fits(what, this.#plainMs)) continue;
        await this.#attempt(subject, what, async () => {
          const bench = await this.#openBench(subject, placementAt(placement, root), { reportsNodes: true });
          const ofNode = await this.#useBench(bench, () => bench.rates("pinned"));
          // The system then uses another node's memory.
          if (areElsewhere(bench.pagesOfNode, node)) throw new Error("its memory is full or not allowed");
          rates.set(node, betterRates(rates.get(node) ?? noRates, ofNode));
        });
      }
      measured.nodes = [...rates]
        .map(([node, ofNode]) => ({ node, rates: ofNode }))
        .sort((one, other) => one.node - other.node);
    };
    await look(nodes);
    measured.untriedNodes = nodes.flatMap((one) =>
      isDefault(one) || rates.has(one.memoryNode) ? [] : [one.memoryNode],
    );
    const isFaster = findFasterNode({ ...this.#compared(subject), path: subject.path.before }) !== null;
    const again = `a second look at the NUMA nodes of device ${facts.ordinal}`;
    if (isFaster && this.#fits(again, nodes.length * this.#plainMs))
      await look(nodes.filter(({ memoryNode }) => rates.has(memoryNode)));
  }

  async #openBench(
    subject: Subject,
    placement: Placement,
    options: Partial<Pick<CopyBenchOptions, "arenas" | "reportsNodes">> = {},
  ): Promise<CopyBench> {
    const { prepared, signal } = this.#options;
    const { plan, backend } = prepared;
    const { arenas, cells } = plan;
    const cell = cells.find(({ memory, skipReason }) => memory === "pinned" && skipReason === null)!;
    const verify = this.#options.isQuick ? "every" : "last";
    const bench = await CopyBench.open({
      ...{ driver: backend.driver, device: subject.facts.ordinal, placement, signal },
      ...{ arenas, cell, verify, counts: subject },
      ...options,
    });
    this.#open.add(bench);
    return bench;
  }

  /** Whether there is time for an experiment; otherwise records that it was skipped. */
  #fits(what: string, aboutMs: number): boolean {
    if (performance.now() + aboutMs < this.#options.endMs) return true;
    this.omitted.push(`${what}: no time was left`);
    return false;
  }

  /**
   * Runs an experiment, unless the device has failed or none can be used. If an experiment fails that the verdict does
   * not need, it counts as skipped, and the device as working.
   */
  async #attempt(
    subject: Subject,
    what: string,
    work: () => Promise<void>,
    { isNeeded = false } = {},
  ): Promise<void> {
    const { signal, onActivity } = this.#options;
    signal.throwIfAborted();
    if (subject.failure !== null || this.lost !== null) return;
    onActivity(what);
    try {
      await work();
    } catch (reason) {
      signal.throwIfAborted();
      const error = reason as NativeError;
      if (isNeeded || error.sticky) {
        subject.failure = error.message;
        subject.failureKind = failureKindOf(error);
      }
      if (subject.failure === null) this.omitted.push(`${what}: ${error.message}`);
      if (error.sticky) this.lost = `not measured, as the process lost its contexts: ${error.message}`;
    }
  }
}

/** Errors of a device that has fallen off the bus or hangs, although its context remains usable or none was made. */
const ownErrors: readonly string[] = ["CUDA_ERROR_UNKNOWN", "CUDA_ERROR_INVALID_DEVICE"];

/** CUDA_ERROR_DEVICE_UNAVAILABLE, unnamed in older drivers: exclusive-process mode, or contexts are forbidden. */
const deviceUnavailable = 46;

function failureKindOf({ code, sticky, cudaResult }: NativeError): FailureKind {
  if (sticky || ownErrors.includes(code)) return "device";
  if (/^(?:CUDA_ERROR_OUT_OF|OUT_OF_HOST)_MEMORY$/.test(code)) return "memory";
  return cudaResult === deviceUnavailable ? "in-use" : "other";
}
