import { readFileSync } from "node:fs";
import { Server } from "node:net";
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

const ticketsIn = (...names: string[]) =>
  listTickets(fixtureRoot({ "proc/net/unix": ["Num RefCount Protocol", ...names.map(line)].join("\n") }));

describe("the tickets of a device", () => {
  it("are what the kernel lists of bound names, with the bytes that are 0 at their end", () => {
    const names = [
      "@pinbench/1/GPU-6f1c/measuring/4711-1/4026531836/1763812345678/run@@@@@",
      "@pinbench/1/GPU-6f1c/waiting/4712-2/4026531836/1763812345679/check",
    ];
    // Those of this fixture have no namespace of processes in common with anybody.
    expect(ticketsIn(...names)).toEqual([
      {
        device: "GPU-6f1c",
        isWaiting: false,
        command: "run",
        sinceMs: 1763812345678,
        pid: null,
        place: [1763812345678, 4711],
      },
      {
        device: "GPU-6f1c",
        isWaiting: true,
        command: "check",
        sinceMs: 1763812345679,
        pid: null,
        place: [1763812345679, 4712],
      },
    ]);
  });

  it("are also those of another namespace whose process has this one's id", () => {
    const name = `@pinbench/1/GPU-6f1c/measuring/${process.pid}-1/4026531836/1763812345678/run`;
    expect(ticketsIn(name)).toMatchObject([{ pid: null, place: [1763812345678, process.pid] }]);
  });

  it.each([
    "/run/user/0/bus",
    "@pinbench/1/turn",
    "@pinbench/1/GPU-1/measuring/1-1/2/3/run/more",
    "@pinbench/1/GPU-1/measuring/-1-1/2/3/run",
    "@pinbench/1/GPU-1/resting/1-1/2/3/run",
    "@pinbench/1/GPU-1/measuring/1-1/2/3/\u001b[2J",
    "@pinbench/1/GPU-1/measuring/1-1/2/99999999999999999999/run",
    "@pinbench/1/GPU 1/measuring/1-1/2/3/run",
    "@pinbench/1/GPU-1/measuring/1-1/unknown/3/run",
  ])("are no others that any program may have bound: %j", (name) => {
    expect(ticketsIn(name)).toEqual([]);
  });

  it("are not known without /proc", () => {
    expect(listTickets(fixtureRoot())).toBeNull();
  });

  it("are not this process' own, of which it may put up several for a device", async () => {
    const ticket = { device: "a-device", isWaiting: false, command: "run", sinceMs: 1 };
    held.push(await putUpTicket(ticket), await putUpTicket(ticket));
    expect(listTickets()!.filter(({ device }) => device === "a-device")).toEqual([]);
  });

  it("fit whole, with the longest of process ids, devices and commands; a longer name is refused", async () => {
    const device = "GPU-00000000-0000-0000-0000-000000000000";
    const pid = vi.spyOn(process, "pid", "get").mockReturnValue(4194304);
    onTestFinished(() => pid.mockRestore());
    const ticket = { device, isWaiting: false, command: "baseline", sinceMs: 1763812345678 };
    // More than a digit can count.
    for (let i = 0; i < 12; ++i) held.push(await putUpTicket({ ...ticket, sinceMs: ticket.sinceMs + i }));
    pid.mockRestore();
    const seen = listTickets()!.filter((one) => one.device === device);
    expect(seen).toHaveLength(12);
    for (const one of seen) expect(one).toMatchObject({ command: "baseline", pid: 4194304 });
    await expect(putUpTicket({ ...ticket, device: device.repeat(2) })).rejects.toThrow(/too long/);
  });

  it("has a turn to go ahead, which one has at a time", async () => {
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

  it("is no turn of another's if the system has no such sockets", async () => {
    const listen = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server) {
      this.emit("error", Object.assign(new Error("no sockets"), { code: "EPERM" }));
      return this;
    });
    onTestFinished(() => listen.mockRestore());
    await expect(takeTurn()).rejects.toThrow("no sockets");
  });
});
