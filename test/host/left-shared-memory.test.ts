import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { keepsSharedMemory, LeftSharedMemory } from "../../src/host/processes.js";

/** Maps new files, and may close their descriptors, as torch does. */
const program = (paths: readonly string[], closes: boolean) => `
import ctypes, os, time
for path in ${JSON.stringify(paths)}:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, 4096)
    if ${closes ? "True" : "False"}:
        # Python's own mmap would keep a descriptor open.
        ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 3, 1, descriptor, ctypes.c_long(0))
        os.close(descriptor)
print("ready", flush=True)
time.sleep(60)`;

it.each([
  ["mapped", true],
  ["open", false],
])("shared memory of known names that a killed process had %s is removed", async (_, closes) => {
  const known = ["psm_", "nccl-", "sem.mp-", "sem.loky-"];
  const paths = [...known, "of-a-data-set-"].map(
    (name) => `/dev/shm/${name}pinbench_${process.pid}_${closes}`,
  );
  onTestFinished(() => {
    for (const path of paths) rmSync(path, { force: true });
  });
  const left = new LeftSharedMemory();
  const child = spawn("python3", ["-c", program(paths, closes)], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  left.note([process.pid, child.pid!]);
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  left.remove(new Set());
  expect(paths.map(existsSync)).toEqual([false, false, false, false, true]);
});

it("torch's keeper of shared memory is known by its name", () => {
  const keeper = spawn("sleep", ["1000"], { argv0: "/usr/lib/torch_shm_manager" });
  onTestFinished(() => void keeper.kill("SIGKILL"));
  expect([keeper.pid!, process.pid].map(keepsSharedMemory)).toEqual([true, false]);
});

it("torch's memory goes with the process that it is named after, unless it was there before", () => {
  const maker = process.pid;
  const path = `/dev/shm/torch_${maker}_pinbench`;
  onTestFinished(() => rmSync(path, { force: true }));
  writeFileSync(path, "");
  const isLeft = (sinceMs: number, makers: number[]) => {
    const now = vi.spyOn(Date, "now").mockReturnValue(sinceMs);
    const left = new LeftSharedMemory();
    now.mockRestore();
    left.remove(new Set(makers));
    return existsSync(path);
  };
  expect(isLeft(Date.now() + 60_000, [maker])).toBe(true);
  expect(isLeft(0, [maker + 1])).toBe(true);
  expect(isLeft(0, [maker])).toBe(false);
});
