import type { Cost, Found } from "../diagnosis.js";
import type { DeviceExamination, Examination } from "../examination.js";
import { costOf, findFasterNode, type LinkDirection, linkDirections, lossOf } from "./cost.js";
import { linksOf } from "./path-links.js";

/** What a cause leaves of the rate of plain pinned copies by itself: 0.25 is a quarter; 0 if nothing bounds what it costs. */
type LeftShares = Readonly<Record<LinkDirection, number>>;

/**
 * What bounds a cause's cost, the best known first: an experiment without the cause; the limit of a link; what a mechanism
 * takes at most; and nothing, where a cause may be behind whatever no other cause explains.
 */
const bounds = ["measured", "limit", "at most", "open"] as const;

/** The most that a cause can cost plain pinned copies. */
export interface Claim {
  leaves: LeftShares;
  bound: (typeof bounds)[number];
}

/**
 * A cause before all causes share what is lost. `cost` is that of other copies than plain pinned ones. A claim that gets no
 * share makes a weight of "costs" a risk.
 */
export interface Suspect extends Found {
  claim?: Claim;
}

/** What is lost of a rate that would be `wanted`, and what causes explain of it, in GB/s. */
interface Loss {
  wanted: number;
  found: number;
  explained: number;
  /** Of the rate with which these causes leave copies, the share that was found: less than 1 where something else is slow. */
  keptShare: number;
}

/** Causes with their costs, and what is left of each device's loss, by its ordinal. */
export interface SharedLoss {
  findings: Found[];
  losses: ReadonlyMap<number, Readonly<Record<LinkDirection, Loss | null>>>;
}

/** A cost below this share of the rate that was found is none. */
const leastCostShare = 0.01;

/**
 * Divides what each device's plain pinned copies lose among its causes, so that costs add up to at most the loss. Causes
 * slow copies down one after the other, as factors. A factor's part of the loss is that of its logarithm in the logarithm of
 * the whole: the additive LMDI decomposition (Ang, "The LMDI approach to decomposition analysis: a practical guide", Energy
 * Policy 33, 2005), which leaves no rest for what factors do together. Causes take their part in the order of what bounds
 * them, each at most what is left; what is left in the end is not explained.
 */
export function shareLoss(
  { devices }: Pick<Examination, "devices">,
  suspects: readonly Suspect[],
): SharedLoss {
  const costs = new Map<Suspect, Cost>();
  const losses: [number, Record<LinkDirection, Loss | null>][] = devices.map((device) => {
    const own = suspects
      .filter((suspect) => suspect.claim !== undefined && suspect.device === device.facts.ordinal)
      .sort((a, b) => bounds.indexOf(a.claim!.bound) - bounds.indexOf(b.claim!.bound));
    const shares = new Map<Suspect, Record<LinkDirection, number>>();
    const shareOut = (direction: LinkDirection) => {
      const loss = lossIn(device, direction, own);
      if (loss === null) return null;
      const whole = Math.log(loss.wanted / loss.found);
      let left = whole;
      for (const suspect of own) {
        const factor = Math.min(left, -Math.log(suspect.claim!.leaves[direction]));
        const part = (factor / whole) * (loss.wanted - loss.found);
        if (!(part >= leastCostShare * loss.found)) continue;
        left -= factor;
        loss.explained += part;
        const share = shares.get(suspect) ?? { h2d: 0, d2h: 0 };
        shares.set(suspect, { ...share, [direction]: part });
      }
      loss.keptShare = Math.exp(-left);
      return loss;
    };
    const ofDevice = { h2d: shareOut("h2d"), d2h: shareOut("d2h") };
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
 * What a direction loses to what a healthy machine reaches, with the lanes that a fuller slot would have, or to what another
 * node was measured to reach; if neither is known, to what the causes with a known limit allow. Null without a loss.
 */
function lossIn(device: DeviceExamination, direction: LinkDirection, own: readonly Suspect[]): Loss | null {
  const found = device.measured.pinned[direction];
  if (found === null || found <= 0) return null;
  const expected = device.expected[direction];
  const isSlotNarrow = own.some(({ cause, weight }) => cause === "slot-narrow" && weight === "costs");
  const { card, expectedFor } = linksOf(device);
  const slotGain =
    isSlotNarrow && card !== null && expectedFor !== null ? Math.max(1, card / expectedFor) : 1;
  const slower = lossOf(device, direction, slotGain);
  const gain = findFasterNode(device)?.gains[direction] ?? 0;
  const known =
    expected === null
      ? own.reduce(
          (rate, { claim }) => (claim!.bound === "limit" ? rate / claim!.leaves[direction] : rate),
          found,
        )
      : 0;
  const wanted = Math.max(slower === null ? 0 : found + slower, found + gain, known);
  return wanted > found ? { wanted, found, explained: 0, keptShare: found / wanted } : null;
}

/** A claim of the same share in both directions, such as of a link that is half as wide. */
export function claimOf(leaves: number, bound: Claim["bound"]): Claim {
  return { leaves: { h2d: leaves, d2h: leaves }, bound };
}

/** What no cause explains of a device's loss, by direction, beyond what may be chance; null where nothing is left. */
export function unexplainedOf(
  { losses }: SharedLoss,
  { facts, expected, reference }: DeviceExamination,
): Readonly<Record<LinkDirection, number | null>> {
  const restIn = (direction: LinkDirection) => {
    const loss = losses.get(facts.ordinal)?.[direction] ?? null;
    if (loss === null || expected[direction] === null) return null;
    const { wanted, found, explained, keptShare } = loss;
    // Costs are of medians too: beside what is explained, a tenth may be missing.
    const chance = explained > 0 ? (reference?.tolerance ?? 0) + 0.1 : 0;
    return 1 - keptShare > chance ? wanted - found - explained : null;
  };
  return Object.fromEntries(linkDirections.map((direction) => [direction, restIn(direction)])) as {
    h2d: number | null;
    d2h: number | null;
  };
}
