import { vi } from "vitest";
import type { NativeDriver } from "../../src/native/contract.js";
import type { NativePool, PoolOptions } from "../../src/native/loader-contract.js";
import { type MeasurePoolsOptions, PoolMeasurement } from "../../src/pin/measure-pools.js";
import type { Neighbour } from "../../src/pin/stalls.js";
import { deviceFacts, FakeSession, nativeError } from "../measure/support.js";

export const MiB = 1024 ** 2;
export const GiB = 1024 * MiB;

/** Seconds that a GiB takes, about as on an H200 with 16 CPUs. */
const usualCosts: Readonly<Record<string, number>> = {
  "host-alloc 1 1": 0.49,
  "host-alloc 16 16": 0.37,
  "register 1 1": 0.46,
  "register 1 16": 0.08,
  "register 16 16": 0.08,
  "register-huge 1 1": 0.16,
  "register-huge 1 16": 0.0375,
  "register-huge 16 16": 0.034,
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
    const { way, pieces, threads, bytes } = options as PoolOptions;
    this.asked.push(options as PoolOptions);
    if (this.isAborted) throw nativeError("ABORTED");
    if (way === "register-hugetlb" && !this.hasHugetlb) throw nativeError("NO_HUGE_PAGES");
    this.beforeObtain(options as PoolOptions);
    const ns = ((this.costs[`${way} ${pieces} ${threads}`] ?? 0.1) * 1e9 * bytes) / GiB;
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
        return { releaseNs: ns / 4 };
      },
    };
    return pool as never;
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
    openNeighbour?: () => Promise<Neighbour>;
    root?: string;
    onActivity?: MeasurePoolsOptions["onActivity"];
  } = {},
) {
  const { budgetMs = 60_000, sizesBytes = [GiB], signal = new AbortController().signal } = more;
  return new PoolMeasurement({
    driver: device.driver,
    device: deviceFacts,
    placement: { numaNode: null, cpus: [0], threads: 16 },
    resources: { cpusUsable: 16, hugetlbFreeBytes: 0 },
    sizesBytes,
    shapes: { stalls: false, threads: null },
    openNeighbour: more.openNeighbour ?? null,
    root: more.root ?? "/nowhere-of-pinbench",
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
