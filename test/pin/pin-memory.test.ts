import { describe, expect, it, vi } from "vitest";
import type { SessionOptions } from "../../src/native/contract.js";
import { PinMemory } from "../../src/pin/pin-memory.js";
import { pinningSchema } from "../../src/pin/pinning-document.js";
import { type PinRequest, type PreparedPools, preparePools } from "../../src/pin/prepare-pools.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { deviceFacts, withStoppedClock } from "../measure/support.js";
import { FakeDevice, GiB, MiB, refusing } from "./fake-pools.js";

/* The document of `pinbench pin`, of a device and a machine that a test makes up. */

withStoppedClock();

const root = fixtureRoot({
  "proc/sys/kernel/hostname": "node7",
  "proc/meminfo": `MemTotal: ${(64 * GiB) / 1024} kB\nMemAvailable: ${(60 * GiB) / 1024} kB`,
  "proc/self/limits": `Max locked memory         ${8 * MiB}              ${8 * MiB}              bytes`,
  "proc/self/cgroup": "0::/job",
  "sys/fs/cgroup/job/memory.max": String(48 * GiB),
  "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
  "sys/kernel/mm/transparent_hugepage/hpage_pmd_size": String(32 * MiB),
});

/** The third device, at NUMA node 1. */
function pinningOn(
  device: FakeDevice,
  { request = {} as Partial<PinRequest>, signal = new AbortController().signal, waitedMs = 0 } = {},
) {
  const asked: PinRequest = {
    ...{
      backend: "cuda",
      device: 2,
      sizesBytes: [GiB],
      maxPinnedBytes: 3 * GiB,
      budgetNs: 60e9,
      numa: "local",
    },
    ...{ threads: [1], stalls: false, ...request },
  };
  const looks: unknown[][] = [];
  const openSession = async ({ device: ordinal }: SessionOptions) => {
    sessions.push(ordinal);
    return device;
  };
  const sessions: number[] = [];
  const placement = { numaNode: 1, cpus: [4, 5], threads: 2 };
  const prepared = {
    ...{ request: asked, placement, root, omitted: ["a pool of 32 GiB: too large"] },
    backend: { name: "cuda", driver: { openSession } },
    devices: [{ ...deviceFacts, ordinal: 2, uuid: "GPU-2" }],
    ...{ passedOver: [], resources: { cpusUsable: 2, hugetlbFreeBytes: 0 }, sizesBytes: asked.sizesBytes! },
    memoryAvailableBytes: 60 * GiB,
  } as unknown as PreparedPools;
  const other = {
    ...{ kind: "program", pid: 4711, name: "python3", since: null },
    ...{ deviceMemoryBytes: null, wasThereBefore: false },
  };
  const records = [{ device: 2, others: [other], activityBefore: null, unseen: [] }];
  const sharing = { records, look: async (...args: unknown[]) => void looks.push(args) };
  const startedMs = performance.now();
  vi.advanceTimersByTime(waitedMs);
  const pinning = new PinMemory({
    ...{ prepared, sharing: sharing as never, signal, labels: { rack: "7" } },
    ...{ startedAt: new Date("2026-11-22T10:00:00Z"), startedMs, countedFromMs: performance.now() },
    onActivity: () => undefined,
  });
  return { pinning, looks, sessions };
}

async function documentOf(...args: Parameters<typeof pinningOn>) {
  const { pinning } = pinningOn(...args);
  await pinning.measure();
  const document = pinning.document();
  expect(pinningSchema.parse(document)).toEqual(document);
  return document;
}

