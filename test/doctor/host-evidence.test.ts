import { describe, expect, it } from "vitest";
import { readMachineFacts } from "../../src/doctor/facts/machine-facts.js";
import { rates } from "../helpers/examination.js";
import { idleStates, machineTree } from "../helpers/machine-tree.js";
import { type MachineChange, saysOf, slow, unseen } from "./cause-case.js";

/** Findings on a host's CPUs and memory: their wording and their thresholds. */

const GiB = 2 ** 30;
const latency = (backToBackUs: number, afterRestUs: number) => ({
  measured: { latency: { backToBackUs, afterRestUs } },
});
const idle = (exitLatencyUs: number, more: object = {}) => ({
  name: "C2",
  exitLatencyUs,
  disabled: false,
  timeUs: 1,
  ...more,
});
const sleepless: MachineChange = { idleStates: [] };

describe("a copy that takes long after a rest", () => {
  it("is attributed to the CPU if it has a deep idle state, with the evidence", () => {
    expect(saysOf("wakes-slowly", {}, latency(8.2, 96))).toMatchObject([
      {
        device: null,
        summary:
          "A small copy takes 87.8 us longer after some milliseconds of rest, as if the processor had to wake up.",
        evidence: [
          "device 0, copies of 4 KiB: 8.20 us one after the other, 96.0 us after a rest",
          "the CPU may sleep in C6 (290 us to wake up)",
        ],
        fix: "If small copies matter, keep the CPU awake: cpupower idle-set --disable-by-latency 20.",
        sureness: "likely",
      },
    ]);
  });

  it("has only a possible cause if no idle state is known, and is reported from 300 us of extra time on", () => {
    expect(saysOf("wakes-slowly", sleepless, latency(8, 308))).toMatchObject([
      {
        summary: expect.stringContaining("the processor"),
        evidence: ["device 0, copies of 4 KiB: 8.00 us one after the other, 308.0 us after a rest"],
        fix: expect.stringContaining("cpupower"),
        sureness: "possible",
      },
    ]);
    expect(saysOf("wakes-slowly", sleepless, latency(8, 307.9))).toEqual([]);
  });

  it.each([
    [idle(20), true],
    [idle(19), false],
    [idle(20, { disabled: true }), false],
    [idle(20, { timeUs: 0 }), false],
    [idle(20, { timeUs: null }), true],
  ])("is a finding only if an idle state is deep, allowed and may be used: %j, %s", (state, isFound) => {
    expect(saysOf("wakes-slowly", { idleStates: [state] }, latency(8, 58))).toHaveLength(isFound ? 1 : 0);
    expect(saysOf("wakes-slowly", { idleStates: [state] }, latency(8, 57.9))).toEqual([]);
  });

  it("is no finding without a measurement", () => {
    expect(saysOf("wakes-slowly", {}, { measured: { latency: null } })).toEqual([]);
  });
});

describe("a governor that saves power", () => {
  it("is reported if only the second of two devices is slow, and not if none is", () => {
    const machine = { host: { governor: "powersave" } };
    expect(saysOf("governor-saves", machine)).toEqual([]);
    expect(saysOf("governor-saves", machine, [{}, { measured: slow }])).toHaveLength(1);
  });
});

describe("CPUs that a process may use", () => {
  it("are reported if their quota is below two CPUs", () => {
    expect(saysOf("cpu-quota-low", { host: { cpuQuota: 1.5 } })).toMatchObject([
      { evidence: ["cgroup quota: 1.5 CPUs"] },
    ]);
    for (const cpuQuota of [2, null]) expect(saysOf("cpu-quota-low", { host: { cpuQuota } })).toEqual([]);
  });

  const taken = (stealShare: number | null, otherCpuShare: number | null) =>
    saysOf("cpus-taken", { activity: { load: { stealShare, otherCpuShare } } });

  it("are reported as taken by the hypervisor from 2 % of the time on, whatever other programs do", () => {
    expect(taken(0.02, 0.9)).toMatchObject([
      {
        summary: "The hypervisor gave 2.0 % of the CPUs' time to others during the measurement.",
        evidence: ["stolen time in /proc/stat: 2.0 %"],
        fix: expect.stringContaining("Ask the host's maintainer"),
      },
    ]);
    expect(taken(0.019, 0.49)).toEqual([]);
  });

  it("are reported as taken by other programs from half of the time on", () => {
    expect(taken(null, 0.5)).toMatchObject([
      {
        summary: "Other programs used 50 % of the CPUs' time during the measurement.",
        evidence: ["CPU time of others in /proc/stat: 50 %"],
        fix: expect.stringContaining("Examine the machine again"),
      },
    ]);
    expect(taken(null, null)).toEqual([]);
    expect(saysOf("cpus-taken")).toEqual([]);
  });
});

