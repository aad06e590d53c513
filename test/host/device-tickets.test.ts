import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { Server } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { DeviceSharing } from "../../src/host/device-sharing.js";
import { type HeldName, listTickets, putUpTicket, takeTurn } from "../../src/host/device-tickets.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const held: HeldName[] = [];
afterEach(async () => {
  for (const name of held.splice(0)) await name.release();
});

/** A line of /proc/net/unix, whose columns but for the last do not matter. */
const line = (name: string) => `0000000080574: 00000002 00000000 00010000 0001 01 4432331 ${name}`;

const bootSeconds = 1_763_800_000;
const bootMs = 1000 * bootSeconds;

/** /proc/PID/stat of a process that began `startTicks` hundredths of a second after the boot. */
const statOf = (pid: number, startTicks: number, state = "S") =>
  [pid, "(no de) )", state, 1, pid, ...Array(16).fill(0), startTicks, 0].join(" ");

/** What a process of namespace 4026531836 finds, in which 4711 began 5 s after the boot, 4712 7 s, and 4713 has ended. */
function ticketsIn(...names: string[]) {
  const root = fixtureRoot({
    "proc/net/unix": ["Num RefCount Protocol", ...names.map(line)].join("\n"),
    "proc/stat": `cpu 1 2 3\nbtime ${bootSeconds}`,
    "proc/4711/stat": statOf(4711, 500),
    "proc/4712/stat": statOf(4712, 700, "T"),
    "proc/4713/stat": statOf(4713, 500, "Z"),
    [`proc/${process.pid}/stat`]: statOf(process.pid, 500),
  });
  mkdirSync(join(root, "proc/self/ns"), { recursive: true });
  symlinkSync("pid:[4026531836]", join(root, "proc/self/ns/pid"));
  return listTickets(root);
}

const laterMs = bootMs + 60_000;
const nameOf = (pid: number, sinceMs = laterMs, namespace = 4026531836) =>
  `@pinbench/1/GPU-6f1c/measuring/${pid}-1/${namespace}/${sinceMs}/run`;

