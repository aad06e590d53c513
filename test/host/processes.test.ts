import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  hasRoomForProcesses,
  keepsSharedMemory,
  LeftSharedMemory,
  readProcessStat,
  signalGroup,
} from "../../src/host/processes.js";
import { packageRoot } from "../../src/package-facts.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

/** A machine on which user 1000 has two processes, of 11 threads and of 1, and another user has many threads. */
function machineWith({ limit = "40", capabilities = "0000000000000000", user = 1000 } = {}): string {
  const status = (uid: number, threads: number) =>
    `Name:\tnode\nUid:\t${uid}\t7\t7\t7\nThreads:\t${threads}\nCapEff:\t${capabilities}\n`;
  return fixtureRoot({
    "proc/self/limits": `Limit  Soft Limit  Hard Limit  Units\nMax processes             ${limit}                 64   processes\n`,
    "proc/self/status": status(user, 11),
    "proc/100/status": status(user, 11),
    "proc/101/status": status(user, 1),
    "proc/102/status": status(2000, 500),
  });
}

describe("room for processes", () => {
  it("is what the user's limit on threads leaves, at 12 threads for each Node process", () => {
    expect(hasRoomForProcesses(2, machineWith())).toBe(true);
    expect(hasRoomForProcesses(3, machineWith())).toBe(false);
    expect(hasRoomForProcesses(1, machineWith({ limit: "24" }))).toBe(true);
    expect(hasRoomForProcesses(1, machineWith({ limit: "23" }))).toBe(false);
  });

  it("is unlimited without a limit, for root and for users who may exceed it", () => {
    expect(hasRoomForProcesses(100, machineWith({ limit: "unlimited" }))).toBe(true);
    expect(hasRoomForProcesses(100, machineWith({ user: 0 }))).toBe(true);
    for (const capabilities of ["0000000001000000", "0000000000200000"]) {
      expect(hasRoomForProcesses(100, machineWith({ capabilities }))).toBe(true);
    }
    expect(hasRoomForProcesses(100, machineWith({ capabilities: "0000000000400000" }))).toBe(false);
  });

  it("is unlimited if /proc does not report the limit", () => {
    expect(hasRoomForProcesses(100, fixtureRoot({}))).toBe(true);
  });
});

describe("the kernel's facts on a process", () => {
  const statOf = (state: string) => {
    const counted = Array.from({ length: 49 }, (_, i) => i + 4).join(" ");
    return readProcessStat(7, fixtureRoot({ "proc/7/stat": `7 (a (name) S 1) ${state} ${counted}` }));
  };

  it("are read by their position after the process name, which may contain anything", () => {
    expect(statOf("S")).toEqual({
      ...{ hasEnded: false, isStopped: false, parent: 4, group: 5, started: "22" },
      // 14 ticks of the program and 15 of the kernel for it, of 10 ms.
      cpuNs: 290e6,
    });
    expect(readProcessStat(8, fixtureRoot({ "proc/8/stat": "8 (a name) S 1" }))).toBeNull();
  });

  it("show whether the process has ended or is stopped", () => {
    const seen = ["R", "D", "Z", "X", "T", "t"].map(statOf);
    expect(seen.map((stat) => stat!.hasEnded)).toEqual([false, false, true, true, false, false]);
    expect(seen.map((stat) => stat!.isStopped)).toEqual([false, false, false, false, true, true]);
  });
});

/** The process groups that a guard has to end after these lines on stdin; runs it in a process. */
function groupsAfter(told: string): unknown {
  const compiled = pathToFileURL(join(packageRoot, "dist/host/processes.js")).href;
  const program = `import { untilKilled } from "${compiled}"; console.log(JSON.stringify(await untilKilled()));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    input: told,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

describe("a guard that ends left-over processes", () => {
  it("ends the process groups of its list once the process that started it is gone", () => {
    expect(groupsAfter("12\n345\n")).toEqual([12, 345]);
  });

  it("leaves out process groups that have ended, as others may have their ids", () => {
    expect(groupsAfter("12\n345\nended 12\n")).toEqual([345]);
    expect(groupsAfter("12\nended 12\n12\n")).toEqual([12]);
  });

  it("has nothing to do if it was dismissed", () => {
    expect(groupsAfter("12\n345\ndone\n")).toBeNull();
  });
});

it("a signal goes to a whole process group; a group that is gone is reported", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation((group) => {
    if (group === -8) throw new Error("no such process");
    return true;
  });
  onTestFinished(() => kill.mockRestore());
  expect([signalGroup(7, "SIGTERM"), signalGroup(8, 0)]).toEqual([true, false]);
  expect(kill.mock.calls).toEqual([
    [-7, "SIGTERM"],
    [-8, 0],
  ]);
});

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

it("torch's manager of shared memory is recognized by its process name", () => {
  const keeper = spawn("sleep", ["1000"], { argv0: "/usr/lib/torch_shm_manager" });
  onTestFinished(() => void keeper.kill("SIGKILL"));
  expect([keeper.pid!, process.pid].map(keepsSharedMemory)).toEqual([true, false]);
});

it("torch's shared memory is removed with the process that it is named after, unless it existed before", () => {
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
