import type * as FileSystem from "node:fs";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Child, describeExit, Family, shellExitCode } from "../../src/host/child.js";

/* The processes of a command, with a simulated /proc and clock. */

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
vi.mock("../../src/host/files.js", () => ({
  readText: (_: string, path: string) => {
    const [, pid, file] = path.split("/");
    return played(Number(pid))?.[file as "environ" | "cmdline" | "maps"] ?? null;
  },
}));
vi.mock("../../src/host/processes.js", () => ({
  keepsSharedMemory: (pid: number) => played(pid)?.isKeeper ?? false,
  readProcessStat: (pid: string) => {
    const process = played(Number(pid));
    return process === undefined ? null : { hasEnded: false, ...process };
  },
  signalGroup: (group: number, signal: string) => world.signals.push([-group, signal, world.nowMs]),
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
const familyOf = () => new Family(["PINBENCH_TUNE_SOCKET", "/tmp/job/hook"]);

describe("the processes of a command", () => {
  it("are those with its variable in their environment, and all that these have started", () => {
    run(30, { parent: 20 });
    run(10, { environ: mark });
    run(20, { parent: 10, environ: "" });
    run(40, { environ: mark.replace("hook", "hook-of-another") });
    run(50, { environ: "PINBENCH_TUNE_SOCKET=/tmp/job/hook", hasEnded: true });
    run(60, { environ: "PINBENCH_TUNE_SOCKET=/tmp/job/hook" });
    run(process.pid, { environ: mark });
    expect(familyOf().list().toSorted()).toEqual([10, 20, 30, 60]);
  });

  it("include the command itself if it has cleared its environment", () => {
    run(10, { environ: "" });
    const family = familyOf();
    family.root = 10;
    expect(family.list()).toEqual([10]);
  });

  it("include known processes that lost their parent, but no new process with a reused id", () => {
    run(10, { environ: mark });
    run(20, { parent: 10 });
    run(30, { parent: 10 });
    const family = familyOf();
    family.list();
    world.processes.delete(10);
    run(20, { parent: 1 });
    run(30, { parent: 1, started: "later" });
    expect(family.list()).toEqual([20]);
  });
});

describe("a command is ended", () => {
  it("by SIGINT, and its shared memory is removed", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    await familyOf().end();
    expect(world).toMatchObject({ signals: [[10, "SIGINT", 0]], noted: new Set([10]), removed: [10] });
  });

  it("by SIGTERM after five seconds, and by SIGKILL after five more", async () => {
    run(10, { environ: mark });
    await familyOf().end();
    expect(world.signals).toEqual([
      [10, "SIGINT", 0],
      [10, "SIGTERM", 5000],
      [10, "SIGKILL", 10_000],
    ]);
  });

  it("by stopping its shell first, so that the shell never continues after its training ends", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    run(20, { parent: 10, heeds: "SIGINT" });
    run(30, { parent: 20, heeds: "SIGTERM" });
    const family = familyOf();
    family.interruptFirst(20);
    await family.end();
    expect(world.signals).toEqual([
      [10, "SIGSTOP", 0],
      [20, "SIGINT", 0],
      [30, "SIGTERM", 1000],
      [10, "SIGKILL", 1000],
    ]);
    expect(world.removed.toSorted()).toEqual([10, 20, 30]);
  });

  it("without killing its managers of shared memory before they have had five seconds to clean up", async () => {
    run(10, { environ: mark, heeds: "SIGINT" });
    run(20, { environ: mark, isKeeper: true });
    await familyOf().end();
    expect(world.signals).toEqual([
      [10, "SIGINT", 0],
      [20, "SIGINT", 0],
      [20, "SIGKILL", 5000],
    ]);
  });
});

it("signals that a terminal sends reach the group of a command, and all others the command alone", async () => {
  const guard = { watch: () => undefined } as never;
  const child = await Child.start(["sleep", "0.1"], { environment: {}, mark: ["A_MARK", "1"], guard });
  run(child.pid);
  const signals = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"] as const;
  for (const signal of signals) child.signal(signal);
  const places = [-1, -1, -1, 1, 1, 1].map((sign) => sign * child.pid);
  expect(world.signals).toEqual(signals.map((signal, i) => [places[i], signal, 0]));
  await child.exit;
  // Another process may have its number by now.
  child.signal("SIGTERM");
  expect(world.signals).toHaveLength(signals.length);
});

it.each([
  [{ code: 0, signal: null }, 0, "ended with exit code 0"],
  [{ code: 7, signal: null }, 7, "ended with exit code 7"],
  [{ code: null, signal: "SIGSEGV" }, 139, "was killed (SIGSEGV)"],
  [{ code: null, signal: "SIGINT" }, 130, "was killed (SIGINT)"],
] as const)("the exit %o is code %i in a shell, and described as: %s", (exit, code, text) => {
  expect([shellExitCode(exit), describeExit(exit)]).toEqual([code, text]);
});

it.each([
  ["#!/nowhere/python\n", 0o755, /train cannot be run: its first line names a program that does not/, null],
  ["#!HERE/python\n", 0o755, /train is not executable/, /^Its first line names a program that is not/],
  [
    "exit 0\n",
    0o644,
    /train is not executable/,
    /^Make it executable, or name its interpreter: python .*train,/,
  ],
] as const)("a file that begins with %j and cannot be run is refused with the reason", async (...args) => {
  const [text, mode, message, hint] = args;
  const folder = mkdtempSync(join(tmpdir(), "pinbench-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "train");
  writeFileSync(join(folder, "python"), "");
  writeFileSync(path, text.replace("HERE", folder));
  chmodSync(path, mode);
  const guard = { watch: () => undefined } as never;
  const starting = Child.start([path], { environment: {}, mark: ["A_MARK", "1"], guard });
  await expect(starting).rejects.toMatchObject({
    ...{ kind: "usage", message: expect.stringMatching(message) },
    hint: hint === null ? null : expect.stringMatching(hint),
  });
});
