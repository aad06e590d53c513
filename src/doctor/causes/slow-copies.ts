import { formatWholeShare } from "../../draw/numbers.js";
import { leastLostShare } from "../../results/over-time.js";
import type { Found } from "../diagnosis.js";
import {
  type DeviceExamination,
  type Examination,
  eachWay,
  linkDirections,
  shortfallGBps,
} from "../examination.js";
import { costOf, directionName, gigabytes, nameOf } from "./cost.js";
import type { Seen } from "./share-loss.js";

/**
 * Single copies take many times as long: the median is normal, but programs get less. On an emulated device without a
 * link the CPU copies, and other programs interrupt it.
 */
export function slowCopies(
  device: DeviceExamination,
  { emulated }: Pick<Examination, "emulated">,
): Seen | null {
  const { measured, expected } = device;
  const shares = eachWay((way) => {
    const isOfLink = !emulated || expected[way] !== null;
    const share = measured.slowShare?.[way] ?? 0;
    return measured.pinned[way] !== null && isOfLink && share >= leastLostShare ? share : 0;
  });
  const slow = linkDirections.filter((way) => shares[way] > 0);
  if (slow.length === 0) return null;
  const lost = eachWay((way) => measured.pinned[way]! * shares[way]);
  const isMedianSlow = slow.some((way) => shortfallGBps(device, way) !== null);
  return {
    weight: "costs",
    summary: `Single slow copies take ${formatWholeShare(Math.max(shares.h2d, shares.d2h))} of the time of ${nameOf(device)}${isMedianSlow ? ", besides what its median loses" : ", while its median is not affected"}.`,
    evidence: slow.map((way) => {
      const rate = measured.pinned[way]!;
      return `${directionName[way]}: the average is ${gigabytes(rate - lost[way])}, the median ${gigabytes(rate)}`;
    }),
    cost: costOf(lost, "measured", "slow"),
    fix: "Check whether another program copies at times, the link retrains (replay counters) or the hypervisor takes CPU time (steal time); `pinbench run` shows which copies are slow.",
  };
}

/**
 * Attributes slow copies of a device to another process that used it, whose copies they waited for. `rest`: slow copies
 * of unshared devices.
 */
export function blameSharing(
  findings: readonly Found[],
  slow: readonly Found[],
): { causes: readonly Found[]; rest: readonly Found[] } {
  const isSharing = ({ cause, sureness }: Found) => cause === "device-shared" && sureness === "likely";
  const causes = findings.map((finding): Found => {
    const effect = isSharing(finding) ? slow.find(({ device }) => device === finding.device) : undefined;
    if (effect === undefined) return finding;
    const evidence = [...finding.evidence, ...effect.evidence];
    return { ...finding, weight: "costs", cost: finding.cost ?? effect.cost, evidence };
  });
  const shared = new Set(findings.filter(isSharing).map(({ device }) => device));
  return { causes, rest: slow.filter(({ device }) => !shared.has(device)) };
}
