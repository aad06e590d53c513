import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DeviceRun } from "../../src/measure/device-run.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { devices, runOn } from "./run-on.js";
import { FakeSession, nativeError, withStoppedClock } from "./support.js";

withStoppedClock();

describe("a run that copies between devices", () => {
  const between = { memory: null, directions: ["p2p"] } as const;
  const stagesOf = ({ cells }: ResultDocument) =>
    cells.map(({ device, path, outcome }) => `${device} ${path} ${outcome}`);

  it("lets the reading device drive reads, and the writing device all other paths", async () => {
    const sessions = devices.map(() => new FakeSession());
    await runOn((device) => sessions[device]!, { selected: [0, 2], plan: between });
    const driven = sessions.map(({ requests }) =>
      requests.flatMap(({ peer }) =>
        peer === undefined ? [] : [`${peer.path} ${sessions.indexOf(peer.session as FakeSession)}`],
      ),
    );
    const all = (other: number) =>
      ["kernel-read", "kernel-write", "read", "through-host", "write"].map((path) => `${path} ${other}`);
    expect(driven.map((one) => [...new Set(one)].sort())).toEqual([all(2), [], all(0)]);
  });

  it("skips only the kernel copies of a device without kernels", async () => {
    const document = await runOn(
      (device) => {
        const session = new FakeSession();
        if (device === 2) Object.assign(session.opening, { kernelsOff: "no kernels" });
        return session;
      },
      { selected: [0, 2], plan: between },
    );
    expect(stagesOf(document).filter((text) => text.includes("skipped"))).toEqual([
      "0 kernel-read skipped",
      "2 kernel-write skipped",
    ]);
  });

  it("reserves memory on a device that is only the peer of copies", async () => {
    const all = await runOn(() => new FakeSession(), { selected: [0, 2], plan: between });
    const cells = all.cells
      .filter(({ device, path }) => device === 0 && path === "write")
      .map(({ id }) => id);
    const sessions = devices.map(() => new FakeSession());
    const reserved = sessions.map((session) => vi.spyOn(session, "reserveDevice"));
    await runOn((device) => sessions[device]!, { selected: [0, 2], plan: { cells } });
    expect(reserved.map((spy) => spy.mock.calls.length)).toEqual([1, 0, 1]);
  });

  it("fails all copies between two devices if one lacks memory, whichever drives the copy", async () => {
    const document = await runOn(
      (device) => {
        const session = new FakeSession();
        if (device === 2) vi.spyOn(session, "reserveDevice").mockRejectedValue(nativeError("NO_MEMORY"));
        return session;
      },
      { selected: [0, 2], plan: between },
    );
    expect(document.cells).toHaveLength(10);
    for (const cell of document.cells) expect(cell, cell.id).toMatchObject({ error: { code: "NO_MEMORY" } });
  });

  it("looks for other programs on all open devices, and once more at the end", async () => {
    const { open } = DeviceRun.prototype;
    const opened = vi.spyOn(DeviceRun.prototype, "open");
    opened.mockImplementation(async function* (this: DeviceRun, options) {
      yield* open.call(this, options);
      this.workers = { pids: [100 + this.device.ordinal], close: async () => undefined } as never;
    });
    onTestFinished(() => opened.mockRestore());
    const looks: unknown[] = [];
    const look = async (...given: unknown[]) => void looks.push(given);
    const sharing = { look, records: [] };
    await runOn(() => new FakeSession(), { selected: [0, 2], plan: between, sharing });
    const both = [
      [0, 2],
      [100, 102],
    ];
    expect(looks).toEqual([...Array(6).fill(both), [...both, true]]);
    looks.length = 0;
    await runOn(() => new FakeSession(), { selected: [1, 2], sharing });
    expect(looks.slice(6)).toEqual([[[1], [101], true], ...Array(6).fill([[2], [102]]), [[2], [102], true]]);
  });
});
