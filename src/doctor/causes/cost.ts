import type { Cost } from "../diagnosis.js";
import { type DeviceExamination, type Rates, shortfallGBps } from "../examination.js";
import { linksOf } from "./path-links.js";

/** The directions that a device's link carries. */
export const linkDirections = ["h2d", "d2h"] as const;
export type LinkDirection = (typeof linkDirections)[number];

/** What is lost in each direction, in GB/s; null or 0 where nothing is, or where it is not known. */
export type Losses = Partial<Readonly<Record<LinkDirection, number | null>>>;

/**
 * The losses as one cost: of the direction that loses more, or of both, with their mean, where the other loses at least
 * half as much. Null where nothing is lost.
 */
export function costOf(losses: Losses, basis: Cost["basis"]): Cost | null {
  const [toDevice, fromDevice] = [losses.h2d ?? 0, losses.d2h ?? 0];
  const most = Math.max(toDevice, fromDevice);
  if (!(most > 0)) return null;
  if (Math.min(toDevice, fromDevice) * 2 >= most) {
    return { direction: "both", gigabytesPerSecond: (toDevice + fromDevice) / 2, basis };
  }
  return { direction: toDevice > fromDevice ? "h2d" : "d2h", gigabytesPerSecond: most, basis };
}

/** What copies would gain if their link had a limit so many times as high: they use the same share of it. */
export function lossesBelow(rates: Rates, timesTheLimit: number): Losses {
  const lossOf = (rate: number | null) => (rate === null ? null : rate * (timesTheLimit - 1));
  return { h2d: lossOf(rates.h2d), d2h: lossOf(rates.d2h) };
}

/**
 * How far pinned copies are below what a healthy machine reaches, beyond what the link as it is, or another NUMA node,
 * explains already; null for a direction where they are not, or where it is not known.
 */
export function unexplainedLosses(device: DeviceExamination): Losses {
  const { asIs, best } = linksOf(device);
  const linkShare = asIs === null || best === null ? 1 : Math.min(1, asIs / best);
  const { expected, measured, reference = null } = device;
  const lossOf = (direction: LinkDirection) => {
    const wanted = expected[direction];
    const rates = [measured.pinned, ...measured.nodes.map(({ rates }) => rates)].flatMap(
      (rate) => rate[direction] ?? [],
    );
    return shortfallGBps(
      {
        expected: { ...expected, [direction]: wanted === null ? null : wanted * linkShare },
        measured: {
          ...measured,
          pinned: { ...measured.pinned, [direction]: rates.length === 0 ? null : Math.max(...rates) },
        },
        reference,
      },
      direction,
    );
  };
  return { h2d: lossOf("h2d"), d2h: lossOf("d2h") };
}

/** Whether copies are slower than anything so far explains. */
export function isSlow(device: DeviceExamination): boolean {
  return costOf(unexplainedLosses(device), "estimated") !== null;
}

/** Whether it is known that copies reach, in each direction that was measured, what a healthy machine does. */
export function reachesExpectation(device: DeviceExamination): boolean {
  const known = linkDirections.filter(
    (direction) => device.expected[direction] !== null && device.measured.pinned[direction] !== null,
  );
  return known.length > 0 && known.every((direction) => shortfallGBps(device, direction) === null);
}

/** A rate for people: "27.3 GB/s", rounded down. */
export function gigabytes(rateGBps: number): string {
  return `${(Math.floor(rateGBps * 10 * (1 + 1e-12)) / 10).toFixed(1)} GB/s`;
}

/** The rates of both directions for people: "27.3 GB/s to the device, 25.0 GB/s back"; those that are not known are left out. */
export function ratesText({ h2d, d2h }: Pick<Rates, LinkDirection>): string {
  const parts = [
    h2d === null ? null : `${gigabytes(h2d)} to the device`,
    d2h === null ? null : `${gigabytes(d2h)} back`,
  ];
  return parts.filter((part) => part !== null).join(", ");
}
