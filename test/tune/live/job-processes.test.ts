import type * as FileSystem from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { JobProcesses, whyUnseen } from "../../../src/tune/live/job-processes.js";

/* The processes of a job, by a /proc and a clock that a test makes up. */

interface Played {
  parent: number;
  started: string;
  environ?: string;
  cmdline?: string;
  maps?: string;
  hasEnded?: boolean;
  isKeeper?: boolean;
  /** The signal that ends it; only SIGKILL without one. */
  heeds?: string;
}

const world = vi.hoisted(() => ({
  processes: new Map<number, object>(),
  nowMs: 0,
  /** With the time at which they came. */
  signals: [] as [number, string, number][],
  noted: new Set<number>(),
  removed: [] as number[],
}));
const played = (pid: number) => world.processes.get(pid) as Played | undefined;

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof FileSystem>();
  const readdirSync = (path: string) => {
    if (path !== "/proc") throw new Error(path);
    return ["self", "cpuinfo", ...[...world.processes.keys()].map(String)];
  };
  return { ...fs, readdirSync };
});
vi.mock("../../../src/host/files.js", () => ({
  readText: (_: string, path: string) => {
    const [, pid, file] = path.split("/");
    return played(Number(pid))?.[file as "environ" | "cmdline" | "maps"] ?? null;
  },
}));
vi.mock("../../../src/host/processes.js", () => ({
  keepsSharedMemory: (pid: number) => played(pid)?.isKeeper ?? false,
  readProcessStat: (pid: string) => {
    const process = played(Number(pid));
    return process === undefined ? null : { hasEnded: false, ...process };
  },
  signalGroup: (group: number, signal: string) => {
    world.signals.push([-group, signal, world.nowMs]);
    for (const [pid] of world.processes) if (pid === group) strike(pid, signal);
    return true;
  },
  LeftSharedMemory: class {
    note = (pids: readonly number[]) => pids.forEach((pid) => void world.noted.add(pid));
    remove = (makers: ReadonlySet<number>) => void world.removed.push(...makers);
  },
}));
vi.mock("node:timers/promises", () => ({
  setTimeout: async (ms: number) => {
    world.nowMs += ms;
  },
}));

function strike(pid: number, signal: string): void {
  if (signal === "SIGKILL" || played(pid)?.heeds === signal) world.processes.delete(pid);
}

beforeEach(() => {
  world.processes.clear();
  Object.assign(world, { nowMs: 0, signals: [], noted: new Set(), removed: [] });
  vi.spyOn(performance, "now").mockImplementation(() => world.nowMs);
  vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
    if (played(pid) === undefined) throw new Error("ESRCH");
    world.signals.push([pid, String(signal), world.nowMs]);
    strike(pid, String(signal));
    return true;
  });
});
afterEach(() => void vi.restoreAllMocks());

const mark = "A=1\0PINBENCH_TUNE_SOCKET=/tmp/job/hook\0B=2";
const run = (pid: number, changes: Partial<Played> = {}) =>
  world.processes.set(pid, { parent: 1, started: `at ${pid}`, ...changes });
const jobOf = () => new JobProcesses("/tmp/job/hook");

describe("a job has", () => {
  it("the processes with its mark, and all that these have started", () => {
    run(30, { parent: 20 });
    run(10, { environ: mark });
    run(20, { parent: 10, environ: "" });
    run(40, { environ: mark.replace("hook", "hook-of-another") });
    run(50, { environ: "PINBENCH_TUNE_SOCKET=/tmp/job/hook", hasEnded: true });
    run(60, { environ: "PINBENCH_TUNE_SOCKET=/tmp/job/hook" });
    run(process.pid, { environ: mark });
    expect(jobOf().list().toSorted()).toEqual([10, 20, 30, 60]);
  });

  it("what it had before, whatever has become of its parent, but not another process with the number", () => {
    run(10, { environ: mark });
    run(20, { parent: 10 });
    run(30, { parent: 10 });
    const job = jobOf();
    job.list();
    world.processes.delete(10);
    run(20, { parent: 1 });
    run(30, { parent: 1, started: "later" });
    expect(job.list()).toEqual([20]);
  });
});

describe("a job is ended", () => {
  it("by Ctrl-C, which its process group gets, and its shared memory is removed", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    await jobOf().end(10);
    expect(world).toMatchObject({ signals: [[-10, "SIGINT", 0]], noted: new Set([10]), removed: [10] });
  });

  it("by a signal to each of its processes if its group is not known", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    run(20, { environ: mark, heeds: "SIGINT" });
    await jobOf().end(null);
    expect(world.signals).toEqual([
      [10, "SIGINT", 0],
      [20, "SIGINT", 0],
    ]);
  });

  it("by SIGTERM after five seconds, and by force after two more", async () => {
    run(10, { environ: mark, heeds: "SIGTERM" });
    run(20, { parent: 10 });
    await jobOf().end(10);
    expect(world.signals).toEqual([
      [-10, "SIGINT", 0],
      [10, "SIGTERM", 5000],
      [20, "SIGTERM", 5000],
      // Not for long, as the command itself has ended.
      [20, "SIGKILL", 6000],
    ]);
    expect(world.removed.toSorted()).toEqual([10, 20]);
  });

  it("within a second if its command ends at once, and others do not", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    run(20, { parent: 10, heeds: "SIGTERM" });
    await jobOf().end(10);
    expect(world.signals).toEqual([
      [-10, "SIGINT", 0],
      [20, "SIGTERM", 1000],
    ]);
  });

  it("without force for the keepers of its shared memory, until they have had a second for that", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    run(20, { parent: 10, isKeeper: true });
    await jobOf().end(10);
    expect(world.signals).toEqual([
      [-10, "SIGINT", 0],
      [20, "SIGKILL", 1000],
    ]);
  });
});

it.each<[string[], string, string | null]>([
  [["bash", "train.sh"], "", "None of its processes is a Python that pinbench can look into."],
  [["/usr/bin/pythonista", "-I"], "", "None of its processes is a Python that pinbench can look into."],
  [["/opt/bin/python3.12", "-Is", "train.py"], "", "/opt/bin/python3.12 was started with -Is, which keeps"],
  [["python", "-u", "-E", "-m", "train"], "", "python was started with -E, which keeps pinbench out"],
  [["python", "-m", "train", "-I"], "", "None of its processes has loaded torch."],
  [["python", "-c", "-S", "x"], "", "None of its processes has loaded torch."],
  [["python", "train.py", "-I"], "7f00 r-xp 1 2 /lib/libtorch_cpu.so", null],
  [["python", "-u"], "7f00 r-xp 1 2 /lib/libtorch_python.so", null],
])("why a job is not seen: %j %s", (cmdline, maps, reason) => {
  run(5, { cmdline: "sh\0-c" });
  run(10, { cmdline: cmdline.join("\0"), maps });
  const why = whyUnseen([5, 10, 99]);
  if (reason === null) expect(why).toBeNull();
  else expect(why).toContain(reason);
});
