import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DeviceSharing } from "../../src/host/device-sharing.js";
import { takeTurn } from "../../src/host/device-tickets.js";
import { readProcessStat } from "../../src/host/processes.js";
import { announced, deviceOf, keysOfThread, parent, sharingOf } from "../helpers/played-device.js";

/** Tests that measure at the same time take the machine's one turn to begin. */
const apartFromTheTurn = (texts: readonly string[]) =>
  texts.filter((text) => !text.endsWith(": another pinbench is about to begin."));

describe("waiting for a device", () => {
  it("ends when no other program uses the device", async () => {
    const said: string[] = [];
    const sharing = sharingOf([[parent], [parent], []]);
    const signal = new AbortController().signal;
    expect(await sharing.beginInTurn({ signal, mostNs: null, onWait: (text) => said.push(text) })).toBe(true);
    const tickets = readFileSync("/proc/net/unix", "utf8").matchAll(/@pinbench.1.([^/]+).([a-z]+).(\d+)-/g);
    const own = [...tickets].filter(([, key]) => key!.startsWith(keysOfThread));
    expect(own.map(([, , state]) => state)).toEqual(["measuring"]);
    await sharing.release();
    expect(apartFromTheTurn(said)).toEqual([
      expect.stringMatching(/^waiting for device 3: .+ has it open\.$/),
    ]);
    expect(sharing.records[0]!.others).toEqual([]);
  });

  it.each([
    ["whose process does not exist", { pid: 2 ** 22 + 1, sinceMs: Date.now() }],
    ["whose process began later", { pid: process.ppid, sinceMs: 1 }],
    ["of another namespace", { pid: process.ppid, sinceMs: Date.now(), namespace: "1" }],
  ])("ignores a false announcement: one %s", async (_, ticket) => {
    const device = deviceOf(3, [[]]);
    await announced(device, { ...ticket, state: "measuring" });
    await announced(device, { ...ticket, sinceMs: Math.max(1, ticket.sinceMs - 1) });
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
    const onWait = vi.fn();
    const { signal } = new AbortController();
    expect(await sharing.beginInTurn({ signal, mostNs: null, onWait })).toBe(true);
    await sharing.release();
    expect(onWait).not.toHaveBeenCalled();
    expect(sharing.records).toMatchObject([{ others: [] }]);
  });

  it.each([
    ["after 10 s", 5000, [], 3],
    ["only once 10 s are over", 4999, [], 4],
    ["after 10 s, counted again when another program has come", 5000, [[], [], [parent]], 6],
  ])("ends although another process holds the turn to begin: %s", async (_, stepMs, lists, looks) => {
    let turn = await takeTurn();
    while (turn === null) turn = await takeTurn();
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    onTestFinished(async () => {
      vi.restoreAllMocks();
      await turn.release();
    });
    const device = deviceOf(3, [...lists, []]);
    const { readProcesses } = device.nvml!;
    const looked = vi.spyOn(device.nvml!, "readProcesses").mockImplementation(() => {
      nowMs += stepMs;
      return readProcesses();
    });
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
    const { signal } = new AbortController();
    expect(await sharing.beginInTurn({ signal, mostNs: null, onWait: () => undefined })).toBe(true);
    await sharing.release();
    // Once more before it announces itself, and once after.
    expect(looked).toHaveBeenCalledTimes(looks + 2);
  });

  it("lasts longer for the higher process id if two begin to wait in the same millisecond", async () => {
    const nowMs = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(nowMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const child = spawn("sleep", ["1000"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    for (const pid of [process.ppid, child.pid!]) {
      const device = deviceOf(3, [[]]);
      const other = await announced(device, { pid, sinceMs: nowMs });
      const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
      const said: string[] = [];
      const onWait = (text: string) => {
        said.push(text);
        other.close();
      };
      const { signal } = new AbortController();
      expect(await sharing.beginInTurn({ signal, mostNs: null, onWait })).toBe(true);
      await sharing.release();
      expect(apartFromTheTurn(said)).toHaveLength(pid < process.pid ? 1 : 0);
    }
  });

  it("says whether another pinbench measures or waits, and how to continue a stopped one", async () => {
    const child = spawn("sleep", ["1000"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    child.kill("SIGSTOP");
    await vi.waitFor(() => expect(readProcessStat(child.pid!)?.isStopped).toBe(true));
    const device = deviceOf(3, [[]]);
    await announced(device, { pid: process.ppid, sinceMs: Date.now() - 1 });
    await announced(device, { pid: child.pid!, sinceMs: Date.now() + 1e6, state: "measuring" });
    await announced(device, { pid: 1, sinceMs: Date.now() + 1e6 });
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
    const signal = new AbortController().signal;
    const waiting = sharing.beginInTurn({ signal, mostNs: 1, onWait: () => undefined });
    const message = await waiting.catch((error: Error) => error.message);
    const told = String(message)
      .replace(/^.*?: /, "")
      .split("; ")
      .sort();
    expect(told).toHaveLength(2);
    expect(told.join("; ")).toMatch(/waits for it as well/);
    expect(told.join("; ")).toContain(`, which is stopped (kill -CONT ${child.pid}), measures on it`);
  });

  it("gives up for all devices, names three programs that use them and counts the others", async () => {
    const users = [1, 2, 3, 4, 5].map((MiB) => ({ ...parent, deviceMemoryBytes: MiB * 1024 ** 2 }));
    const devices = [deviceOf(1, [users.slice(0, 2)]), deviceOf(3, [users.slice(2)])];
    const sharing = new DeviceSharing(devices, { command: "test", ownerPid: null });
    const signal = new AbortController().signal;
    await expect(sharing.beginInTurn({ signal, mostNs: 1, onWait: () => undefined })).rejects.toMatchObject({
      kind: "measurement",
      message: expect.stringMatching(
        /^Devices 1, 3 did not become free within 1 ns:.+, 1 MiB.+ has it open;.+, 2 MiB.+;.+, 3 MiB[^;]+; and 2 more\.$/,
      ),
    });
  });

  it("ends when its signal aborts, and withdraws its announcement", async () => {
    const controller = new AbortController();
    const device = deviceOf(3, [[parent]]);
    const isAnnounced = () => readFileSync("/proc/net/unix", "utf8").includes(`/${device.key}/`);
    const wasAnnounced: boolean[] = [];
    const waiting = new DeviceSharing([device], { command: "test", ownerPid: null }).beginInTurn({
      signal: controller.signal,
      mostNs: null,
      onWait: () => {
        wasAnnounced.push(isAnnounced());
        controller.abort();
      },
    });
    expect(await waiting).toBe(false);
    expect(wasAnnounced).toEqual([true]);
    expect(isAnnounced()).toBe(false);
  });

  it("withdraws its announcement when it gives up", async () => {
    const device = deviceOf(3, [[parent]]);
    const isAnnounced = () => readFileSync("/proc/net/unix", "utf8").includes(`/${device.key}/`);
    const readProcesses = vi.spyOn(device.nvml!, "readProcesses");
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
    const signal = new AbortController().signal;
    const onWait = () => expect(isAnnounced()).toBe(true);
    const mostNs = 1e6;
    await expect(sharing.beginInTurn({ signal, mostNs, onWait })).rejects.toThrow(
      "did not become free within 1 ms",
    );
    expect(isAnnounced()).toBe(false);
    // A millisecond is over at the second look.
    expect(readProcesses.mock.calls.length).toBeLessThan(4);
  });
});
