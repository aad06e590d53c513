import { formatGBps, formatMicroseconds, roundUp } from "../draw/numbers.js";
import { counted, listed } from "../draw/words.js";
import type { FigureKind, FleetOutlier } from "./fleet-document.js";

/** Sentences of a fleet document. They contain unchanged node names; printing makes those safe. */

/** A loss or a bound, rounded up: 0.2941 is "29.5 %". */
export function lossText(share: number): string {
  return `${roundUp(100 * share, 1)} %`;
}

export const unitName = { "GB/s": "GB/s", us: "µs" } as const;

/** A figure with its unit, rounded towards slower: "27.6 GB/s". */
export function figureText(value: number, unit: FigureKind["unit"]): string {
  return `${bareFigure(value, unit)} ${unitName[unit]}`;
}

export function againstText({ figure, expected, unit }: FleetOutlier["cells"][number]): string {
  return `${bareFigure(figure, unit)} of ${figureText(expected, unit)}`;
}

export function bareFigure(value: number, unit: FigureKind["unit"]): string {
  return unit === "us" ? formatMicroseconds(value) : formatGBps(value);
}

const mostNamed = 3;

export function someOf(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return listed([...names.slice(0, mostNamed), ...(more > 0 ? [`${more} more`] : [])]);
}

/** A sentence about two parts of the nodes. It blames none, because no figure shows which part is healthy. */
export function partText(
  { hosts, change, copies }: { hosts: readonly string[]; change: number; copies: string },
  others: number,
  traits: readonly string[],
): string {
  const cause = traits.length === 0 ? "" : `. Only these have ${someOf(traits)}`;
  return `The nodes differ by ${lossText(-change)} in ${copies}: one part is slow, ${counted(hosts.length, "node")} (${someOf(hosts)}) against ${others}${cause}.`;
}
