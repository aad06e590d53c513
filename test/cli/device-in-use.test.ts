import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { spelledOut } from "../../src/cli/command-flags.js";
import { beginOnDevices } from "../../src/cli/device-turn.js";
import type { DeviceSharing } from "../../src/host/device-sharing.js";
import { listTickets } from "../../src/host/device-tickets.js";
import { parseResult } from "../../src/results/parse.js";
import { baselineAt, certainly } from "../helpers/baseline-folder.js";
import { measureSmall, runCli, runSmall, small, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { oneCell, sharedDevice, startHolder, untilAnnounced } from "../helpers/shared-device.js";

describe("a device that another run uses", () => {
  it("is reported with that run, on stderr and in the result of the second run", async () => {
    const env = sharedDevice();
    const first = await startHolder(env);
    const second = await measureSmall(oneCell, env);
    expect(second.exitCode).toBe(0);
    expect(second.stderr).toContain(`device 0 is in use by pinbench run (pid ${first.child.pid}, since `);
    expect(second.document.run.sharing).toMatchObject([
      { device: 0, others: [{ kind: "pinbench", pid: first.child.pid, name: "run", wasThereBefore: true }] },
    ]);
  });

  it.each([
    ["run", small(...oneCell)],
    ["pin", ["pin", "--backend", "emulated", "--sizes", "4MiB"]],
  ])("is free again once %s only waits for the reader of its output", async (_, args) => {
    const env = sharedDevice();
    const fifo = join(temporaryFolder(), "result.json");
    expect(spawnSync("mkfifo", [fifo]).status).toBe(0);
    const first = startCli([...args, "--output", fifo], { env });
    await untilAnnounced(first, "measuring");
    while (listTickets()!.some(({ pid }) => pid === first.child.pid)) await sleep(20);
    expect(first.child.exitCode).toBeNull();
    expect(JSON.parse(await readFile(fifo, "utf8"))).toHaveProperty("schemaVersion", 1);
    expect((await first.finished).exitCode).toBe(0);
  });
});

describe("a command on several devices", () => {
  it("names the users and the earlier activity of each busy device, and no idle device", async () => {
    const program = {
      kind: "program",
      pid: 7,
      name: "python3",
      since: null,
      deviceMemoryBytes: null,
    } as const;
    const check = { ...program, kind: "pinbench", pid: null, name: "check" } as const;
    const idle = { computeShare: 0.01, toDeviceGBps: 0.05, fromDeviceGBps: null };
    const records = [
      { device: 0, others: [], activityBefore: idle, unseen: [] },
      { device: 1, others: [program, check], activityBefore: null, unseen: ["programs"] },
      { device: 3, others: [], activityBefore: { ...idle, toDeviceGBps: 12 }, unseen: [] },
    ];
    const sharing = { begin: async () => undefined, records } as unknown as DeviceSharing;
    const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const flags = { waitNs: null, quiet: false };
    const controller = new AbortController();
    expect(await beginOnDevices(sharing, flags, controller.signal)).toBe(true);
    expect(printed.mock.calls.map(([text]) => text)).toEqual([
      "pinbench: device 1 is in use by python3 (pid 7), pinbench check (in another container): " +
        "figures may be lower, and the result says so. --wait waits for it.\n",
      "pinbench: device 3 was busy before it was measured: 12.0 GB/s went to it over the link.\n",
    ]);
    printed.mockClear();
    controller.abort();
    expect(await beginOnDevices(sharing, { ...flags, quiet: true }, controller.signal)).toBe(false);
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });
});

describe("waiting for a device", () => {
  it("is announced with the device's users, and a progress line shows the time against the limit", async () => {
    const told: string[] = [];
    const printed = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      told.push(String(text));
      return true;
    });
    const { isTTY, columns } = process.stderr;
    Object.assign(process.stderr, { isTTY: true, columns: 200 });
    vi.stubEnv("TERM", "xterm");
    let asked: unknown;
    const beginInTurn = async (options: { mostNs: number | null; onWait: (text: string) => void }) => {
      asked = options.mostNs;
      options.onWait("waiting for device 0: pinbench run measures on it.");
      return true;
    };
    const sharing = { beginInTurn } as unknown as DeviceSharing;
    const flags = { waitNs: 90e9, quiet: false };
    try {
      expect(await beginOnDevices(sharing, flags, new AbortController().signal)).toBe(true);
    } finally {
      printed.mockRestore();
      vi.unstubAllEnvs();
      Object.assign(process.stderr, { isTTY, columns });
    }
    expect(asked).toBe(90e9);
    expect(told[0]).toBe("pinbench: waiting for device 0: pinbench run measures on it.\n");
    expect(told[1]).toContain("[----------] 0 s of 90 s; waiting for the device");
    expect(told).toHaveLength(3);
  });
});

describe("a check", () => {
  it("notes that another run used the device during its runs", async () => {
    const env = sharedDevice();
    const baseline = await baselineAt(certainly.faster);
    const { child } = await startHolder(env);
    const { stdout, stderr } = await runCli(["check", "--baseline", baseline, "--runs", "1", "--json"], {
      env,
    });
    expect(stderr).toContain(`device 0 is in use by pinbench run (pid ${child.pid}, `);
    expect(JSON.parse(stdout).notes).toContainEqual(
      expect.stringMatching(
        new RegExp(`^in (\\d+) of the candidate's \\1 runs? device 0 was not measured alone: .*${child.pid}`),
      ),
    );
  });
});

describe("--wait", () => {
  it.each([
    ["baseline --wait gpu1/", "baseline --wait=forever gpu1/"],
    ["run --wait 5m --quiet", "run --wait 5m --quiet"],
    ["tune --wait -- python --wait", "tune --wait=forever -- python --wait"],
  ])("takes the next word as its limit only if it is a time: %s", (line, spelled) => {
    expect(spelledOut(line.split(" ")).join(" ")).toBe(spelled);
  });

  const waiting = (env: Record<string, string>, ...args: string[]) => {
    const started = startCli(small(...oneCell, "--json", "--wait", ...args), { env });
    return started;
  };

  it("starts to measure once the other run was killed, and names the run that it waited for", async () => {
    const env = sharedDevice();
    const holder = await startHolder(env);
    const waiter = waiting(env);
    // It joins the queue before it prints this.
    await once(waiter.child.stderr!, "data");
    holder.child.kill("SIGKILL");
    const { exitCode, stdout, stderr } = await waiter.finished;
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      new RegExp(
        `^pinbench: waiting for device 0: pinbench run \\(pid ${holder.child.pid}, since .* measures on it\\.`,
      ),
    );
    expect(parseResult(stdout).run.sharing).toMatchObject([{ others: [] }]);
  });

  it("gives up after its limit, and names the program that uses the device", async () => {
    const env = sharedDevice();
    const { child } = await startHolder(env);
    const { exitCode, stdout, stderr } = await runSmall([...oneCell, "--wait", "300ms"], {
      env,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: "" });
    expect(stderr).toMatch(
      /Device 0 did not become free within 300 ms: pinbench run \(pid \d+, .* measures on it\./,
    );
    expect(stderr).toContain(String(child.pid));
  });
});
