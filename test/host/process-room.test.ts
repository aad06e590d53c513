import { describe, expect, it } from "vitest";
import { hasRoomForProcesses, readProcessStat } from "../../src/host/processes.js";
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
  it("is what the limit leaves of the user's own threads: 28 of 40, and Node takes 12", () => {
    expect(hasRoomForProcesses(2, machineWith())).toBe(true);
    expect(hasRoomForProcesses(3, machineWith())).toBe(false);
    expect(hasRoomForProcesses(1, machineWith({ limit: "24" }))).toBe(true);
    expect(hasRoomForProcesses(1, machineWith({ limit: "23" }))).toBe(false);
  });

  it("is no question without a limit, for root and for who may exceed it", () => {
    expect(hasRoomForProcesses(100, machineWith({ limit: "unlimited" }))).toBe(true);
    expect(hasRoomForProcesses(100, machineWith({ user: 0 }))).toBe(true);
    for (const capabilities of ["0000000001000000", "0000000000200000"]) {
      expect(hasRoomForProcesses(100, machineWith({ capabilities }))).toBe(true);
    }
    expect(hasRoomForProcesses(100, machineWith({ capabilities: "0000000000400000" }))).toBe(false);
  });

  it("is no question if /proc does not tell", () => {
    expect(hasRoomForProcesses(100, fixtureRoot({}))).toBe(true);
  });
});

describe("the kernel's facts on a process", () => {
  const statOf = (state: string) => {
    const counted = Array.from({ length: 49 }, (_, i) => i + 4).join(" ");
    return readProcessStat(7, fixtureRoot({ "proc/7/stat": `7 (a (name) S 1) ${state} ${counted}` }));
  };

  it("are by their place after the name, which may hold anything", () => {
    expect(statOf("S")).toEqual({
      ...{ hasEnded: false, isStopped: false, parent: 4, group: 5, started: "22" },
      // 14 ticks of the program and 15 of the kernel for it, of 10 ms.
      cpuNs: 290e6,
    });
    expect(readProcessStat(8, fixtureRoot({ "proc/8/stat": "8 (a name) S 1" }))).toBeNull();
  });

  it("tell one that has ended or is stopped", () => {
    const seen = ["R", "D", "Z", "X", "T", "t"].map(statOf);
    expect(seen.map((stat) => stat!.hasEnded)).toEqual([false, false, true, true, false, false]);
    expect(seen.map((stat) => stat!.isStopped)).toEqual([false, false, false, false, true, true]);
  });
});
