import { expect, it } from "vitest";
import {
  describeSharing,
  describeUnseen,
  type OtherProgram,
  type SharingRecord,
} from "../../src/host/other-programs.js";

const alone: SharingRecord = { device: 1, others: [], activityBefore: null, unseen: [] };
const program = (part: Partial<OtherProgram>): OtherProgram => ({
  ...{ kind: "program", pid: null, name: null, since: null, deviceMemoryBytes: null },
  ...{ wasThereBefore: true, ...part },
});
const used = (...others: OtherProgram[]) => describeSharing({ ...alone, others });

it.each([
  [{ pid: 7 }, "a program (pid 7)"],
  [{ pid: 7, name: "python3", deviceMemoryBytes: 2 ** 30 }, "python3 (pid 7, 1 GiB of the device's memory)"],
  [{ kind: "pinbench" }, "pinbench (in another container)"],
  [
    { kind: "pinbench", name: "check", pid: 7, since: "2026-11-20T10:00:05.123Z" },
    "pinbench check (pid 7, since 2026-11-20 10:00:05 UTC)",
  ],
] as const)("a program beside a run is named by what is known: %j", (part, name) => {
  expect(used(program(part))).toEqual([`device 1 was not measured alone: ${name} used it as well`]);
});

it("three programs are named, those before and those during the run apart, and the others counted", () => {
  const before = [1, 2, 3, 4, 5].map((pid) => program({ pid, name: "a" }));
  expect(used(...before, program({ pid: 6, name: "b", wasThereBefore: false }))).toEqual([
    "device 1 was not measured alone: a (pid 1), a (pid 2), a (pid 3) and 2 more used it as well",
    "device 1 was not measured alone: b (pid 6) started during the run",
  ]);
});

it("a device counts as busy if kernels ran for more than 5 % of the time or copies above 0.1 GB/s", () => {
  const busy = (computeShare: number, toDeviceGBps: number, fromDeviceGBps: number) =>
    describeSharing({ ...alone, activityBefore: { computeShare, toDeviceGBps, fromDeviceGBps } });
  expect(busy(0.05, 0.1, 0.1)).toEqual([]);
  expect(busy(0.06, 0.2, 0.3)).toEqual([
    "device 1 was busy before it was measured: kernels ran for 6 % of the time, 0.2 GB/s went to it over the link, 0.3 GB/s came from it over the link",
  ]);
});

it("each kind of program that cannot be seen on a device is reported with the reason", () => {
  expect(describeUnseen({ ...alone, unseen: ["programs", "pinbench"] })).toEqual([
    "device 1 may have been used by other programs: NVML does not list them here",
    "device 1 may have been used by another pinbench: this system has no /proc, or no abstract sockets",
  ]);
});
