import { expect, it } from "vitest";
import { type Refusal, refusalReason } from "../../src/pin/refusal-reason.js";

const GiB = 1024 ** 3;
const plain: Refusal = {
  way: "host-alloc",
  code: "CUDA_ERROR_OUT_OF_MEMORY",
  largestBytes: 4 * GiB,
  refusedBytes: 16 * GiB,
  machine: {
    virtualization: null,
    memoryAvailableBytes: 60 * GiB,
    cgroupMemoryLimitBytes: null,
    memoryTotalBytes: 64 * GiB,
    memlockLimitBytes: null,
  },
};
const reasonOf = (part: Partial<Refusal>, machine: Partial<Refusal["machine"]> = {}) =>
  refusalReason({ ...plain, ...part, machine: { ...plain.machine, ...machine } });

it("a refusal to pin memory is reported with its most likely cause", () => {
  expect(reasonOf({}, { virtualization: "wsl2" })).toMatch(
    /^Windows lets WSL pin little in all, 0\.75 to 1 GiB on a machine with 63 GiB/,
  );
  expect(reasonOf({ way: "register", largestBytes: 0, code: "CUDA_ERROR_NOT_SUPPORTED" })).toMatch(
    /registers no memory of programs/,
  );
  expect(reasonOf({}, { memlockLimitBytes: 5 * GiB })).toBe(
    "the limit of locked memory is 5 GiB: ulimit -l unlimited raises it",
  );
  const inCgroup = { cgroupMemoryLimitBytes: 8 * GiB, memoryAvailableBytes: 6 * GiB };
  expect(reasonOf({ refusedBytes: 5 * GiB }, inCgroup)).toMatch(/^the cgroup has 8 GiB/);
  // Less than a page may be locked where nothing can be had.
  expect(reasonOf({ way: "register", largestBytes: 0 }, { memlockLimitBytes: 65536 })).toMatch(
    /^the limit of locked/,
  );
  expect(reasonOf({ code: "OUT_OF_HOST_MEMORY" })).toMatch(/ulimit -v/);
});

it("the cause of a refusal is unknown without facts that point to one", () => {
  expect(reasonOf({})).toMatch(/^not known/);
  // There was plenty left of it.
  const plenty = { cgroupMemoryLimitBytes: 48 * GiB, memoryAvailableBytes: 40 * GiB };
  expect(reasonOf({}, plenty)).toMatch(/^not known/);
  expect(reasonOf({}, { cgroupMemoryLimitBytes: 64 * GiB, memlockLimitBytes: 32 * GiB })).toMatch(
    /^not known/,
  );
});

it("the limit of locked memory is the cause if it lies between the pinned and the refused amount", () => {
  const reason = (largestBytes: number, refusedBytes: number) =>
    reasonOf({ largestBytes, refusedBytes }, { memlockLimitBytes: 5 * GiB });
  expect(reason(5 * GiB, 5 * GiB + 1)).toMatch(/^the limit of locked/);
  expect(reason(5 * GiB, 5 * GiB)).toMatch(/^not known/);
  expect(reason(5 * GiB + 1, 6 * GiB)).toMatch(/^not known/);
  const unsupported = { way: "register", largestBytes: 0, code: "CUDA_ERROR_NOT_SUPPORTED" } as const;
  expect(reasonOf(unsupported, { memlockLimitBytes: 5 * GiB })).toMatch(/registers no memory/);
});

it("a driver that registers nothing is the cause only if registering was attempted and none succeeded", () => {
  expect(reasonOf({ way: "register", largestBytes: 1 })).toMatch(/^not known/);
  expect(reasonOf({ way: "host-alloc", largestBytes: 0 })).toMatch(/^not known/);
  expect(reasonOf({ way: "register", largestBytes: 0 })).toMatch(/^the driver registers no memory/);
});

it("the cgroup is the cause above half of its free memory, if its limit is below the machine's memory", () => {
  const inCgroup = { cgroupMemoryLimitBytes: 8 * GiB, memoryAvailableBytes: 6 * GiB };
  expect(reasonOf({ refusedBytes: 3 * GiB }, inCgroup)).toMatch(/^not known/);
  expect(reasonOf({ refusedBytes: 3 * GiB + 1 }, inCgroup)).toMatch(/^the cgroup/);
  const whole = { memoryAvailableBytes: 6 * GiB, memoryTotalBytes: 8 * GiB };
  expect(reasonOf({}, { ...whole, cgroupMemoryLimitBytes: 8 * GiB })).toMatch(/^not known/);
  expect(reasonOf({}, { ...whole, cgroupMemoryLimitBytes: null })).toMatch(/^not known/);
});
