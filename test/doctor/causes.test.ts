import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { actionOf, causes, suspicions } from "../../src/doctor/causes/causes.js";
import type { Finding } from "../../src/doctor/diagnosis.js";
import type { Examination } from "../../src/doctor/examination.js";
import { readMachineCounters } from "../../src/doctor/facts/machine-facts.js";
import { type DeviceChange, examinationOf, otherProgram, rates } from "../helpers/examination.js";
import {
  errorCounts,
  gpuNames,
  machineTree,
  pciConfig,
  pciFile,
  pressure,
  switchDownstream,
  type TreeFiles,
} from "../helpers/machine-tree.js";
import { type CauseCase, foundIn, link, slow } from "./cause-case.js";
import { deviceCases } from "./device-cases.js";
import { hostCases } from "./host-cases.js";
import { pathCases } from "./path-cases.js";

const [gpu] = gpuNames;

const cases: readonly CauseCase[] = [...pathCases, ...hostCases, ...deviceCases];

/** The text of a finding. */
const textOf = ({ summary, evidence, fix }: Omit<Finding, "action">) =>
  [summary, ...evidence, fix ?? ""].join("\n");

function examine({ files, change, machine, devices }: CauseCase): Examination {
  return { ...examinationOf(machineTree(files), change, { devices: devices ?? 1 }), ...machine };
}

function expectOnly(
  found: Omit<Finding, "action">[],
  { cause, weight, cost, says, devices = 1 }: CauseCase,
): void {
  expect([...new Set(found.map((finding) => finding.cause))]).toEqual([cause]);
  expect(found.length).toBeLessThanOrEqual(devices);
  const [first] = found;
  expect(first!.weight).toBe(weight);
  if (cost === undefined) expect(first!.cost).toBeNull();
  else {
    expect(first!.cost).toMatchObject({ direction: cost.direction, basis: cost.basis });
    const { gigabytesPerSecond } = first!.cost!;
    expect(Math.abs(gigabytesPerSecond / cost.gigabytesPerSecond - 1)).toBeLessThan(0.01);
  }
  expect(textOf(first!)).toContain(says ?? "");
  expect(first!.summary).toMatch(/^[A-Z/0-9].*\.$/s);
  expect(first!.evidence.length).toBeGreaterThan(0);
}

it.each([1, 2] as const)("a healthy machine with %d devices has no finding", (devices) => {
  expect(foundIn(examinationOf(machineTree(), {}, { devices }))).toEqual([]);
});

describe("doctor reports no finding if copies are as fast as expected, despite", () => {
  it.each<{ what: string; files: TreeFiles }>([
    {
      what: "the CPU governor powersave",
      files: { "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n" },
    },
    { what: "an IOMMU that translates addresses", files: { [pciFile(gpu, "iommu_group/type")]: "DMA\n" } },
    {
      what: "links that sysfs shows idle",
      files: Object.fromEntries(
        [gpu, switchDownstream].map((port) => [pciFile(port, "current_link_speed"), "2.5 GT/s PCIe\n"]),
      ),
    },
    {
      what: "unsupported PCIe requests at boot",
      files: { [pciFile(switchDownstream, "aer_dev_nonfatal")]: errorCounts("NONFATAL", 0, 3) },
    },
    {
      what: "disabled huge pages",
      files: { "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" },
    },
    {
      what: "small PCIe packets",
      files: { [pciFile(gpu, "config")]: pciConfig({ maxPayload: 128 }) },
    },
  ])("$what", ({ files }) => {
    expect(foundIn(examinationOf(machineTree(files)))).toEqual([]);
  });

  it("a process that only has the device open", () => {
    const change = { other: { others: [otherProgram({ pid: 4711 })] } };
    expect(foundIn(examinationOf(machineTree(), change))).toEqual([]);
  });
});

describe("doctor reports no finding for what healthy machines show too:", () => {
  it.each<{ what: string; files?: TreeFiles; change?: DeviceChange }>([
    {
      what: "an idle link if no copies were made",
      change: {
        health: { link: { ...link, generation: 1 } },
        measured: { pinned: rates(null, null), nodes: [] },
      },
    },
    { what: "a replay counter that was reset", change: { before: { replays: 4000 }, after: { replays: 0 } } },
    {
      what: "a rate 4 % below the expectation",
      change: { measured: { pinned: rates(53.2, 52.9), nodes: [] } },
    },
    {
      what: "usual call times and two-way rates",
      change: { measured: { hostShare: { h2d: 0.02, d2h: 0.4 }, bothWays: rates(38, 40) } },
    },
    {
      what: "little free memory on the host, with a cgroup limit above all of its memory",
      files: {
        "proc/meminfo": "MemTotal:       528280992 kB\nMemAvailable:     3145728 kB\n",
        "sys/fs/cgroup/user.slice/memory.max": "1099511627776\n",
        "sys/fs/cgroup/user.slice/memory.current": "1024\n",
      },
    },
    {
      what: "1 GiB of /dev/shm",
      files: {
        "proc/self/mountinfo": "512 498 0:98 / /dev/shm rw - tmpfs shm rw,size=1048576k,inode64\n",
      },
    },
    {
      what: "an idle GPU, clocks set by the user",
      change: {
        health: { clockReasons: ["applications-clocks-setting", "gpu-idle"] },
        other: {
          activityBefore: {
            computePercent: 4,
            toDeviceBytesPerSecond: 0.6e9,
            fromDeviceBytesPerSecond: null,
          },
        },
      },
    },
  ])("$what", ({ files, change }) => {
    expect(foundIn(examinationOf(machineTree(files), change))).toEqual([]);
  });

  it("two devices that keep 90 % of their rates when both copy", () => {
    const measured = { together: rates(50.1, 49.7) };
    expect(foundIn(examinationOf(machineTree(), { measured }, { devices: 2 }))).toEqual([]);
  });
});

