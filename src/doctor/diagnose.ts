import { capital } from "../draw/words.js";
import { headOf } from "../results/document-head.js";
import { actionOf, byWeight, findCauses, suspectsOf } from "./causes/causes.js";
import { costOf, directionName, gigabytes, nameOf } from "./causes/cost.js";
import { areReplaysRefuted, reportedReplays } from "./causes/link-causes.js";
import { copiesPastPcie, linksOf, speedNow, speedText } from "./causes/path-links.js";
import { type Seen, type SharedLoss, unexplainedOf } from "./causes/share-loss.js";
import { blameSharing, slowCopies } from "./causes/slow-copies.js";
import type { Diagnosis, Found } from "./diagnosis.js";
import {
  type DeviceExamination,
  type Examination,
  eachWay,
  linkDirections,
  type Rates,
  shortfallTogetherGBps,
} from "./examination.js";
import { linesIf, unseenFacts } from "./facts/machine-facts.js";
import { verdictOf } from "./verdict.js";

interface DiagnosisContext extends Pick<Diagnosis, "backend" | "sizeBytes" | "wallNs" | "labels"> {
  createdAt: Date;
}

export function diagnose(examination: Examination, context: DiagnosisContext): Diagnosis {
  const { machine, devices, omitted = [], startFailure = null } = examination;
  const shared = findCauses(examination);
  const onEach = (cause: string, find: (device: DeviceExamination) => Seen | null) =>
    devices.flatMap((device) => suspectsOf(cause, device.facts.ordinal, find(device)));
  const slow = onEach("slow-copies", (device) => slowCopies(device, examination));
  const { causes, rest } = blameSharing(shared.findings, slow);
  const known = causes.map((finding) => (devices.length > 1 ? named(finding) : finding));
  const found: Found[] =
    startFailure !== null
      ? [startFailure]
      : [
          // These findings come before all costs, because they cannot be worked around.
          ...onEach("wrong-data", wrongData),
          ...onEach("device-in-use", deviceInUse),
          ...onEach("device-fails", deviceFails),
          ...byWeight([
            ...known,
            ...onEach("slow-together", (device) => slowTogether(device, known)),
            ...onEach("unexplained", (device) => unexplained(device, shared)),
            ...rest,
          ]),
        ];
  const findings = found.map((finding) => ({ action: actionOf(finding), ...finding }));
  return {
    ...headOf("diagnosis", { ...context, host: machine.host.hostname }),
    sizeBytes: context.sizeBytes,
    labels: { ...context.labels },
    devices: devices.map(deviceDiagnosis),
    findings,
    unseen:
      startFailure !== null
        ? []
        : [
            ...omitted,
            ...devices.flatMap(refutedLinks),
            ...unseenHealth(devices),
            ...unseenFacts(
              machine,
              devices.map(({ path }) => path),
            ),
          ],
    ...verdictOf(examination, findings),
  };
}

/** Adds the device's name to a finding, if there are several devices. */
function named(finding: Found): Found {
  const { device, summary } = finding;
  if (device === null) return finding;
  return { ...finding, summary: `Device ${device}: ${summary.replace(/^The /, "the ")}` };
}

function wrongData(device: DeviceExamination): Seen | null {
  const { wrongCopies } = device;
  if (wrongCopies === 0) return null;
  return {
    weight: "costs",
    summary: `Data came back wrong on ${nameOf(device)}: do not trust this machine's copies.`,
    evidence: [`${wrongCopies} of the buffers that were compared after copying differed`],
    fix: "Take the machine out of use, and look for PCIe, ECC and IOMMU errors in the kernel log.",
  };
}

function deviceInUse(device: DeviceExamination): Seen | null {
  const { failure, failureKind } = device;
  if (failure === null || failureKind !== "in-use") return null;
  return {
    weight: "costs",
    summary: `${capital(nameOf(device))} is in use by another process, or its compute mode forbids contexts.`,
    evidence: [failure],
    fix: "Examine it when that job has ended; nvidia-smi -q -d COMPUTE shows the compute mode.",
    action: "monitor",
  };
}

function deviceFails(device: DeviceExamination): Seen | null {
  const { failure, failureKind, facts } = device;
  if (failure === null || failureKind === "in-use") return null;
  const fixes = {
    device: "Check the kernel log and nvidia-smi, then reset the device or reboot.",
    memory:
      "Examine the device again when enough memory is free: nvidia-smi and free show the use of memory.",
    another: `Examine this device by itself: pinbench doctor --device ${facts.ordinal}.`,
    other: `Examine it again: pinbench doctor --device ${facts.ordinal}.`,
  };
  return {
    weight: "costs",
    summary: `${capital(nameOf(device))} could not be measured completely.`,
    evidence: [failure],
    fix: fixes[failureKind],
    ...(failureKind !== "device" && { action: "monitor" }),
  };
}

