import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { DeviceSharing } from "../../src/host/device-sharing.js";
import { describeSharing, describeUnseen, joinSharing, mostOthers } from "../../src/host/other-programs.js";
import {
  announced,
  deviceOf,
  foreign,
  type Processes,
  parent,
  self,
  sharingOf,
} from "../helpers/played-device.js";

async function recordOf(sharing: DeviceSharing, ownPids: number[] = []) {
  await sharing.begin();
  await sharing.look([3], ownPids, true);
  await sharing.release();
  return sharing.records[0]!;
}

describe("programs that use a device during a run", () => {
  it("exclude this process and its worker processes", async () => {
    const record = await recordOf(sharingOf([[], [self, foreign]]), [foreign.pid]);
    expect(record).toEqual({ device: 3, others: [], activityBefore: null, unseen: [] });
    expect(describeSharing(record)).toEqual([]);
  });

  it("include programs from before the run, by id, name and memory", async () => {
    const record = await recordOf(sharingOf([[parent], [self, parent]]));
    expect(record.others).toMatchObject([
      { kind: "program", pid: process.ppid, deviceMemoryBytes: 512 * 1024 ** 2, wasThereBefore: true },
    ]);
    expect(describeSharing(record)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^device 3 was not measured alone: .+ \\(pid ${process.ppid}, 512 MiB of the device's memory\\) used it as well$`,
        ),
      ),
    ]);
  });

  it("include programs that start during the run", async () => {
    const record = await recordOf(sharingOf([[], [self, parent]]));
    expect(record.others).toMatchObject([{ pid: process.ppid, wasThereBefore: false }]);
    expect(describeSharing(record)).toEqual([expect.stringMatching(/ started during the run$/)]);
  });

  it("have no name if their ids belong to another namespace", async () => {
    const record = await recordOf(sharingOf([[foreign], [self, foreign]]));
    expect(record.others).toMatchObject([{ pid: null, name: null }]);
    expect(describeSharing(record)).toEqual([
      "device 3 was not measured alone: a program (in another container) used it as well",
    ]);
  });

  it("lose their names if NVML's process ids turn out to be from another namespace", async () => {
    const record = await recordOf(sharingOf([[parent], [parent, foreign]]));
    expect(record).toMatchObject({ others: [{ pid: null, name: null }], unseen: ["programs"] });
  });

  it("keep their names if only a later list of NVML lacks pinbench itself", async () => {
    const sharing = sharingOf([[parent], [self, parent], [parent]]);
    await sharing.begin();
    for (let look = 0; look < 2; ++look) await sharing.look([3], [], true);
    await sharing.release();
    expect(sharing.records[0]).toMatchObject({ others: [{ pid: process.ppid }], unseen: [] });
  });

  it.each([
    ["NVML does not list processes", [null]],
    ["NVML's list lacks pinbench itself, which has a context", [[], []]],
    ["NVML lists pinbench itself by an id of another namespace", [[], [foreign]]],
  ])("are not known if %s", async (_, lists) => {
    const record = await recordOf(sharingOf(lists as Processes[]));
    expect(record).toMatchObject({ others: [], unseen: ["programs"] });
    expect(describeSharing(record)).toEqual([]);
    expect(describeUnseen(record)).toEqual([
      "device 3 may have been used by other programs: NVML does not list them here",
    ]);
  });

  it("are looked for only on the devices that pinbench has opened", async () => {
    const devices = [deviceOf(0, [[], [self]]), deviceOf(1, [[parent], [parent]])];
    const sharing = new DeviceSharing(devices, { command: "test", ownerPid: null });
    await sharing.begin();
    await sharing.look([0], [], true);
    await sharing.release();
    expect(sharing.records).toMatchObject([
      { device: 0, others: [], unseen: [] },
      { device: 1, others: [{ pid: process.ppid, wasThereBefore: true }], unseen: [] },
    ]);
  });

  it("are looked for at most once a second, and once more at the end", async () => {
    const sharing = sharingOf([[], [self], [self, parent]]);
    await sharing.begin();
    await sharing.look([3], []);
    await sharing.look([3], []);
    expect(sharing.records[0]!.others).toEqual([]);
    await sharing.look([3], [], true);
    await sharing.release();
    expect(sharing.records[0]!.others).toMatchObject([{ pid: process.ppid, wasThereBefore: false }]);
  });

  it("are not reported as pinbench for announcing that they wait, which any program can forge", async () => {
    const device = deviceOf(3, [[parent], [self, parent]]);
    await announced(device, { pid: process.ppid, sinceMs: Date.now() });
    const record = await recordOf(new DeviceSharing([device], { command: "test", ownerPid: null }));
    expect(record.others).toMatchObject([{ kind: "program", pid: process.ppid }]);
  });

  it("exclude the processes that the owner of the measurement has started", async () => {
    // By a process in between, as those of workers are.
    const between = spawn("sh", ["-c", "sleep 1000 & echo $!; wait"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(between.stdout, "data");
    const child = { pid: Number(text) };
    onTestFinished(() => void [child, between].map(({ pid }) => process.kill(pid!, "SIGKILL")));
    const lists = () => [[], [self, { pid: child.pid, deviceMemoryBytes: null }]];
    const of = (ownerPid: number | null) =>
      recordOf(new DeviceSharing([deviceOf(3, lists())], { command: "test", ownerPid }));
    expect((await of(process.pid)).others).toEqual([]);
    expect((await of(null)).others).toMatchObject([{ pid: child.pid }]);
  });

  it("include other pinbench processes that measure on the device, with the time when they began", async () => {
    const devices = [deviceOf(3, [[], [self]]), deviceOf(4, [[], [self]])];
    const sharing = new DeviceSharing(devices, { command: "test", ownerPid: null });
    const nowMs = Date.now();
    const [early, late] = [
      { pid: process.ppid, sinceMs: nowMs, state: "measuring" },
      // A time in the future is invalid.
      { pid: 1, sinceMs: 9e14, state: "measuring" },
    ] as const;
    await announced(devices[0]!, early);
    await announced(devices[1]!, { ...early, state: "waiting" });
    // Forged announcements.
    await announced(devices[1]!, { ...early, namespace: "1" });
    await announced(devices[1]!, { ...early, pid: foreign.pid });
    await announced(devices[1]!, { ...early, sinceMs: 1 });
    await sharing.begin();
    const [before] = sharing.records;
    await announced(devices[0]!, late);
    await sharing.look([3], [], true);
    await sharing.release();
    const other = { kind: "pinbench", name: "run", pid: process.ppid, since: new Date(nowMs).toISOString() };
    expect(before!.others).toMatchObject([{ ...other, wasThereBefore: true }]);
    expect(sharing.records).toMatchObject([
      { others: [other, { pid: 1, since: null, wasThereBefore: false }], unseen: [] },
      { others: [], unseen: [] },
    ]);
  });

  it("exclude the owner of the measurement, which has announced itself", async () => {
    const device = deviceOf(3, [[], [self]]);
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: process.ppid });
    await announced(device, { pid: process.ppid, sinceMs: Date.now(), state: "measuring" });
    await sharing.begin();
    expect(readFileSync("/proc/net/unix", "utf8")).not.toContain(`/${device.key}/measuring/${process.pid}-`);
    expect(sharing.records).toMatchObject([{ others: [], unseen: [] }]);
  });

  it("omit other pinbench processes if this one cannot announce itself, and it does not wait", async () => {
    // Too long for a name.
    const device = { ...deviceOf(3, [[], [self]]), key: "x".repeat(200) };
    const sharing = new DeviceSharing([device], { command: "test", ownerPid: null });
    const said: string[] = [];
    const { signal } = new AbortController();
    expect(await sharing.beginInTurn({ signal, mostNs: null, onWait: (text) => said.push(text) })).toBe(true);
    expect(said).toEqual([expect.stringMatching(/^this system hides other programs from pinbench/)]);
    expect(sharing.records).toMatchObject([{ others: [], unseen: ["pinbench"] }]);
  });

  it("are limited in number", async () => {
    const many = Array.from({ length: 1000 }, (_, i) => ({ pid: i + 2, deviceMemoryBytes: null }));
    const others = many.filter(({ pid }) => pid !== process.pid);
    expect((await recordOf(sharingOf([others]))).others.length).toBeLessThanOrEqual(mostOthers);
  });

  it("are reported with the device's activity before the run, unless it was idle", async () => {
    const busy = await recordOf(sharingOf([[], [self]], { computePercent: 63, fromDevice: 12.34e9 }));
    expect(describeSharing(busy)).toEqual([
      "device 3 was busy before it was measured: kernels ran for 63 % of the time, 12.4 GB/s came from it over the link",
    ]);
    const little = { computePercent: 2, toDevice: 0.02e9, fromDevice: 0.01e9 };
    const idle = await recordOf(sharingOf([[], [self]], little));
    expect(idle.activityBefore).toEqual({ computeShare: 0.02, toDeviceGBps: 0.02, fromDeviceGBps: 0.01 });
    // What is over soon, such as the copies of a run before, is not another program's.
    const percents = [63, 2];
    const device = deviceOf(3, [[], [self]]);
    const readActivity = async () => ({
      ...{ computePercent: percents.shift() ?? 100, toDeviceBytesPerSecond: 0, fromDeviceBytesPerSecond: 0 },
    });
    const ending = { ...device, nvml: { ...device.nvml!, readActivity } };
    const record = await recordOf(new DeviceSharing([ending], { command: "test", ownerPid: null }));
    expect(record.activityBefore?.computeShare).toBe(0.02);
    expect(describeSharing(idle)).toEqual([]);
    const activityBefore = { computeShare: null, toDeviceGBps: null, fromDeviceGBps: 5 };
    expect(describeSharing({ ...busy, activityBefore })).toEqual([
      "device 3 was busy before it was measured: 5.0 GB/s came from it over the link",
    ]);
  });
});