describe("the tickets by which pinbench processes announce themselves", () => {
  it("are read from the kernel's list of bound socket names, without trailing zero bytes", () => {
    const names = [
      `@pinbench/1/GPU-6f1c/measuring/4711-1/4026531836/${laterMs}/run@@@@@`,
      `@pinbench/1/GPU-6f1d/waiting/4712-2/4026531836/${laterMs + 1}/check`,
    ];
    expect(ticketsIn(...names)).toEqual([
      {
        ...{ device: "GPU-6f1c", isWaiting: false, command: "run" },
        ...{ sinceMs: laterMs, pid: 4711, place: [laterMs, 4711] },
      },
      {
        ...{ device: "GPU-6f1d", isWaiting: true, command: "check" },
        ...{ sinceMs: laterMs + 1, pid: 4712, place: [laterMs + 1, 4712] },
      },
    ]);
  });

  it.each([
    ["of a running process counts", nameOf(4711), 1],
    ["of a process that does not exist is ignored", nameOf(4714), 0],
    ["of a process that has ended is ignored", nameOf(4713), 0],
    ["of this process itself is ignored", nameOf(process.pid), 0],
    ["of another namespace, whose ids differ, is ignored", nameOf(4711, laterMs, 4026531837), 0],
    // The kernel rounds the time of its boot, so up to 2 s are no proof.
    ["of a process that began 2 s after it counts", nameOf(4711, bootMs + 3000), 1],
    ["of a process that began more than 2 s after it is ignored", nameOf(4711, bootMs + 2999), 0],
    ["of a process that began much later is ignored", nameOf(4712, 1), 0],
  ])("count only if genuine: a ticket %s", (_, name, count) => {
    expect(ticketsIn(name)).toHaveLength(count);
  });

  it("do not count if the kernel does not report when it booted", () => {
    const files = { "proc/net/unix": line(nameOf(4711)), "proc/4711/stat": statOf(4711, 500) };
    const root = fixtureRoot({ ...files, "proc/self/ns/none": "" });
    symlinkSync("pid:[4026531836]", join(root, "proc/self/ns/pid"));
    expect(listTickets(root)).toEqual([]);
  });

  it.each([
    "/run/user/0/bus",
    "@pinbench/1/turn",
    `@pinbench/1/GPU-1/measuring/4711-1/4026531836/${laterMs}/run/more`,
    `@pinbench/1/GPU-1/measuring/-4711-1/4026531836/${laterMs}/run`,
    `@pinbench/1/GPU-1/resting/4711-1/4026531836/${laterMs}/run`,
    `@pinbench/1/GPU-1/measuring/4711-1/4026531836/${laterMs}/\u001b[2J`,
    "@pinbench/1/GPU-1/measuring/4711-1/4026531836/99999999999999999999/run",
    `@pinbench/1/GPU 1/measuring/4711-1/4026531836/${laterMs}/run`,
    `@pinbench/1/GPU-1/measuring/4711-1/unknown/${laterMs}/run`,
  ])("exclude sockets with other names: %j", (name) => {
    expect(ticketsIn(name)).toEqual([]);
  });

  it("are not known without /proc", () => {
    expect(listTickets(fixtureRoot())).toBeNull();
  });

  it("exclude those of this process, which may have several for a device", async () => {
    const ticket = { device: "a-device", isWaiting: false, command: "run", sinceMs: 1 };
    held.push(await putUpTicket(ticket), await putUpTicket(ticket));
    expect(listTickets()!.filter(({ device }) => device === "a-device")).toEqual([]);
  });

  it("fit into a socket's name with the longest id, device and command; longer ones are refused", async () => {
    const device = "GPU-00000000-0000-0000-0000-000000000000";
    const pid = vi.spyOn(process, "pid", "get").mockReturnValue(4194304);
    onTestFinished(() => pid.mockRestore());
    const ticket = { device, isWaiting: false, command: "baseline", sinceMs: 1763812345678 };
    // More than a digit can count.
    for (let i = 0; i < 12; ++i) held.push(await putUpTicket({ ...ticket, sinceMs: ticket.sinceMs + i }));
    pid.mockRestore();
    const names = readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .filter((one) => one.includes(device));
    expect(names).toHaveLength(12);
    for (const name of names) expect(name).toMatch(/\/measuring\/4194304-\d\/\d+\/\d{13}\/baseline@*$/);
    await expect(putUpTicket({ ...ticket, device: device.repeat(2) })).rejects.toThrow(/too long/);
  });

  it("include a turn to begin measuring, which one process has at a time", async () => {
    // Another test's processes may have it for a moment.
    let turn = await takeTurn();
    while (turn === null) turn = await takeTurn();
    held.push(turn);
    expect(await takeTurn()).toBeNull();
    // Whatever version of Node binds it, this is all of a socket's name.
    expect(readFileSync("/proc/net/unix", "utf8")).toMatch(/ @pinbench\/1\/turn@{92}$/m);
    const readProcesses = vi.fn(async () => []);
    const nvml = { readProcesses, readActivity: async () => null };
    const device = { ordinal: 0, key: "a-device-in-turn", nvml };
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
    const { signal } = new AbortController();
    const order: string[] = [];
    const begun = sharing.beginInTurn({ signal, mostNs: null, onWait: (text) => order.push(text) });
    const noted = begun.then(() => order.push("begun"));
    await vi.waitFor(() => expect(readProcesses.mock.calls.length).toBeGreaterThan(1), { timeout: 20_000 });
    order.push("released");
    await turn.release();
    held.splice(0);
    await noted;
    await sharing.release();
    expect(order).toEqual([expect.stringMatching(/another pinbench is about to begin/), "released", "begun"]);
  });

  it("include no turn if the system has no abstract sockets", async () => {
    const listen = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server) {
      this.emit("error", Object.assign(new Error("no sockets"), { code: "EPERM" }));
      return this;
    });
    onTestFinished(() => listen.mockRestore());
    await expect(takeTurn()).rejects.toThrow("no sockets");
  });
});
