import { formatWholeShare, roundUp } from "../../draw/numbers.js";
import type { DeviceExamination } from "../examination.js";
import { isSlotSeen } from "../facts/pci-path.js";
import { isSlow, ratesText, reachesExpectation } from "./cost.js";
import { copiesPastPcie, limitOf, linksOf, type PathLink, speedText } from "./path-links.js";
import { claimOf, type Seen } from "./share-loss.js";

/**
 * A link on the path that has, during copies, fewer lanes or a lower generation than both ends support. One finding
 * names all such links; the slowest counts. An idle device may have lowered its link. A guest does not see the slot,
 * and clouds have slots narrower than the card, so without a reference this may be by design.
 */
export function linkNarrow(device: DeviceExamination): Seen | null {
  const { pinned } = device.measured;
  if (copiesPastPcie(device) || (pinned.h2d === null && pinned.d2h === null)) return null;
  const path = linksOf(device);
  const narrow = path.links.filter(isTrainedDown);
  const slowest = narrow.find(({ now }) => limitOf(now) === path.asIs) ?? narrow[0];
  if (slowest === undefined) return null;
  const isGuest = !isSlotSeen(device.path);
  const mayBeBuilt =
    isGuest && device.reference === null && slowest.now.generation === slowest.best.generation;
  const gain = path.asIs === null || path.best === null ? 1 : path.best / path.asIs;
  const now = speedText(slowest.now);
  const best = speedText(slowest.best);
  return {
    weight: mayBeBuilt ? "risk" : "costs",
    summary: slowest.isDevices
      ? `The device's PCIe link runs at ${now} during copies; ${isGuest ? "the card supports" : "card and slot support"} ${best}.`
      : `A link between the device and the CPU runs at ${now}; both its ends support ${best}.`,
    evidence: narrow.map(({ below, above, now, best }) =>
      above === null
        ? `${below}: ${speedText(now)} of ${speedText(best)}`
        : `${below} to ${above}: ${speedText(now)} of ${speedText(best)}`,
    ),
    ...(!mayBeBuilt && { claim: claimOf(1 / gain, "limit") }),
    fix: isGuest
      ? "Find out on the host, or from its maintainer, whether the slot is the limit or the link trained down."
      : slowest.isDevices
        ? "Power the machine off, reseat the card or its riser, and check the link again; if it is still slow, try another slot."
        : "Have the board between card and CPU checked (riser, backplane or switch): its link trained down.",
    sureness: isGuest ? "likely" : "certain",
  };
}

function isTrainedDown({ now, best }: PathLink): boolean {
  const isBelow = (is: number | null, could: number | null) => is !== null && could !== null && is < could;
  return isBelow(now.width, best.width) || isBelow(now.generation, best.generation);
}

/**
 * A slot, or a bridge above it, that supports less than the card. Another slot may have more lanes; an older generation
 * cannot be changed. Not reported if a link has trained down further.
 */
export function slotNarrow(device: DeviceExamination): Seen | null {
  if (copiesPastPcie(device)) return null;
  const path = linksOf(device);
  const { asIs, best, card, cardSpeed, expectedFor } = path;
  if (best === null || card === null || best >= card || (asIs !== null && asIs < best)) return null;
  const narrowest = path.links.find((link) => limitOf(link.best) === best)!;
  const hasFewerLanes = (narrowest.best.width ?? 0) < (cardSpeed.width ?? 0) && isSlotSeen(device.path);
  const part = narrowest.isDevices ? "slot" : "bridge above the slot";
  const where =
    narrowest.above === null ? "card and slot together" : `${narrowest.below} to ${narrowest.above}`;
  return {
    weight: hasFewerLanes ? "costs" : "explains",
    summary: `The card supports ${speedText(cardSpeed)}, its ${part} only ${speedText(narrowest.best)}.`,
    evidence: [`${where}: ${speedText(narrowest.best)} at most; the card alone: ${speedText(cardSpeed)}`],
    // The expectation is for this slot, without the bridges above it.
    ...(hasFewerLanes
      ? { claim: claimOf(best / card, "limit") }
      : !reachesExpectation(device) && { claim: claimOf(best / (expectedFor ?? best), "limit") }),
    fix: hasFewerLanes
      ? `Move the card to a slot with ${cardSpeed.width} lanes, or check in the firmware's settings whether this slot's lanes are split (bifurcation).`
      : null,
  };
}

