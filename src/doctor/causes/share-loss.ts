import type { Cost, Found } from "../diagnosis.js";
import {
  type DeviceExamination,
  type Examination,
  eachWay,
  type LinkDirection,
  type Rates,
  shortfallGBps,
} from "../examination.js";
import { costOf, findFasterNode } from "./cost.js";
import { linksOf } from "./path-links.js";

/**
 * How a cause's maximum cost is known, most certain first: an experiment without the cause, the limit of a link, the
 * maximum of a mechanism, or not at all.
 */
const bounds = ["measured", "limit", "at most", "open"] as const;

/** The maximum cost of a cause for plain pinned copies. */
export interface Claim {
  /** Share of the pinned rate that remains with this cause alone: 0.25 is a quarter; 0 if its cost has no bound. */
  leaves: Readonly<Record<LinkDirection, number>>;
  bound: (typeof bounds)[number];
}

/**
 * What a cause reports about a device or the machine. The default of `weight` is "costs" if there is a `claim`,
 * otherwise "risk"; that of `sureness` is "certain". `cost` is for copies other than plain pinned ones.
 */
export interface Seen
  extends Pick<Found, "summary" | "evidence" | "action">,
    Partial<Pick<Found, "weight" | "cost" | "fix" | "sureness">> {
  claim?: Claim;
}

/** A finding before the loss is divided. If its claim gets no share, the weight "costs" becomes "risk". */
export interface Suspect extends Found {
  claim?: Claim;
}

/** The loss from rate `usual` to rate `found`, and the explained part, in GB/s. */
interface Loss {
  usual: number;
  found: number;
  explained: number;
  /** Found rate, relative to the rate that these causes explain; below 1 if something else is slow too. */
  keptShare: number;
}

/** Causes with their costs, and losses by device ordinal. */
export interface SharedLoss {
  findings: Found[];
  losses: ReadonlyMap<number, Readonly<Record<LinkDirection, Loss | null>>>;
}

/** Smaller costs, relative to the measured rate, are not reported. */
const leastCostShare = 0.01;

/**
 * Divides the loss of each device's plain pinned copies among its causes; costs add up to at most the loss. Causes are
 * factors of the rate. A factor's part of the loss is its logarithm's share of the whole: the additive LMDI
 * decomposition (Ang, "The LMDI approach to decomposition analysis: a practical guide", Energy Policy 33, 2005), which
 * has no rest for combined effects. Causes take their parts in the order of `bounds`; the rest is unexplained. If CPUs
 * are busy, an "at most" cause gets half of what is left or less: nobody measured what the busy CPUs cost.
 */
export function shareLoss(
  { devices }: Pick<Examination, "devices">,
  suspects: readonly Suspect[],
): SharedLoss {
  const isCpuTaken = suspects.some(({ cause }) => cause === "cpus-taken");
  const costs = new Map<Suspect, Cost>();
  const losses: [number, Record<LinkDirection, Loss | null>][] = devices.map((device) => {
    const own = suspects
      .filter((suspect) => suspect.claim !== undefined && suspect.device === device.facts.ordinal)
      .sort((a, b) => bounds.indexOf(a.claim!.bound) - bounds.indexOf(b.claim!.bound));
    const shares = new Map<Suspect, Record<LinkDirection, number>>();
    const shareOut = (direction: LinkDirection) => {
      const loss = lossIn(device, direction, own);
      if (loss === null) return null;
      const whole = Math.log(loss.usual / loss.found);
      let left = whole;
      for (const suspect of own) {
        const most = isCpuTaken && suspect.claim!.bound === "at most" ? left / 2 : left;
        const factor = Math.min(most, -Math.log(suspect.claim!.leaves[direction]));
        const part = (factor / whole) * (loss.usual - loss.found);
        if (!(part >= leastCostShare * loss.found)) continue;
        left -= factor;
        loss.explained += part;
        const share = shares.get(suspect) ?? { h2d: 0, d2h: 0 };
        shares.set(suspect, { ...share, [direction]: part });
      }
      loss.keptShare = Math.exp(-left);
      return loss;
    };
    const ofDevice = eachWay(shareOut);
    for (const [suspect, share] of shares) {
      costs.set(suspect, costOf(share, suspect.claim!.bound === "measured" ? "measured" : "estimated")!);
    }
    return [device.facts.ordinal, ofDevice];
  });
  const findings = suspects.map((suspect) => {
    const { claim, ...finding } = suspect;
    const cost = finding.cost ?? costs.get(suspect) ?? null;
    const isNone = claim !== undefined && cost === null && finding.weight === "costs";
    return { ...finding, cost, ...(isNone && ({ weight: "risk" } as const)) };
  });
  return { findings, losses: new Map(losses) };
}

/**
 * The loss of a direction, compared with a healthy machine (with the lanes of a wider slot) or a faster NUMA node; if
 * no healthy rate is known, also with the rate without causes of known limit. Null without a loss.
 */
function lossIn(device: DeviceExamination, direction: LinkDirection, own: readonly Suspect[]): Loss | null {
  const found = device.measured.pinned[direction];
  if (found === null || found <= 0) return null;
  const expected = device.expected[direction];
  const isSlotNarrow = own.some(({ cause, weight }) => cause === "slot-narrow" && weight === "costs");
  const { card, expectedFor } = linksOf(device);
  const slotGain =
    isSlotNarrow && card !== null && expectedFor !== null ? Math.max(1, card / expectedFor) : 1;
  const slower = shortfallGBps(device, direction, { share: slotGain });
  const gain = findFasterNode(device)?.gains[direction] ?? 0;
  const known =
    expected === null
      ? own.reduce(
          (rate, { claim }) => (claim!.bound === "limit" ? rate / claim!.leaves[direction] : rate),
          found,
        )
      : 0;
  const usual = Math.max(slower === null ? 0 : found + slower, found + gain, known);
  return usual > found ? { usual, found, explained: 0, keptShare: found / usual } : null;
}

/** A claim for both directions, such as for a link of half the width. */
export function claimOf(leaves: number, bound: Claim["bound"]): Claim {
  return { leaves: eachWay(() => leaves), bound };
}

/** The part of a device's loss that no cause explains, by direction; null if there is none beyond chance. */
export function unexplainedOf(
  { losses }: SharedLoss,
  { facts, expected, reference }: DeviceExamination,
): Rates {
  return eachWay((direction) => {
    const loss = losses.get(facts.ordinal)?.[direction] ?? null;
    if (loss === null || expected[direction] === null) return null;
    const { usual, found, explained, keptShare } = loss;
    // Costs come from medians, so an unexplained tenth may be chance.
    const chance = explained > 0 ? (reference?.tolerance ?? 0) + 0.1 : 0;
    return 1 - keptShare > chance ? usual - found - explained : null;
  });
}
