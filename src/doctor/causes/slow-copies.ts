import { formatWholeShare } from "../../draw/numbers.js";
import { leastLostShare } from "../../results/over-time.js";
import type { Found } from "../diagnosis.js";
import { type DeviceExamination, type Examination, linkDirections, shortfallGBps } from "../examination.js";
import { costOf, directionName, gigabytes, nameOf } from "./cost.js";

/**
 * Single copies that take many times as long: the median is normal, but a program gets less. Copies of an emulated
 * device without a link are made by the CPU, which other programs interrupt.
 */
export function slowCopies(device: DeviceExamination, { emulated }: Pick<Examination, "emulated">): Found[] {
  const { measured, facts, expected } = device;
  const losses = linkDirections.flatMap((way) => {
    const share = measured.slowShare?.[way] ?? 0;
    const rate = measured.pinned[way];
    const isOfLink = !emulated || expected[way] !== null;
    return rate === null || !isOfLink || share < leastLostShare
      ? []
      : [{ way, share, rate, lost: rate * share }];
  });
  if (losses.length === 0) return [];
  const most = Math.max(...losses.map(({ share }) => share));
  const isMedianSlow = losses.some(({ way }) => shortfallGBps(device, way) !== null);
  return [
    {
      cause: "slow-copies",
      device: facts.ordinal,
      weight: "costs",
      summary: `Single slow copies take ${formatWholeShare(most)} of the time of ${nameOf(device)}${isMedianSlow ? ", besides what its median loses" : ", while its median is not affected"}.`,
      evidence: losses.map(
        ({ way, rate, lost }) =>
          `${directionName[way]}: the average is ${gigabytes(rate - lost)}, the median ${gigabytes(rate)}`,
      ),
      cost: costOf(Object.fromEntries(losses.map(({ way, lost }) => [way, lost])), "measured", "slow"),
      fix: "Check whether another program copies at times, the link retrains (replay counters) or the hypervisor takes CPU time (steal time); `pinbench run` shows which copies are slow.",
      sureness: "certain",
    },
  ];
}

/**
 * Slow copies of a device that another process used are a cost of that process: copies wait for its copies. `rest` are
 * those of devices without other users.
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