/** More errors during an examination are not chance: most healthy links have none for days. */
const mostChanceErrors = 10;

/**
 * Maximum cost of an error, in symbols of each lane: the sender waits for its replay timer (31 000 symbol times,
 * REPLAY_TIMER Limits in section 3.6.2.1 of the PCI Express Base Specification) and sends the data again.
 */
const mostSymbolsOfError = 2 * 31_000;

/** Packets were resent, or ports corrected errors, during copies. */
export function linkErrors(device: DeviceExamination): Seen | null {
  const replays = replaysOf(device);
  const corrected = device.correctableErrors ?? 0;
  const errors = Math.max(replays, corrected);
  if (errors <= mostChanceErrors) return null;
  const slow = isSlow(device);
  const left = slow ? leftByErrors(device, errors) : null;
  return {
    weight: left === null ? "risk" : "costs",
    summary: "The PCIe link has errors during copies and sends the damaged packets again.",
    evidence: [
      ...(replays > 0 ? [`${replays} packets sent again while copies ran (NVML's replay counter)`] : []),
      ...(corrected > 0 ? [`${corrected} errors corrected by the ports of the path (AER)`] : []),
      ...(slow ? [`pinned copies: ${ratesText(device.measured.pinned)}, below the expected rate`] : []),
      ...(left === null
        ? []
        : [`these errors take at most ${formatWholeShare(1 - left, roundUp)} of the time`]),
    ],
    ...(left !== null && { claim: claimOf(left, "at most") }),
    fix: "Reseat the card and its riser or cable; if errors come back, replace these first and the card last.",
  };
}

/**
 * The share of the rate that remains with this many errors, for the bytes carried by the link; null if those are
 * unknown.
 */
function leftByErrors({ health, copied }: DeviceExamination, errors: number): number | null {
  const width = health.underLoad?.link?.width ?? null;
  if (copied === undefined || width === null) return null;
  return copied.bytes / (copied.bytes + errors * mostSymbolsOfError * width);
}

function replaysOf(device: DeviceExamination): number {
  return areReplaysRefuted(device) ? 0 : reportedReplays(device);
}

/** Increase of NVML's replay counter during copies. */
export function reportedReplays({ health: { before, after } }: DeviceExamination): number {
  if (before?.replays == null || after?.replays == null) return 0;
  return Math.max(0, after.replays - before.replays);
}

/** Smallest payload of a packet: a completion of 64 bytes, the Read Completion Boundary. */
const leastPacketBytes = 64;

/** Whether the counter rose by more than the possible number of packets, with at most one request for each. */
export function areReplaysRefuted(device: DeviceExamination): boolean {
  const { copied } = device;
  return copied !== undefined && reportedReplays(device) > (2 * copied.bytes) / leastPacketBytes;
}

/** Errors since boot that were not corrected by resending. */
export function linkUncorrected(device: DeviceExamination): Seen | null {
  const evidence = device.path.ports.flatMap(({ name, errors }) =>
    errors !== null && errors.nonFatal + errors.fatal > 0
      ? [`${name}: ${errors.nonFatal} non-fatal and ${errors.fatal} fatal errors since boot (AER)`]
      : [],
  );
  if (evidence.length === 0) return null;
  return {
    summary: "The device's path to the CPU had uncorrectable errors since boot.",
    evidence,
    fix: "Look for the cause in the kernel's log (dmesg | grep -i AER); if none is logged, reseat the card.",
  };
}
