import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allowedCpus, parseCpuList, usableCpuCount } from "../../src/host/cpus.js";
import { hostRecord, loadBetween, readLoad } from "../../src/host/machine-load.js";
import { readProcessStat } from "../../src/host/processes.js";
import { choosePlacement, numaNodeOfPciDevice } from "../../src/host/topology.js";
import { checkedResult } from "../../src/results/parse.js";
import { acceptedBy, expectNoPollution, hostileText, runs } from "../helpers/hostile.js";
import { buildDocument } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { countTrials, trials } from "../helpers/trials.js";

/** What a kernel writes into the files that pinbench reads. */
const kernelFiles: Readonly<Record<string, string>> = {
  "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t0-3,8\n",
  "proc/self/cgroup": "0::/a/b\n4:cpu,cpuacct:/c\n5:memory:/m\n",
  "proc/self/limits": "Max locked memory         65536                65536                bytes\n",
  "proc/meminfo": "MemTotal:       16384 kB\nMemFree: 100 kB\nMemAvailable:    8192 kB\n",
  "proc/cpuinfo": "processor : 0\nmodel name : A CPU\nflags : fpu hypervisor\n\n",
  "proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
  "proc/7/stat": `7 (a) b) S 1 7 ${Array.from({ length: 40 }, (_, i) => i).join(" ")}`,
  "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345\n",
  "proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
  "proc/sys/kernel/hostname": "node-1\n",
  "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
  "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n",
  "sys/fs/cgroup/a/memory.max": "1048576\n",
  "sys/fs/cgroup/a/memory.current": "4096\n",
  "sys/fs/cgroup/a/memory.stat": "inactive_file 1024\n",
  "sys/fs/cgroup/cpu/c/cpu.cfs_quota_us": "50000\n",
  "sys/fs/cgroup/cpu/c/cpu.cfs_period_us": "100000\n",
  "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "9223372036854771712\n",
  "sys/devices/system/cpu/online": "0-7\n",
  "sys/devices/system/node/online": "0-1\n",
  "sys/devices/system/node/node0/cpulist": "0-3\n",
  "sys/devices/system/node/node1/cpulist": "4-7\n",
  "sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
  "sys/devices/system/cpu/cpu0/cache/index3/type": "Unified\n",
  "sys/devices/system/cpu/cpu0/cache/index3/size": "36608K\n",
  "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list": "0-3\n",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
  "sys/bus/pci/devices/0000:06:00.0/numa_node": "1\n",
};

const digits = fc.constantFrom(
  "-1",
  "0",
  "max",
  "9".repeat(30),
  "9".repeat(400),
  "18446744073709551615",
  "1e9",
  "0x7",
);
const ranges = fc.constantFrom("0-99999999999", "5-3", "0-", "-", "1,,2", "4294967296", "0-8191", "٣");

/** A file's text with some of its numbers, or all of it, replaced. */
const changed = fc.record({
  name: fc.constantFrom(...Object.keys(kernelFiles)),
  by: fc.oneof(digits, ranges, hostileText),
  which: fc.nat({ max: 12 }),
  isWhole: fc.boolean(),
});

function write(root: string, name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}

function changedText({
  name,
  by,
  which,
  isWhole,
}: {
  name: string;
  by: string;
  which: number;
  isWhole: boolean;
}) {
  if (isWhole) return by;
  let seen = 0;
  return kernelFiles[name]!.replaceAll(/\d+/g, (number) => (seen++ === which ? by : number));
}

describe("with random changes to /proc and /sys,", () => {
  it("the record of the host is valid in a result, and pinbench still finds CPUs to run on", () => {
    const root = temporaryFolder();
    const trial = countTrials("texts of the kernel's changed at random");
    fc.assert(
      fc.property(fc.array(changed, { minLength: 1, maxLength: 4 }), (changes) => {
        trial.tries();
        for (const [name, text] of Object.entries(kernelFiles)) write(root, name, text);
        for (const change of changes) write(root, change.name, changedText(change));
        const host = hostRecord(root);
        const document = JSON.parse(JSON.stringify(buildDocument({ host })));
        checkedResult({ ...document, host: JSON.parse(JSON.stringify(host)) }, "a result");
        expect(allowedCpus(root).length).toBeGreaterThan(0);
        expect(usableCpuCount(root)).toBeGreaterThanOrEqual(1);
        for (const choice of ["local", 0, 1, 9999] as const) {
          const placed = acceptedBy(() => choosePlacement("0000:06:00.0", choice, root));
          if (placed !== null) expect(placed.value.threads).toBeGreaterThanOrEqual(1);
        }
        const node = numaNodeOfPciDevice("00000000:06:00.0", root);
        expect(node === null || Number.isSafeInteger(node)).toBe(true);
        const stat = readProcessStat(7, root);
        expect(stat === null || Number.isFinite(stat.cpuNs)).toBe(true);
        const before = readLoad(root, [7]);
        const shares = Object.values(loadBetween([[before, readLoad(root, [7])]]));
        expect(shares.every((one) => one === null || (one >= 0 && one <= 1))).toBe(true);
        trial.survives();
      }),
      runs(trials(30, 600)),
    );
    expectNoPollution();
  });

  it("a list of CPUs is read as whole numbers, or as null if it is invalid", () => {
    const trial = countTrials("texts of the kernel's changed at random");
    fc.assert(
      fc.property(fc.oneof(ranges, hostileText), (text) => {
        trial.tries();
        const cpus = parseCpuList(text);
        expect(cpus === null || cpus.every((cpu) => Number.isSafeInteger(cpu))).toBe(true);
        trial.survives();
      }),
      runs(trials(200, 10_000)),
    );
    expect(parseCpuList("0-99999999999")).toBeNull();
    expect(parseCpuList("0-2,8191")).toEqual([0, 1, 2, 8191]);
  });
});