describe("the document of pinbench pin", () => {
  it("has the device, the machine and the time that it took, waiting included", async () => {
    const document = await documentOf(new FakeDevice(), { waitedMs: 5000 });
    expect(document).toMatchObject({
      ...{ createdAt: "2026-11-22T10:00:00.000Z", status: "complete", error: null, host: "node7" },
      ...{ backend: "cuda", notice: null, labels: { rack: "7" }, budgetNs: 60e9 },
      device: { ordinal: 2, name: "a device", uuid: "GPU-2", pciBusId: "0000:06:00.0" },
      machine: {
        ...{ cpusUsable: 2, hugetlbFreeBytes: 0, numaNode: 1, memoryAvailableBytes: 60 * GiB },
        ...{ cgroupMemoryLimitBytes: 48 * GiB, memlockLimitBytes: 8 * MiB, maxPinnedBytes: 3 * GiB },
        ...{ transparentHugePages: "madvise", hugePageBytes: 32 * MiB },
      },
      others: [expect.stringContaining("python3 (pid 4711)")],
      omitted: ["a pool of 32 GiB: too large"],
    });
    expect(document.wallNs).toBeGreaterThan(5e9);
    expect(document.wallNs).toBeLessThan(60e9);
  });

  it("has the amount that torch would pin", async () => {
    const request = { sizesBytes: [3 * GiB] };
    const { torchRounding } = await documentOf(new FakeDevice(), { request });
    expect(torchRounding).toMatchObject({ sizeBytes: 3 * GiB, pinnedBytes: 4 * GiB });
  });

  it("does not charge the wait for the device to its budget", async () => {
    const request = { budgetNs: 4e9 };
    const { pools } = await documentOf(new FakeDevice(), { waitedMs: 5000, request });
    expect(pools.map(({ outcome }) => outcome)).not.toContain("omitted");
  });

  it("says why registering is refused", async () => {
    const device = refusing(({ way }) => way === "register-huge", "CUDA_ERROR_OUT_OF_MEMORY");
    const reason = expect.stringMatching(/^the driver registers no memory/);
    expect(await documentOf(device)).toMatchObject({
      ...{ status: "complete", limits: [{ way: "register-huge", reason }] },
    });
  });
});

it("pin uses the requested device, and looks for its other users at the end unless interrupted", async () => {
  const { pinning, looks, sessions } = pinningOn(new FakeDevice());
  expect(pinning.document().status).toBe("aborted");
  await pinning.measure();
  expect({ looks, sessions }).toEqual({ looks: [[[2], [], true]], sessions: [2] });
  const interrupted = pinningOn(new FakeDevice(), { signal: AbortSignal.abort() });
  await interrupted.pinning.measure();
  expect({ looks: interrupted.looks, status: interrupted.pinning.document().status }).toEqual({
    ...{ looks: [], status: "aborted" },
  });
});

it("a lost device is reported with its error", async () => {
  const device = refusing(() => true, "CUDA_ERROR_LAUNCH_FAILED", true);
  expect(await documentOf(device)).toMatchObject({
    ...{ status: "failed", error: { code: "CUDA_ERROR_LAUNCH_FAILED" }, recommendation: null },
  });
});

it("pin measures how long other calls stall only if that is requested", async () => {
  expect((await documentOf(new FakeDevice())).stalls).toBeNull();
  const { stalls } = await documentOf(new FakeDevice(), { request: { stalls: true } });
  expect(stalls!.pieces.map(({ way, pieceBytes }) => `${way} ${pieceBytes / MiB}`)).toEqual(
    [1, 16, 64, 256, 1024].flatMap((size) => [`host-alloc ${size}`, `register ${size}`]),
  );
});

it("free pages of hugetlbfs count as 2 MiB each, and are unknown if the kernel reports none", async () => {
  const request: PinRequest = {
    ...{ backend: "emulated", device: 0, sizesBytes: [4 * MiB], maxPinnedBytes: null, budgetNs: 1e9 },
    ...{ numa: "local", threads: null, stalls: false },
  };
  const pages = "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
  const freeBytes = async (files: Record<string, string>) =>
    (await preparePools(request, fixtureRoot(files))).resources.hugetlbFreeBytes;
  expect(await freeBytes({ [pages]: "512" })).toBe(GiB);
  expect(await freeBytes({})).toBeNull();
});