/** Devices are slower together than on other machines, although sysfs shows no shared bridge. */
function slowTogether(device: DeviceExamination, known: readonly Found[]): Seen | null {
  const { measured, expectedTogether, facts } = device;
  const isToldOf = known.some(({ cause, device: of }) => cause === "uplink-shared" && of === facts.ordinal);
  const losses = eachWay((way) => shortfallTogetherGBps(device, way));
  const slow = linkDirections.filter((way) => losses[way] !== null);
  if (isToldOf || slow.length === 0) return null;
  // A virtual machine may hide a shared bridge, which is no fault.
  const isWaySeen = device.path.ports.length > 1;
  return {
    weight: isWaySeen ? "costs" : "risk",
    summary: `${capital(nameOf(device))} slows down more when all devices copy than on other machines of this kind.`,
    evidence: slow.map(
      (way) =>
        `${directionName[way]}: ${gigabytes(measured.together![way]!)} with the others, instead of the expected ${gigabytes(expectedTogether![way]!)}`,
    ),
    cost: costOf(losses, "measured", "together"),
    fix: isWaySeen
      ? "Check whether memory modules are missing or all on one node: all devices read and write the same memory."
      : "Check on the host whether the devices share a PCIe switch, or whether memory modules are missing.",
    sureness: "possible",
  };
}

/** The unexplained loss. It may be due to other programs if they use the device or the CPUs. */
function unexplained(device: DeviceExamination, shared: SharedLoss): Seen | null {
  const { facts, expected, measured } = device;
  const rest = unexplainedOf(shared, device);
  const left = linkDirections.filter((way) => rest[way] !== null);
  if (left.length === 0) return null;
  const losses = shared.losses.get(facts.ordinal);
  const explained = eachWay((way) => losses?.[way]?.explained ?? 0);
  // Copies within host memory by other programs slow down device copies.
  const isDisturbed = shared.findings.some(
    ({ cause, device: of }) => cause === "cpus-taken" || (cause === "device-shared" && of === facts.ordinal),
  );
  const untried = measured.untriedNodes ?? [];
  const isCertain = !isDisturbed && untried.length === 0;
  return {
    weight: "costs",
    summary: left.some((way) => explained[way] > 0)
      ? `${capital(nameOf(device))} copies slower than the findings explain.`
      : `${capital(nameOf(device))} copies slower than healthy machines do, and none of the examined causes explains it.`,
    evidence: [
      ...left.map((way) => {
        const part = explained[way] > 0 ? `; ${gigabytes(explained[way])} are explained` : "";
        return `${directionName[way]}: ${gigabytes(measured.pinned[way]!)}, instead of the expected ${gigabytes(expected[way]!)}${part}`;
      }),
      ...untried.map((node) => `not tried: memory of NUMA node ${node}`),
    ],
    cost: costOf(rest, "measured"),
    fix: isDisturbed
      ? "Examine the device again when no other program uses it or the CPUs."
      : untried.length > 0
        ? "Run pinbench run --numa all, which finds the nearest node."
        : "Run pinbench doctor as root, which can read more, and try the card in another slot or machine to find which of them is slow.",
    sureness: isCertain ? "certain" : "possible",
    // Other programs or untried nodes may be the cause, so the GPU stays in use.
    ...(!isCertain && { action: "monitor" }),
  };
}

function deviceDiagnosis(device: DeviceExamination): Diagnosis["devices"][number] {
  const { facts, limitGBps, expected, expectedTogether, measured, reference, copied } = device;
  const speed = speedNow(device);
  const rows = (rates: Rates, expectedRates: Rates | undefined, together: boolean) =>
    linkDirections.map((direction) => ({
      direction,
      together,
      gigabytesPerSecond: rates[direction],
      shareOfLimit: rates[direction] === null || limitGBps === null ? null : rates[direction] / limitGBps,
      expectedGigabytesPerSecond: expectedRates?.[direction] ?? null,
    }));
  return {
    ordinal: facts.ordinal,
    name: facts.name,
    uuid: facts.uuid,
    pciBusId: facts.pciBusId,
    link: speed && `PCIe ${speedText(speed)}`,
    limitGigabytesPerSecond: limitGBps,
    reference: reference?.source ?? null,
    ...(copied !== undefined && {
      copies: {
        made: copied.made,
        proven: copied.proven,
        provenEachWay: Math.min(copied.provenH2d, copied.provenD2h),
      },
    }),
    rates: [
      ...rows(measured.pinned, expected, false),
      ...(measured.together === null ? [] : rows(measured.together, expectedTogether, true)),
    ],
  };
}

/** Links and counters that measured copies refute, so no cause uses them. */
function refutedLinks(device: DeviceExamination): string[] {
  const { ordinal } = device.facts;
  const links = copiesPastPcie(device) ? [] : linksOf(device).refuted;
  return [
    ...links.map(
      (text) => `link of device ${ordinal}, reported as ${text}: copies were faster, so the report is wrong`,
    ),
    ...(areReplaysRefuted(device)
      ? [
          `replay counter of device ${ordinal}: it rose by ${reportedReplays(device)}, more than there were packets, so the counter is wrong`,
        ]
      : []),
  ];
}

/** Facts that NVML did not report. */
function unseenHealth(devices: readonly DeviceExamination[]): string[] {
  const reported = devices.flatMap(({ health }) => health.underLoad ?? health.before ?? []);
  return linesIf([
    [
      devices.some(({ health }) => health.before === null),
      "link, clocks, ECC and other users of a device: there is no NVML",
    ],
    [reported.some(({ replays }) => replays === null), "replay counters: NVML does not report them"],
    [
      reported.some(({ clockReasons }) => clockReasons === null),
      "reasons for lower clocks: NVML does not report them",
    ],
    [
      devices.some(({ health, others }) => health.before !== null && others === null),
      "other processes on the device: NVML does not list them here",
    ],
  ]);
}
