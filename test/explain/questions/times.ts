/** 15 times whose median is `ns`, and which lie within `spread` (0.01 is 1 %) around it: up, and then down again. */
export function timesAround(ns: number, spread = 0.005): number[] {
  return Array.from({ length: 15 }, (_, round) => ns * (1 + (spread * (round - 7)) / 7));
}
