import type { Finding } from "../diagnosis.js";
import type { DeviceExamination, Examination } from "../examination.js";
import { costOf, costOfTheRest, isSlow, lossesBelow, ratesText, reachesExpectation } from "./cost.js";
import { copiesPastPcie, limitOf, linksOf, type PathLink, type PathLinks, speedText } from "./path-links.js";

/**
 * A link of the path that has fewer lanes or a lower generation, while copies run, than both its ends could have. Where
 * several do, the slowest is the one that counts: one finding tells of all. A device that made no copies may have lowered
 * its link for rest. A guest does not see the slot: clouds have cards that are wired with fewer lanes than they have.
 */
export function linkNarrow({ devices, machine }: Examination): Finding[] {
  const isGuest = machine.host.virtualization !== null;
  return devices
    .filter((device) => !copiesPastPcie(device) && hasCopied(device))
    .flatMap((device): Finding[] => {
      const path = linksOf(device);
      const narrow = path.links.filter(isTrainedDown);
      const slowest = narrow.find(({ now }) => limitOf(now) === path.asIs) ?? narrow[0];
      if (slowest === undefined) return [];
      const gain = path.asIs === null || path.best === null ? 1 : path.best / path.asIs;
      const now = speedText(slowest.now);
      const best = speedText(slowest.best);
      return [
        {
          cause: "link-narrow",
          device: device.facts.ordinal,
          weight: "costs",
          summary: slowest.isDevices
            ? `The device's PCIe link runs at ${now} while copies are made; ${isGuest ? "the card" : "card and slot"} could have ${best}.`
            : `A link between the device and the CPU runs at ${now}; both its ends could have ${best}.`,
          evidence: narrow.map(({ below, above, now, best }) =>
            above === null
              ? `${below}: ${speedText(now)} of ${speedText(best)}`
              : `${below} to ${above}: ${speedText(now)} of ${speedText(best)}`,
          ),
          cost: costOf(lossesBelow(device.measured.pinned, gain), "estimated"),
          fix: isGuest
            ? "See on the host, or ask its maintainer, whether the slot has no more, or the link came up with less than it can."
            : slowest.isDevices
              ? "Power the machine off, reseat the card or its riser, and look at the link again; if it stays so, try another slot."
              : "Have the board between card and CPU looked at (riser, backplane or switch): its link came up with less than it can.",
          sureness: isGuest ? "likely" : "certain",
        },
      ];
    });
}

function hasCopied({ measured: { pinned } }: DeviceExamination): boolean {
  return pinned.h2d !== null || pinned.d2h !== null;
}

function isTrainedDown({ now, best }: PathLink): boolean {
  const isBelow = (is: number | null, could: number | null) => is !== null && could !== null && is < could;
  return isBelow(now.width, best.width) || isBelow(now.generation, best.generation);
}

/**
 * A slot, or a bridge further up, that can do less than the card. Fewer lanes cost bandwidth that another slot may give
 * back; an older generation is what the machine is. Not told beside a link that has trained down further.
 */
export function slotNarrow({ devices }: Examination): Finding[] {
  return devices
    .filter((device) => !copiesPastPcie(device))
    .flatMap((device): Finding[] => {
      const path = linksOf(device);
      const { asIs, best, card, cardSpeed } = path;
      if (best === null || card === null || best >= card || (asIs !== null && asIs < best)) return [];
      const narrowest = path.links.find((link) => limitOf(link.best) === best)!;
      const hasFewerLanes = (narrowest.best.width ?? 0) < (cardSpeed.width ?? 0);
      const place = narrowest.isDevices ? "slot" : "bridge above the slot";
      return [
        {
          cause: "slot-narrow",
          device: device.facts.ordinal,
          weight: hasFewerLanes ? "costs" : "explains",
          summary: `The card could have ${speedText(cardSpeed)}, its ${place} no more than ${speedText(narrowest.best)}.`,
          evidence: [evidenceOfSlot(narrowest, path)],
          cost:
            hasFewerLanes || !reachesExpectation(device)
              ? costOf(lossesBelow(device.measured.pinned, card / best), "estimated")
              : null,
          fix: hasFewerLanes
            ? `Move the card to a slot with ${cardSpeed.width} lanes, or see in the firmware's settings whether this one's are split (bifurcation).`
            : null,
          sureness: "certain",
        },
      ];
    });
}

function evidenceOfSlot({ below, above, best }: PathLink, { cardSpeed }: PathLinks): string {
  const where = above === null ? "card and slot together" : `${below} to ${above}`;
  return `${where}: ${speedText(best)} at most; the card alone: ${speedText(cardSpeed)}`;
}

/** So many errors during an examination are no chance: most links of healthy machines have none in days. */
const mostChanceErrors = 10;

/** Packets that were sent again, or errors that the ports corrected, while copies ran. */
export function linkErrors({ devices }: Examination): Finding[] {
  return devices.flatMap((device): Finding[] => {
    const replays = replaysOf(device);
    const corrected = device.correctableErrors ?? 0;
    if (Math.max(replays, corrected) <= mostChanceErrors) return [];
    const slow = isSlow(device);
    return [
      {
        cause: "link-errors",
        device: device.facts.ordinal,
        weight: slow ? "costs" : "risk",
        summary: "The PCIe link makes errors while copies run: what is damaged is sent again.",
        evidence: [
          ...(replays > 0 ? [`${replays} packets sent again while copies ran (NVML's replay counter)`] : []),
          ...(corrected > 0 ? [`${corrected} errors corrected by the ports of the path (AER)`] : []),
          ...(slow ? [`pinned copies: ${ratesText(device.measured.pinned)}, below what is expected`] : []),
        ],
        cost: slow ? costOfTheRest(device) : null,
        fix: "Reseat the card and its riser or cable; if errors come again, replace them, and the card last.",
        sureness: slow ? "likely" : "certain",
      },
    ];
  });
}

function replaysOf({ health: { before, after } }: DeviceExamination): number {
  if (before?.replays == null || after?.replays == null) return 0;
  return Math.max(0, after.replays - before.replays);
}

/** Errors since boot that no retransmission could mend. */
export function linkUncorrected({ devices }: Examination): Finding[] {
  return devices.flatMap((device): Finding[] => {
    const evidence = device.path.ports.flatMap(({ name, errors }) =>
      errors !== null && errors.nonFatal + errors.fatal > 0
        ? [`${name}: ${errors.nonFatal} non-fatal and ${errors.fatal} fatal errors since boot (AER)`]
        : [],
    );
    if (evidence.length === 0) return [];
    return [
      {
        cause: "link-uncorrected",
        device: device.facts.ordinal,
        weight: "risk",
        summary: "The device's way to the CPU had errors since boot that could not be corrected.",
        evidence,
        cost: null,
        fix: "Look for what happened in the kernel's log (dmesg | grep -i AER), and reseat the card if it is not explained there.",
        sureness: "certain",
      },
    ];
  });
}