describe("several runs of a device", () => {
  it("have one record, which lists each program found in any of them once", async () => {
    const [first, second] = [
      await recordOf(sharingOf([[parent], [self]], { computePercent: 30 })),
      await recordOf(sharingOf([[parent, foreign], [self]])),
    ];
    const [joined, ...more] = joinSharing([[first!], [second!]]);
    expect(more).toEqual([]);
    expect(joined!.others.map(({ pid }) => pid)).toEqual([process.ppid, null]);
    expect(joined!.activityBefore?.computeShare).toBe(0.3);
  });

  it("list a pinbench of another container anew if it began at another time", () => {
    const run = (since: string) => {
      const other = { kind: "pinbench", pid: null, name: "run", since } as const;
      const others = [{ ...other, deviceMemoryBytes: null, wasThereBefore: true }];
      return [{ device: 3, others, activityBefore: null, unseen: [] }];
    };
    const times = ["2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z", "2026-11-20T10:00:00Z"];
    const [joined] = joinSharing(times.map(run));
    expect(joined!.others.map(({ since }) => since)).toEqual(times.slice(0, 2));
    // A result with more could not be read.
    const many = Array.from({ length: mostOthers + 1 }, (_, i) => run(new Date(i).toISOString()));
    expect(joinSharing(many)[0]!.others).toHaveLength(mostOthers);
  });

  it("report the highest activity before any run, and all that any run could not see", () => {
    const run = (share: number, to: number, from: number | null, unseen: ("pinbench" | "programs")[]) => ({
      ...{ device: 3, others: [], unseen },
      activityBefore: { computeShare: share, toDeviceGBps: to, fromDeviceGBps: from },
    });
    const runs = [[run(0.3, 1, null, ["programs"])], [run(0.1, 2, 4, ["pinbench", "programs"])]];
    expect(joinSharing(runs)).toEqual([run(0.3, 2, 4, ["programs", "pinbench"])]);
  });
});
