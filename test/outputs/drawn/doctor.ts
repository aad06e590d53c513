import { diagnose } from "../../../src/doctor/diagnose.js";
import { type Diagnosis, diagnosisSchema } from "../../../src/doctor/diagnosis.js";
import { diagnosisKind } from "../../../src/doctor/diagnosis-report.js";
import type { DeviceExamination } from "../../../src/doctor/examination.js";
import { comparedWith } from "../../../src/doctor/examined-device.js";
import { readMachineFacts } from "../../../src/doctor/facts/machine-facts.js";
import { correctedBetween, readPciPath } from "../../../src/doctor/facts/pci-path.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { DeviceHealth } from "../../../src/native/device-contract.js";
import { deviceCases } from "../../doctor/device-cases.js";
import { hostCases } from "../../doctor/host-cases.js";
import { pathCases } from "../../doctor/path-cases.js";
import { drawn } from "../../helpers/drawn.js";
import { deviceWith, healthyHealth, otherProgram, rates } from "../../helpers/examination.js";
import { filesOf } from "../../helpers/machine-files.js";
import * as tree from "../../helpers/machine-tree.js";
import { type Seeded, seeded } from "../../helpers/seeded.js";
import { MiB } from "../../measure/support.js";
import { draws } from "../draws.js";

const ports = [tree.rootPort, tree.switchUpstream, "0000:17:00.0", "0000:17:01.0", ...tree.gpuNames];
const cases = [...deviceCases, ...hostCases, ...pathCases];
/** Files of a machine, and what may stand in them; null for a missing one. */
const files: Readonly<Record<string, readonly (string | Buffer | null)[]>> = {
  ...filesOf("machines"),
  ...Object.fromEntries(
    ports.flatMap((port, i) =>
      Object.entries({
        current_link_speed: ["16.0 GT/s PCIe", "8 GT/s", "Unknown", "2.5 GT/s PCIe", "64.0 GT/s PCIe", null],
        max_link_speed: ["16.0 GT/s PCIe", "64.0 GT/s PCIe", "5.0 GT/s", null],
        current_link_width: ["8", "4", "63", "1", null],
        max_link_width: ["8", "32", "0", null],
        config: [
          ...[
            tree.pciConfig({ kind: i, maxPayload: 128 }),
            tree.pciConfig({ kind: 4, maxPayloadSupported: 512, maxPayload: 512 }),
          ],
          ...[
            tree.pciConfig().subarray(0, 64),
            tree.pciConfig().subarray(0, 256),
            tree.pciConfig().subarray(0, 65),
            null,
          ],
        ],
        aer_dev_correctable: [tree.errorCounts("COR", 11 + i), tree.errorCounts("COR", 10), null],
        aer_dev_nonfatal: [tree.errorCounts("NONFATAL", 2 + i, 3), tree.errorCounts("NONFATAL", 0, 4), null],
        aer_dev_fatal: [tree.errorCounts("FATAL", 5, 1), "TOTAL_ERR_FATAL 1\nUnsupported Request 9\n"],
        ...(i > 3 && {
          numa_node: ["1", "-1", null],
          "iommu_group/type": ["DMA", "DMA-FQ", null],
          resource: [
            "0x1000 0x1fff 0x2\n0x0 0xfffffff 0x1\n0x0 0xffffffffffffff 0x1",
            `${"\n".repeat(6)}0x0 0xffffffffff 0x1`,
            null,
          ],
        }),
      }).map(([file, contents]) => [tree.pciFile(port, file), contents]),
    ),
  ),
};

