import { capital } from "../draw/words.js";
import { packageVersion } from "../package-facts.js";
import { noticeOf } from "../results/device-facts.js";
import { actionOf, byWeight, findCauses } from "./causes/causes.js";
import { costOf, directionName, gigabytes, linkDirections, nameOf } from "./causes/cost.js";
import { areReplaysRefuted, toldReplays } from "./causes/link-causes.js";
import { copiesPastPcie, isRefuted, linksOf } from "./causes/path-links.js";
import { type SharedLoss, unexplainedOf } from "./causes/share-loss.js";
import { blameSharing, slowCopies } from "./causes/slow-copies.js";
import type { Diagnosis, Finding, Found } from "./diagnosis.js";
import {
  type DeviceExamination,
  type Examination,
  type Rates,
  shortfallGBps,
  shortfallTogetherGBps,
} from "./examination.js";
import { isPartOfGpu } from "./expectation.js";
import { unseenFacts } from "./facts/machine-facts.js";

/** Facts for a diagnosis besides the examination. */
interface DiagnosisContext {
  backend: Diagnosis["backend"];
  /** Size of the measured copies. */
  sizeBytes: number;
  createdAt: Date;
  wallNs: number;
  labels: Readonly<Record<string, string>>;
}

/** The diagnosis of an examination. Pure. */
export function diagnose(examination: Examination, context: DiagnosisContext): Diagnosis {
  const { machine, devices, omitted = [] } = examination;
  const shared = findCauses(examination);
  const slow = devices.flatMap((device) => slowCopies(device, examination));
  const { causes, rest } = blameSharing(shared.findings, slow);
  const known = causes.map((finding) => (devices.length > 1 ? named(finding) : finding));
  const found: Found[] = [
    // Findings that nothing can work around come before all costs.
    ...devices.flatMap(wrongData),
    ...devices.flatMap(deviceFails),
    ...byWeight([
      ...known,
      ...devices.flatMap((device) => slowTogether(device, known)),
      ...devices.flatMap((device) => unexplained(device, shared)),
      ...rest,
    ]),
  ];
  const findings = found.map((finding) => ({ action: actionOf(finding), ...finding }));
  return {
    schemaVersion: 1,
    kind: "diagnosis",
    tool: { name: "pinbench", version: packageVersion() },
    createdAt: context.createdAt.toISOString(),
    wallNs: context.wallNs,
    backend: context.backend,
    notice: noticeOf(context.backend),
    host: machine.host.hostname,
    sizeBytes: context.sizeBytes,
    labels: { ...context.labels },
    devices: devices.map(deviceDiagnosis),
    findings,
    unseen: [
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

/** A finding that names its device, if there are several. */
function named(finding: Found): Found {
  const { device, summary } = finding;
  if (device === null) return finding;
  return { ...finding, summary: `Device ${device}: ${summary.replace(/^The /, "the ")}` };
}

function wrongData(device: DeviceExamination): Found[] {
  const { wrongCopies = 0, facts } = device;
  if (wrongCopies === 0) return [];
  return [
    {
      cause: "wrong-data",
      device: facts.ordinal,
      weight: "costs",
      summary: `Data came back wrong on ${nameOf(device)}: do not trust this machine's copies.`,
      evidence: [`${wrongCopies} of the buffers that were compared after copying differed`],
      cost: null,
      fix: "Take the machine out of use, and look for PCIe, ECC and IOMMU errors in the kernel log.",
      sureness: "certain",
    },
  ];
}

function deviceFails(device: DeviceExamination): Found[] {
  const { failure = null, outOfMemory = false, failedForAnother = false, facts } = device;
  if (failure === null) return [];
  const isOwn = !outOfMemory && !failedForAnother;
  return [
    {
      cause: "device-fails",
      device: facts.ordinal,
      weight: "costs",
      summary: `${capital(nameOf(device))} could not be measured completely.`,
      evidence: [failure],
      cost: null,
      fix: outOfMemory
        ? "Examine the device again when enough memory is free: nvidia-smi and free show the use of memory."
        : failedForAnother
          ? `Examine this device by itself: pinbench doctor --device ${facts.ordinal}.`
          : "Check the kernel log and nvidia-smi, then reset the device or reboot.",
      sureness: "certain",
      ...(!isOwn && { action: "monitor" }),
    },
  ];
}

/** Devices that are slower together than on other machines, although sysfs shows no shared bridge. */
function slowTogether(device: DeviceExamination, known: readonly Found[]): Found[] {
  const { measured, expectedTogether, facts } = device;
  const isToldOf = known.some(({ cause, device: of }) => cause === "uplink-shared" && of === facts.ordinal);
  if (isToldOf) return [];
  // In a virtual machine they may share a hidden bridge: then the machine is built that way.
  const isWaySeen = device.path.ports.length > 1;
  const losses = linkDirections.flatMap((way) => {
    const lost = shortfallTogetherGBps(device, way);
    return lost === null
      ? []
      : [{ way, lost, found: measured.together![way]!, usual: expectedTogether![way]! }];
  });
  if (losses.length === 0) return [];
  return [
    {
      cause: "slow-together",
      device: facts.ordinal,
      weight: isWaySeen ? "costs" : "risk",
      summary: `${capital(nameOf(device))} slows down more when all devices copy than on other machines of this kind.`,
      evidence: losses.map(
        ({ way, found, usual }) =>
          `${directionName[way]}: ${gigabytes(found)} with the others, instead of the expected ${gigabytes(usual)}`,
      ),
      cost: costOf(Object.fromEntries(losses.map(({ way, lost }) => [way, lost])), "measured", "together"),
      fix: isWaySeen
        ? "Check whether memory modules are missing or all on one node: all devices read and write the same memory."
        : "Check on the host whether the devices share a PCIe switch, or whether memory modules are missing.",
      sureness: "possible",
    },
  ];
}

/** The loss that no cause explains. If other programs use the device or the CPUs, it may be theirs. */
function unexplained(device: DeviceExamination, shared: SharedLoss): Found[] {
  const { facts, expected, measured } = device;
  const rest = unexplainedOf(shared, device);
  const left = linkDirections.filter((way) => rest[way] !== null);
  if (left.length === 0) return [];
  const losses = shared.losses.get(facts.ordinal);
  // Others' copies within host memory slow down those of devices.
  const isDisturbed = shared.findings.some(
    ({ cause, device: of }) => cause === "cpus-taken" || (cause === "device-shared" && of === facts.ordinal),
  );
  const untried = measured.untriedNodes ?? [];
  const isAccused = isOfKind(device) && !isDisturbed && untried.length === 0;
  const isPart = left.some((way) => (losses?.[way]?.explained ?? 0) > 0);
  return [
    {
      cause: "unexplained",
      device: facts.ordinal,
      weight: "costs",
      summary: isPart
        ? `${capital(nameOf(device))} copies slower than the findings explain.`
        : `${capital(nameOf(device))} copies slower than ${isOfKind(device) ? "healthy machines do" : "GPUs of other kinds would over its link"}, and none of the examined causes explains it.`,
      evidence: [
        ...left.map((way) => {
          const explained = losses?.[way]?.explained ?? 0;
          const part = explained > 0 ? `; ${gigabytes(explained)} are explained` : "";
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
      sureness: isAccused ? "certain" : "possible",
      // A reference of other GPUs, other programs at work or nodes not tried are no reason to take this GPU out of use.
      ...(!isAccused && { action: "monitor" }),
    },
  ];
}

function isOfKind({ reference }: Pick<DeviceExamination, "reference">): boolean {
  return reference?.isOfKind !== false;
}

/** Findings after which no figure of the machine can be trusted. */
const beforeAll: readonly string[] = ["wrong-data", "device-fails"];

function deviceDiagnosis(device: DeviceExamination): Diagnosis["devices"][number] {
  const { facts, health, path, limitGBps, expected, expectedTogether, measured, reference, copied } = device;
  const link = health.underLoad?.link ?? facts.link;
  const generation = link?.generation ?? path.ports[0]?.generation ?? null;
  const width = link?.width ?? path.ports[0]?.width ?? null;
  const isKnown = generation !== null && width !== null && !isRefuted({ generation, width }, measured);
  const rows = (rates: Rates, wanted: Rates | undefined, together: boolean) =>
    linkDirections.map((direction) => ({
      direction,
      together,
      gigabytesPerSecond: rates[direction],
      shareOfLimit: rates[direction] === null || limitGBps === null ? null : rates[direction] / limitGBps,
      expectedGigabytesPerSecond: wanted?.[direction] ?? null,
    }));
  return {
    ordinal: facts.ordinal,
    name: facts.name,
    uuid: facts.uuid,
    pciBusId: facts.pciBusId,
    link: isKnown ? `PCIe gen${generation} x${width}` : null,
    limitGigabytesPerSecond: limitGBps,
    reference: reference?.source ?? null,
    isOfKind: isOfKind(device),
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

/** Reports on links and counters that copies refute. No cause uses them. */
function refutedLinks(device: DeviceExamination): string[] {
  const { ordinal } = device.facts;
  const links = copiesPastPcie(device) ? [] : linksOf(device).refuted;
  return [
    ...links.map(
      (text) => `link of device ${ordinal}, reported as ${text}: copies were faster, so the report is wrong`,
    ),
    ...(areReplaysRefuted(device)
      ? [
          `replay counter of device ${ordinal}: it rose by ${toldReplays(device)}, more than there were packets, so the counter is wrong`,
        ]
      : []),
  ];
}

/** Facts that NVML did not report. */
function unseenHealth(devices: readonly DeviceExamination[]): string[] {
  const lines: string[] = [];
  const say = (isUnseen: boolean, line: string) => {
    if (isUnseen) lines.push(line);
  };
  say(
    devices.some(({ health }) => health.before === null),
    "link, clocks, ECC and other users of a device: there is no NVML",
  );
  const told = devices.flatMap(({ health }) => health.underLoad ?? health.before ?? []);
  say(
    told.some(({ replays }) => replays === null),
    "replay counters: NVML does not report them",
  );
  say(
    told.some(({ clockReasons }) => clockReasons === null),
    "reasons for lower clocks: NVML does not report them",
  );
  say(
    devices.some(({ health, others }) => health.before !== null && others === null),
    "other processes on the device: NVML does not list them here",
  );
  return lines;
}

/** The verdict: faults first, then doubts, then a healthy machine; the first that applies decides. */
function verdictOf(
  { emulated, devices }: Examination,
  findings: readonly Finding[],
): Pick<Diagnosis, "verdict" | "reason"> {
  const [first] = findings;
  if (first !== undefined && beforeAll.includes(first.cause)) {
    return { verdict: "inconclusive", reason: first.summary };
  }
  const isFaulty = ({ action }: Finding) => action === "isolate" || action === "reset";
  const unmeasured = devices.filter(({ measured }) =>
    linkDirections.some((way) => measured.pinned[way] === null),
  );
  const unknownYet = (of: readonly DeviceExamination[]) =>
    `It is not known whether ${namesOf(of)} healthy: there was no time left to measure.`;
  const isAccused = ({ facts }: DeviceExamination) =>
    findings.some((one) => one.device === facts.ordinal && (one.weight === "costs" || isFaulty(one)));
  const others = unmeasured.filter((device) => !isAccused(device));
  const andUnknown = others.length === 0 ? "" : ` ${unknownYet(others)}`;
  const costly = findings.filter(({ weight }) => weight === "costs");
  if (costly.length > 0) {
    const more =
      costly.length === 1 ? "" : ` ${costly.length - 1} more ${costly.length === 2 ? "cause" : "causes"}.`;
    const besides = findings.find((finding) => finding.weight !== "costs" && isFaulty(finding));
    return {
      verdict: "costs",
      reason: `${costly[0]!.summary}${more}${besides === undefined ? worthALook(findings) : ` ${besides.summary}`}${andUnknown}`,
    };
  }
  const faulty = findings.find(isFaulty);
  if (faulty !== undefined) {
    const rate =
      devices.length > 0 && devices.every(isAsExpected) ? "Copies are as fast as they should be, but " : "";
    return {
      verdict: "faulty",
      reason: `${rate}${rate === "" ? faulty.summary : uncapital(faulty.summary)}${andUnknown}`,
    };
  }
  if (unmeasured.length > 0) return { verdict: "inconclusive", reason: unknownYet(unmeasured) };
  if (devices.length === 0) return { verdict: "inconclusive", reason: "There was no device to examine." };
  const unknown = devices.filter(({ expected }) => linkDirections.some((way) => expected[way] === null));
  if (unknown.length > 0) {
    const reasons = emulated
      ? ["this is no GPU but an emulated device without a link"]
      : [...new Set(unknown.map(whyUnknown))];
    return {
      verdict: "inconclusive",
      reason: `It is not known whether ${namesOf(unknown)} healthy: ${reasons.join(", or ")}, so there is nothing to compare copies with.`,
    };
  }
  const ofOtherKinds = devices.filter((device) => !isOfKind(device));
  if (ofOtherKinds.length > 0) {
    return { verdict: "inconclusive", reason: ofOtherKinds.map(withoutReference).join(" ") };
  }
  const notJudged = devices
    .flatMap(({ measured: { pageable } }) => [pageable.h2d, pageable.d2h])
    .filter((rate) => rate !== null);
  return {
    verdict: "healthy",
    reason: devices.every(isAsExpected)
      ? `Pinned copies are as fast as on healthy machines of this kind.${
          notJudged.length === 0
            ? ""
            : ` Pageable copies reach ${gigabytes(Math.min(...notJudged))}; there is no reference for them.`
        }${worthALook(findings)}`
      : "Copies are slower than on other machines of this kind, as expected here: the findings say why.",
  };
}

/** A sentence on the number of risks, after others; empty without any. */
function worthALook(findings: readonly Finding[]): string {
  const risks = findings.filter(({ weight }) => weight === "risk").length;
  return risks === 0 ? "" : ` ${risks === 1 ? "One thing is" : `${risks} things are`} worth a look.`;
}

/** Why nothing is expected of a device, as a clause. */
function whyUnknown(device: DeviceExamination): string {
  if (
    isPartOfGpu(device.facts.name) ||
    (device.health.before ?? device.health.underLoad)?.migEnabled === true
  ) {
    return "a part of a GPU shares its link with others";
  }
  return copiesPastPcie(device) ? "copies do not go over PCIe" : "its link is not known";
}

function isAsExpected(device: DeviceExamination): boolean {
  return (
    isOfKind(device) &&
    linkDirections.every(
      (way) =>
        device.expected[way] !== null &&
        device.measured.pinned[way] !== null &&
        shortfallGBps(device, way) === null,
    )
  );
}

/** One sentence on a device without a reference for its kind. */
function withoutReference({ facts, limitGBps, measured }: DeviceExamination): string {
  const rates = linkDirections.map((way) => gigabytes(measured.pinned[way]!)).join(" and ");
  const allowed = limitGBps === null ? "" : ` The link alone allows ${gigabytes(limitGBps)}.`;
  return `No reference for device ${facts.ordinal} (${facts.name}): pinned copies reach ${rates}.${allowed}`;
}

/** "device 1 is", "devices 0, 2 are". */
function namesOf(devices: readonly DeviceExamination[]): string {
  const ordinals = devices.map(({ facts }) => facts.ordinal);
  return ordinals.length === 1 ? `device ${ordinals[0]} is` : `devices ${ordinals.join(", ")} are`;
}

function uncapital(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
