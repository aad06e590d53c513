import { formatSize } from "../settings/units.js";
import { listed } from "./wording.js";

/** More than this many are counted instead of named. */
const mostNamed = 3;

/** Which of the measured sizes these are, in words: "at every size", "from 1 MiB up", "at 64 KiB and 16 MiB". */
export function describeSizes(some: readonly number[], all: readonly number[]): string {
  const named = `at ${listed(some.map(formatSize))}`;
  if (some.length === 1) {
    return named;
  }
  if (some.length === all.length) {
    return "at every size";
  }
  const first = all.indexOf(some[0] ?? Number.NaN);
  const contiguous = some.every((size, index) => all[first + index] === size);
  if (contiguous && first + some.length === all.length) {
    return `from ${formatSize(some[0] ?? 0)} up`;
  }
  if (contiguous && first === 0) {
    return `up to ${formatSize(some.at(-1) ?? 0)}`;
  }
  return some.length <= mostNamed ? named : `at ${some.length} of ${all.length} sizes`;
}
