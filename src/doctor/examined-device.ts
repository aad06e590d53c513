import type { DeviceSharing, MeasuringTurn } from "../host/device-sharing.js";
import type { OtherProgram } from "../host/other-programs.js";
import type { PreparedRun } from "../measure/prepare.js";
import type { Backend } from "../native/backend.js";
import type { NativeDriver } from "../native/contract.js";
import type { DeviceFacts, DeviceHealth } from "../native/device-contract.js";
import { expectationOf, linkOfSlot, type SiteReference } from "../reference/expectation.js";
import { pcieLimitGBps } from "../results/device-facts.js";
import { isRefuted, speedNow } from "./causes/path-links.js";
import { type CopyBench, noRates } from "./copy-bench.js";
import type { Compared, CopyCounts, DeviceExamination } from "./examination.js";
import { correctedBetween, isSlotSeen, type PciPath, readPciPath } from "./facts/pci-path.js";

export interface ExamineOptions extends Pick<MeasuringTurn<unknown>, "sharing" | "signal" | "onActivity"> {
  prepared: Pick<PreparedRun, "plan" | "backend" | "createRendezvous" | "devices">;
  reference: SiteReference | null;
  /** Folder with /proc and /sys: "/", or one that emulates a machine. */
  root: string;
  /** Whether to examine only pinned copies and NVML's report. */
  isQuick: boolean;
  /** On the clock of performance.now(): nothing starts that would probably end later. */
  endMs: number;
}

export interface Subject
  extends Pick<
    DeviceExamination,
    "facts" | "health" | "measured" | "activityBefore" | "failure" | "failureKind" | "wrongCopies"
  > {
  site: SiteReference | null;
  bench: CopyBench | null;
  path: { before: PciPath; underLoad: PciPath | null };
  copied: CopyCounts;
}

/** Facts about the whole examination. */
interface ExaminedContext extends Pick<ExamineOptions, "sharing" | "root"> {
  backend: Pick<Backend, "driver" | "facts">;
  /** Why no device can be used any more; null if they can. */
  lost: string | null;
  /** Number of devices that copied at the same time; 0 if not measured. */
  together: number;
}

export async function beginSubject(
  facts: DeviceFacts,
  site: SiteReference | null,
  driver: NativeDriver,
  root: string,
): Promise<Subject> {
  return {
    facts,
    site,
    bench: null,
    path: { before: readPciPath(facts.pciBusId, root), underLoad: null },
    health: { before: await readHealth(driver, facts), underLoad: null, after: null },
    activityBefore: await driver.readActivity(facts.pciBusId).catch(() => null),
    measured: {
      pinned: noRates,
      pageable: noRates,
      registered: { rates: noRates, refused: null },
      together: null,
      nodes: [],
      latency: null,
    },
    failure: null,
    failureKind: "other",
    wrongCopies: 0,
    copied: { made: 0, proven: 0, provenH2d: 0, provenD2h: 0, bytes: 0 },
  };
}

/** A device's examination, made after all measurements and before the device is closed. */
export async function examinedDevice(
  subject: Subject,
  { backend, sharing, root, lost, together }: ExaminedContext,
): Promise<DeviceExamination> {
  const { site: _site, bench: _bench, path, ...own } = subject;
  const { facts, failure, failureKind } = own;
  const seen = path.underLoad ?? path.before;
  const speed = speedNow({ ...own, path: seen });
  return {
    ...own,
    ...comparedWith(subject, backend.facts.emulated, together),
    path: seen,
    correctableErrors: correctedBetween(path.before, readPciPath(facts.pciBusId, root)),
    others: await othersOn(facts, backend, sharing),
    limitGBps: speed === null ? null : pcieLimitGBps(facts, speed),
    failure: failure ?? lost,
    failureKind: failure === null && lost !== null ? "another" : failureKind,
  };
}

/**
 * Measured and expected rates of a device: healthy rates over the best link of card and slot, also for `copying`
 * devices that copy at once. No expectations for a part of a device or without PCIe. If copies are faster than that
 * link allows, the card's best link counts.
 */
export function comparedWith(
  { facts, health, path, measured, site }: Subject,
  emulated: boolean,
  copying = 0,
): Compared {
  const link = health.underLoad?.link ?? health.before?.link ?? facts.link;
  const [port] = path.before.ports;
  const { c2cLinks, migEnabled } = health.before ?? {};
  const isPcie = !facts.integrated && !facts.coherent && !((c2cLinks ?? 0) > 0) && migEnabled !== true;
  const reported = {
    generation: link?.maxGeneration ?? port?.maxGeneration ?? null,
    width: link?.maxWidth ?? port?.maxWidth ?? null,
  };
  const card = {
    generation: (health.underLoad ?? health.before)?.cardMaxGeneration ?? port?.maxGeneration ?? null,
    width: port?.maxWidth ?? reported.width,
  };
  const possible = [reported, card].find((speed) => !isRefuted(speed, measured));
  const expectation =
    isPcie && possible !== undefined ? expectationOf({ name: facts.name, emulated }, possible, site) : null;
  if (expectation === null) return { measured, expected: noRates, reference: null };
  const { h2d, d2h, together, source, tolerance } = expectation;
  return {
    measured,
    expected: { h2d, d2h },
    ...(together?.devices === copying && {
      expectedTogether: { h2d: together.h2d, d2h: together.d2h },
    }),
    reference: { source, tolerance },
  };
}

/**
 * NVML's report, with the slot's lanes as the maximum width: in a guest NVML reports the card's. Applies if the slot is
 * hidden and machines with the lanes in use were recorded.
 */
export function asBuilt(
  health: DeviceHealth | null,
  { facts, path, measured }: Subject,
): DeviceHealth | null {
  const link = health?.link ?? null;
  if (health === null || link === null || isSlotSeen(path.before) || isRefuted(link, measured)) return health;
  const { width } = linkOfSlot(facts.name, { generation: link.maxGeneration, width: link.maxWidth }, link);
  return { ...health, link: { ...link, maxWidth: width } };
}

/** NVML's report on a device now; null without one. */
export function readHealth(driver: NativeDriver, { pciBusId }: DeviceFacts): Promise<DeviceHealth | null> {
  return driver.readHealth(pciBusId).catch(() => null);
}

/** Other programs that use a device; null if unknown. */
async function othersOn(
  { ordinal, pciBusId }: DeviceFacts,
  { driver }: Pick<Backend, "driver">,
  sharing: DeviceSharing | null,
): Promise<readonly OtherProgram[] | null> {
  await sharing?.look([ordinal], [], true);
  const record = sharing?.records.find(({ device }) => device === ordinal);
  if (record !== undefined) {
    const { others, unseen } = record;
    if (others.length === 0 && unseen.includes("programs")) return null;
    return others;
  }
  const listed = await driver.readProcesses(pciBusId).catch(() => null);
  if (listed === null) return null;
  const unknown = { kind: "program", name: null, since: null, wasThereBefore: true } as const;
  return listed.filter(({ pid }) => pid !== process.pid).map((one) => ({ ...unknown, ...one }));
}
