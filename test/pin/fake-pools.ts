import { vi } from "vitest";
import type { LoadOptions, NativeDriver, NativeLoad } from "../../src/native/contract.js";
import type { NativePool, PoolOptions } from "../../src/native/loader-contract.js";
import { type MeasurePoolsOptions, PoolMeasurement } from "../../src/pin/measure-pools.js";
import type { WatchedCall } from "../../src/settings/choices.js";
import { deviceFacts, FakeSession, nativeError } from "../measure/support.js";

export const MiB = 1024 ** 2;
export const GiB = 1024 * MiB;

/** Seconds that a GiB takes, about as on an H200 with 16 CPUs. */
const usualCosts: Readonly<Record<string, number>> = {
  "host-alloc 1": 0.49,
  "register 1": 0.46,
  "register 16": 0.08,
  "register-huge 1": 0.16,
  "register-huge 16": 0.0375,
};

/** A device whose pools take what a test says, by a clock that stands still but for them. */
export class FakeDevice extends FakeSession {
  readonly asked: PoolOptions[] = [];
  held = 0;
  costs = usualCosts;
  hugePageShare: number | null = null;
  hasHugetlb = false;
  /** Called before each; throws where it is refused. */
  beforeObtain: (options: PoolOptions) => void = () => undefined;
  beforeCopy: (direction: "h2d" | "d2h") => void = () => undefined;

  override async obtainPool(...[options]: unknown[]): Promise<never> {
    const { way, threads, bytes } = options as PoolOptions;
    this.asked.push(options as PoolOptions);
    if (this.isAborted) throw nativeError("ABORTED");
    if (way === "register-hugetlb" && !this.hasHugetlb) throw nativeError("NO_HUGE_PAGES");
    this.beforeObtain(options as PoolOptions);
    const ns = ((this.costs[`${way} ${threads}`] ?? 0.1) * 1e9 * bytes) / GiB;
    vi.advanceTimersByTime(ns / 1e6);
    ++this.held;
    let isHeld = true;
    const pool: NativePool = {
      obtainNs: ns,
      touchNs: ns / 2,
      registerNs: ns / 2,
      hugePageBytes: this.hugePageShare && bytes * this.hugePageShare,
      pagesOfNode: [{ node: 0, pages: 16 }],
      copy: async (direction, sizeBytes, copies) => {
        this.beforeCopy(direction);
        return Float64Array.from({ length: copies }, () => sizeBytes / (direction === "h2d" ? 50 : 40));
      },
      release: async () => {
        // A second release does nothing, as it does in the addon.
        if (isHeld) --this.held;
        isHeld = false;
        return ns / 4;
      },
    };
    return pool as never;
  }

  /** Kinds of watched calls, in the order of their starts. */
  readonly watched: string[] = [];
  beforeWatch: (kind: WatchedCall) => void = () => undefined;

  /** Launches that get no answer while a pool is obtained, and copies that do. */
  override async startLoad(...[options]: unknown[]): Promise<never> {
    const { kind } = options as LoadOptions;
    this.beforeWatch(kind as WatchedCall);
    this.watched.push(kind);
    const beganMs = performance.now();
    const waitsFor = kind === "launch" ? 1 : 0;
    let waitedNs = 0;
    const load: NativeLoad = {
      completions: () => ({ atNs: Float64Array.of(0, 1e6, 2e6 + waitsFor * waitedNs), unitsEach: 1 }),
      stop: async () => {
        waitedNs = (performance.now() - beganMs) * 1e6;
      },
    };
    return load as never;
  }

  get driver(): NativeDriver {
    return { openSession: async () => this } as unknown as NativeDriver;
  }
}

export function measurement(
  device: FakeDevice,
  more: {
    budgetMs?: number;
    sizesBytes?: number[];
    signal?: AbortSignal;
    watchesCalls?: boolean;
    root?: string;
    onActivity?: MeasurePoolsOptions["onActivity"];
  } = {},
) {
  const { budgetMs = 60_000, sizesBytes = [GiB], signal = new AbortController().signal } = more;
  const prepared = {
    backend: { driver: device.driver },
    devices: [deviceFacts],
    placement: { numaNode: null, cpus: [0], threads: 16 },
    resources: { cpusUsable: 16, hugetlbFreeBytes: 0 },
    request: { threads: null, stalls: more.watchesCalls ?? false },
    ...{ sizesBytes, root: more.root ?? "/nowhere-of-pinbench" },
  } as unknown as MeasurePoolsOptions["prepared"];
  return new PoolMeasurement({
    prepared,
    endMs: performance.now() + budgetMs,
    signal,
    onActivity: more.onActivity ?? (() => undefined),
  });
}

/** A device that refuses these pools with this error. */
export function refusing(
  isRefused: (options: PoolOptions) => boolean,
  ...error: Parameters<typeof nativeError>
) {
  const device = new FakeDevice();
  device.beforeObtain = (options) => {
    if (isRefused(options)) throw nativeError(...error);
  };
  return device;
}

export const isWarmUp = ({ bytes }: PoolOptions) => bytes === 16 * MiB;