/** A device's facts and measurements, each other than usual in this share of machines. */
function device(chosen: Seeded, ordinal: number, isOdd: (share?: number) => boolean): DeviceExamination {
  const { one, below, some } = chosen;
  const may = <T extends object>(make: () => T, share?: number) => (isOdd(share) ? make() : {});
  const shares = () => ({ h2d: one([0, 0.02, 0.1, 0.5, 0.97, 1.2, null]), d2h: one([0, 0.05, 0.49, 0.3]) });
  const link = isOdd()
    ? null
    : {
        ...healthyHealth.link!,
        ...may(() => ({ width: one([8, 4, 16, 1]) })),
        ...may(() => ({ generation: one([3, 4, 1, 6]) })),
        ...may(() => ({ maxWidth: one([8, 32]), maxGeneration: one([4, 6]) })),
        ...may(() => ({ smClockMHz: one([345, 1980, null, 0]) })),
        ...may(() => ({ memoryClockMHz: one([1593, 2357, 2358, null]) })),
      };
  const share =
    isOdd(0.5) || link === null ? 1 : Math.min(1, (2 ** (link.generation! - 5) * link.width!) / 16);
  const slow = one([1, 1, 1, 1, 1.01, 0.955, 0.945, 0.9, 0.845, 0.8, 0.5, 0.25]);
  const rate = () => 55.4 * share * slow * (isOdd() ? one([0.5, 0.8, 0.93, 1.2]) : one([1, 0.999, 1.001]));
  const two = () => (isOdd() ? rates(one([rate(), null]), one([rate(), null])) : rates(rate(), rate()));
  const health: Partial<DeviceHealth> = {
    link,
    ...may(() => ({
      clockReasons: one([
        null,
        some(
          ["sw-power-cap", "hw-slowdown", "hw-thermal-slowdown", "hw-power-brake-slowdown", "gpu-idle"],
          0.5,
        ),
      ]),
    })),
    ...may(() => ({ cardMaxGeneration: one([4, 6, null]) })),
    ...may(() => ({
      temperatureC: one([null, 92]),
      powerWatts: one([null, 699.6]),
      maxSmClockMHz: one([null, 0, 1000]),
    })),
    ...may(
      () => ({
        migEnabled: one([true, null]),
        confidentialComputing: one([true, null]),
        c2cLinks: one([10, 0, null]),
      }),
      0.5,
    ),
    ...may(() => ({ replays: null }), 0.5),
  };
  const name = one([
    "NVIDIA H100 80GB HBM3",
    "NVIDIA H200",
    "NVIDIA H200",
    ...(isOdd() ? ["NVIDIA A10G", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A10-8Q"] : []),
  ]);
  const after = may(() => ({ eccErrors: one([2, null]), retirementPending: one([true, false]) }), 1);
  const made = deviceWith(readPciPath(tree.gpuNames[ordinal % 2]!, tree.machineTree(...current)), ordinal, {
    health,
    before: { ...may(() => ({ replays: one([0, null]) })), ...may(() => ({ link: null })) },
    after: { ...after, ...may(() => ({ replays: one([10, 13, 14, 4000, 4_294_967_295, null]) })) },
    facts: {
      ...{ name, ordinal, uuid: `GPU-${ordinal}`, pciBusId: tree.gpuNames[ordinal % 2]! },
      ...may(() => ({ computeCapability: one(["8.0", "8.6", "12.0", "7.0", "10.0", "7.5"]) })),
      ...may(() => one([{ integrated: true }, { coherent: true }, { totalMemoryBytes: 2 ** 30 }]), 0.4),
    },
    measured: {
      pinned: two(),
      nodes: isOdd()
        ? []
        : [0, 1, ...(isOdd() ? [2] : [])].map((node) => {
            const near = node === 0 ? 1 : one([1, 0.9, 0.88, isOdd(2) ? 1.5 : 1]);
            return { node, rates: rates(rate() * near, isOdd() ? null : rate() * near) };
          }),
      ...may(() => ({ firstLook: two(), slowShare: shares() })),
      ...may(() => ({ hostShare: shares() })),
      ...may(() => ({ slowShare: shares() })),
      ...may(() => ({ bothWays: two() })),
      ...may(() => ({ pageable: two() })),
      ...may(() => ({
        registered: one([
          { rates: two(), refused: null },
          { rates: rates(null, null), refused: "cuMemHostRegister failed" },
        ]),
      })),
      ...may(() => ({ together: two() }), 2),
      ...may(() => ({ untriedNodes: one([[], [1], [1, 2]]) })),
      ...may(() => ({
        latency: one([null, { backToBackUs: 8.21, afterRestUs: 8.21 + one([49.9, 50, 299, 300, 812.34]) }]),
      })),
    },
    other: {
      ...may(() => ({
        others: one([
          null,
          [otherProgram({})],
          Array.from({ length: 7 }, (_, pid) =>
            otherProgram({ pid, name: one(["python3", null]), since: null }),
          ),
        ]),
      })),
      ...may(() => ({
        activityBefore: one([
          null,
          {
            computePercent: one([4, 5, 97, null]),
            toDeviceBytesPerSecond: one([0, 6.3e8, 6.4e8, 2e10, null]),
            fromDeviceBytesPerSecond: one([0, 5e9, null]),
          },
        ]),
      })),
      ...may(() => ({ correctableErrors: one([null, 10, 11, 4000]) })),
      ...may(() => ({ wrongCopies: 1 + below(3) }), 0.2),
      ...may(
        () => ({
          failure: "cuMemcpy failed",
          failureKind: one(["device", "memory", "in-use", "another", "other"] as const),
        }),
        0.3,
      ),
      ...may(() => ({
        copied: one([
          undefined,
          { made: 9, proven: one([9, 5, 0]), provenH2d: below(9), provenD2h: 5, bytes: one([1e9, 2e6]) },
        ]),
      })),
      ...may(() => ({ limitGBps: one([null, 31.5]) })),
      ...may(() => ({ health: { before: null, underLoad: null, after: null } }) as object, 0.3),
    },
  });
  if (isOdd()) return { ...made, expectedTogether: rates(52, 52) };
  const subject = { ...made, path: { before: made.path, underLoad: made.path }, site: null };
  return { ...made, ...comparedWith(subject as never, isOdd(0.2), 2) };
}

let current: [tree.TreeFiles] = [{}];

export function diagnosed(seed: number): { what: string; diagnosis: Diagnosis; outputs: unknown } {
  const chosen = seeded(seed);
  const { one, is, list } = chosen;
  const odd = one([0.02, 0.06, 0.06, 0.12, 0.25]);
  const isOdd = (share = 1) => is(odd * share);
  const known = is(0.5) ? [] : list(1, () => one(cases));
  const varied = Object.entries(files).flatMap(([path, contents]) =>
    isOdd(0.7) ? [[path, one(contents)]] : [],
  );
  current = [{ ...Object.assign({}, ...known.map((one) => one.files)), ...Object.fromEntries(varied) }];
  const root = tree.machineTree(...current);
  const count = one([1, 1, 2, 2, 3, 8]);
  const before = tree.gpuNames.map((name) => readPciPath(name, root));
  const devices = list(count, (ordinal) => device(chosen, ordinal, isOdd));
  const share = () => one([null, 0, 0.0199, 0.02, 0.257, 0.5]);
  const load = {
    stealShare: share(),
    otherCpuShare: share(),
    cpuPressureShare: null,
    memoryPressureShare: share(),
    ioPressureShare: null,
  };
  const activity = isOdd(2) ? { load, swappedPages: one([null, 0, 1, 1024, 1025]) } : null;
  const machine = { ...readMachineFacts(root, null), activity };
  const examination = {
    ...{ emulated: isOdd(0.3), machine, devices },
    ...(isOdd() && { omitted: ["a second look: no time was left"] }),
    ...known[0]?.machine,
  };
  const labels = is(0.3) ? { rack: "7", room: "a|b" } : {};
  const context = {
    backend: examination.emulated ? "emulated" : "cuda",
    sizeBytes: one([64, 16]) * MiB,
    createdAt: new Date(seed * 1e9),
    wallNs: 9e9,
    labels,
  } as const;
  const diagnosis = {
    ...diagnose(examination, context),
    tool: { name: "pinbench", version: "0.1.0" },
  } as const;
  const screen = fileScreen({ columns: 80, isAscii: is(0.2) });
  const after = tree.gpuNames.map((name, i) => {
    return correctedBetween(before[i]!, {
      ...before[i]!,
      ports: before[1 - i]!.ports.concat(readPciPath(name, root).ports),
    });
  });
  const outputs = {
    ...{ machine, before, after, diagnosis },
    faults: diagnosisSchema.safeParse(diagnosis).error?.issues,
    report: diagnosisKind.report(diagnosis, { screen }),
    lines: ["nhc", "nagios", "openmetrics"].map((format) => drawn(diagnosisKind, diagnosis, format, screen)),
  };
  return {
    what: `${count} devices, ${known[0]?.what ?? "nothing known"}, ${odd} of all else is odd`,
    diagnosis,
    outputs,
  };
}

function* machines(): Generator<[string, unknown]> {
  for (let seed = 1; seed <= 100; ++seed) {
    const { what, outputs } = diagnosed(seed);
    yield [`${seed}: ${what}`, outputs];
  }
}

draws(import.meta.url, machines);