describe("the cause that doctor finds", () => {
  it.each(cases.map((one) => [one.what, one] as const))("is the only finding: %s", (_, one) => {
    expectOnly(foundIn(examine(one)), one);
  });

  it("is not the NUMA node if slow copies are faster when measured again on the same node", () => {
    const measured = { ...slow, nodes: [{ node: 0, rates: rates(55.6, 55.2) }] };
    const found = foundIn(examinationOf(machineTree(), { measured }));
    expect(found.map(({ cause }) => cause)).not.toContain("numa-far");
  });

  it("is the narrow link alone, not a process that only has the device open", () => {
    const examination = examinationOf(machineTree(), {
      health: { link: { ...link, width: 4 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
      other: { others: [otherProgram({ pid: 4711 })] },
    });
    expect(foundIn(examination).map(({ cause }) => cause)).toEqual(["link-narrow"]);
  });

  it("of slow copies is still searched for if another finding costs no bandwidth", () => {
    const root = machineTree({ [pciFile(gpu, "iommu_group/type")]: "DMA\n" });
    const examination = examinationOf(root, { health: { eccErrors: 1 }, measured: slow });
    expect(foundIn(examination).map(({ cause }) => cause)).toEqual(["memory-errors", "iommu-translates"]);
  });

  it("is found in memory waits, swapping and stolen CPU time during the examination", () => {
    const root = machineTree();
    const before = readMachineCounters(root);
    // Times go on by less than this process' own clock does: what counts is the share, which is 1 at most.
    const after = machineTree({
      "proc/pressure/memory": pressure(60_000_000),
      "proc/vmstat": "pswpin 90120\npswpout 480\n",
    });
    expectOnly(foundIn(examinationOf(after, {}, { before })), {
      what: "",
      cause: "memory-short",
      weight: "risk",
      says: "90000 pages",
    });
    const stolen = machineTree({
      "proc/stat": "cpu  100 0 100 10000 0 0 0 900 0 0\ncpu0 1 0 1 1 0 0 0 9 0 0\nbtime 1790000000\n",
    });
    expectOnly(foundIn(examinationOf(stolen, {}, { before })), {
      what: "",
      cause: "cpus-taken",
      weight: "risk",
      says: "hypervisor",
    });
  });
});

it("findings begin with the costliest cause, and risks come before explanations", () => {
  const root = machineTree({ "dev/tdx_guest": "" });
  const examination = examinationOf(root, {
    health: { link: { ...link, width: 8 }, eccErrors: 1 },
    measured: {
      pinned: rates(27.8, 27.6),
      nodes: [{ node: 1, rates: rates(31, 31) }],
    },
  });
  expect(foundIn(examination).map(({ cause }) => cause)).toEqual([
    "link-narrow",
    "numa-far",
    "memory-errors",
    "confidential-computing",
  ]);
});

it.each([
  [["isolate", "isolate"], ["wrong-data"]],
  [
    ["reset", "reset"],
    ["device-fails", "memory-errors"],
  ],
  [
    ["isolate", "monitor"],
    ["link-narrow", "link-errors", "clocks-held", "unexplained"],
  ],
  [["isolate", "none"], ["slow-together"]],
  [
    ["monitor", "monitor"],
    [
      ...["link-uncorrected", "xid-errors", "device-shared"],
      ...["slow-at-first", "slow-copies", "cpus-taken", "memory-short"],
    ],
  ],
  [
    ["none", "none"],
    ["numa-far", "slot-narrow", "iommu-translates"],
  ],
])("the recommended actions with and without a cost are %j for the causes %j", (actions, names) => {
  for (const cause of names) {
    const of = (weight: Finding["weight"]) => actionOf({ cause, weight });
    expect([of("costs"), of("risk"), of("explains")], cause).toEqual([...actions, actions[1]]);
  }
});

describe("the list of causes", () => {
  const names = [...Object.keys(causes), ...Object.keys(suspicions)];
  const ownTests = ["cpus-taken", "memory-short", "uplink-shared"];

  it("has a test for each cause", () => {
    expect([...new Set([...cases.map(({ cause }) => cause), ...ownTests])].sort()).toEqual(names.sort());
  });

  it("is the same as in the table of docs/doctor.md", () => {
    const text = readFileSync(fileURLToPath(new URL("../../docs/doctor.md", import.meta.url)), "utf8");
    const section = /^## Causes$([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? "";
    const rows = [...section.matchAll(/^\| `([a-z-]+)` \| [^|]+ \|$/gm)].map(([, name]) => name);
    expect(rows.sort()).toEqual(names.sort());
  });
});