describe("registered memory", () => {
  const off = (registered: ReturnType<typeof rates>) =>
    saysOf(
      "huge-pages-off",
      { host: { transparentHugePages: "never" } },
      { measured: { pinned: rates(50, 50), registered: { rates: registered, refused: null } } },
    );

  it("is reported as slowed by disabled huge pages if it loses more than a tenth", () => {
    expect(off(rates(44.9, 45))).toMatchObject([
      {
        evidence: [
          "transparent huge pages: never",
          "from registered memory: 44.9 GB/s to the device, 45.0 GB/s back",
          "from pinned memory: 50.0 GB/s to the device, 50.0 GB/s back",
        ],
        cost: { direction: "h2d", gigabytesPerSecond: expect.closeTo(5.1), copies: "registered" },
      },
    ]);
    for (const none of [off(rates(45, 45)), off(rates(null, null)), off(rates(50, 50))])
      expect(none).toEqual([]);
    expect(off(rates(null, 40))).toMatchObject([{ cost: { direction: "d2h" } }]);
  });

  const refused = (machine: MachineChange = {}, change = {}) =>
    saysOf("registering-refused", machine, {
      measured: { registered: { rates: rates(null, null), refused: "NOT_PERMITTED" } },
      ...change,
    });

  it("is refused because of a locked-memory limit below 1 GiB, or for an unknown reason", () => {
    expect(refused({ host: { memlockLimitBytes: GiB - 1024 } })).toMatchObject([
      { evidence: ["NOT_PERMITTED", expect.stringContaining("ulimit -l")], sureness: "likely" },
    ]);
    expect(refused({ host: { memlockLimitBytes: GiB - 1024 } })[0]!.fix).toContain("Raise the limit");
    expect(refused({ host: { memlockLimitBytes: GiB } })).toMatchObject([
      { evidence: ["NOT_PERMITTED", "limit of locked memory (ulimit -l): 1 GiB"], sureness: "possible" },
    ]);
    expect(refused({ host: { memlockLimitBytes: null } })).toMatchObject([
      {
        evidence: ["NOT_PERMITTED"],
        fix: expect.stringContaining("Let programs allocate pinned memory instead"),
      },
    ]);
  });

  it("has no finding of its own if confidential computing or WSL refuses it", () => {
    expect(refused({ host: { virtualization: "wsl2" } })).toEqual([]);
    expect(refused({ platform: { confidentialGuest: "Intel TDX" } })).toEqual([]);
    expect(refused({}, { before: { confidentialComputing: true } })).toEqual([]);
    expect(refused({ host: { virtualization: "kvm" } })).toHaveLength(1);
    expect(refused({}, unseen)).toHaveLength(1);
  });
});

describe("memory", () => {
  const total = 100 * GiB;

  it("is reported as low if a cgroup limit leaves less than 4 GiB", () => {
    const low = (cgroupMemoryLimitBytes: number | null, memoryAvailableBytes: number) =>
      saysOf("memory-limit-low", {
        host: { cgroupMemoryLimitBytes, memoryAvailableBytes, memoryTotalBytes: total },
      });
    expect(low(8 * GiB, 2 * GiB)).toMatchObject([
      {
        summary: expect.stringContaining("leaves 2 GiB of memory"),
        evidence: ["limit of the cgroup: 8 GiB of the machine's 100 GiB"],
      },
    ]);
    for (const none of [low(8 * GiB, 4 * GiB), low(total, GiB), low(null, GiB)]) expect(none).toEqual([]);
  });

  const short = (activity: object) =>
    saysOf("memory-short", { activity, host: { memoryAvailableBytes: 50 * GiB } });
  const waited = (swappedPages: number | null, memoryPressureShare: number | null) => ({
    swappedPages,
    load: { memoryPressureShare },
  });

  it("is reported as short if more than 1024 pages were swapped", () => {
    expect(short(waited(1025, 0.5))).toMatchObject([
      {
        summary: "The machine swapped while copies were measured.",
        evidence: [
          "1025 pages moved to or from swap",
          "waiting for memory: 50 % of the time (PSI)",
          "memory available: 50 GiB",
        ],
      },
    ]);
    expect(short(waited(1024, 0.019))).toEqual([]);
  });

  it("is reported as short if programs waited for 2 % of the time", () => {
    expect(short(waited(null, 0.02))).toMatchObject([
      {
        summary: "Programs waited for memory while copies were measured.",
        evidence: ["waiting for memory: 2.0 % of the time (PSI)", "memory available: 50 GiB"],
      },
    ]);
  });
});

describe("a machine's idle states", () => {
  it("are sorted by the time that waking takes, whatever their numbers", () => {
    const root = machineTree(
      idleStates([
        ["C6", 290, 1],
        ["POLL", 0, 1],
      ]),
    );
    const latenciesIn = (files: string) =>
      readMachineFacts(files).idleStates.map(({ exitLatencyUs }) => exitLatencyUs);
    expect(latenciesIn(root)).toEqual([0, 2, 290, 290]);
    const eleven = Array.from({ length: 11 }, (_, i) => [`C${i}`, 100 - i, 1] as const);
    expect(latenciesIn(machineTree(idleStates(eleven)))).toEqual(eleven.map((_, i) => 90 + i));
  });
});
