import { describe, expect, it } from "vitest";
import { hasRoomForProcesses } from "../../src/host/processes.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

/** A machine on which user 1000 has two processes, of 11 threads and of 1, and another user has many threads. */
function machineWith({ limit = "40", capabilities = "0000000000000000", user = 1000 } = {}): string {
  const status = (uid: number, threads: number) =>
    `Name:\tnode\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\nThreads:\t${threads}\nCapEff:\t${capabilities}\n`;
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
    expect(hasRoomForProcesses(100, machineWith({ capabilities: "0000000001000000" }))).toBe(true);
  });

  it("is no question if /proc does not tell", () => {
    expect(hasRoomForProcesses(100, fixtureRoot({}))).toBe(true);
  });
});
