import type { CsvValue } from "../draw/csv.js";
import type { PinnedPool, Pinning } from "./pinning-document.js";

/** A column's name, and its value of a pool. */
type Column = readonly [name: string, of: (pool: PinnedPool, pinning: Pinning) => CsvValue];

const columns: readonly Column[] = [
  ["size_bytes", ({ sizeBytes }) => sizeBytes],
  ["way", ({ way }) => way],
  ["pieces", ({ pieces }) => pieces],
  ["threads", ({ threads }) => threads],
  ["outcome", ({ outcome }) => outcome],
  ["samples", ({ samples }) => samples.length],
  ["obtain_ns_median", ({ obtain }) => obtain?.median ?? null],
  ["obtain_ns_least", ({ obtain }) => obtain?.least ?? null],
  ["obtain_ns_most", ({ obtain }) => obtain?.most ?? null],
  // Of the sample in the middle: the parts of one and the same time.
  ["touch_ns", (pool) => middleSample(pool)?.touchNs ?? null],
  ["register_ns", (pool) => middleSample(pool)?.registerNs ?? null],
  ["release_ns_median", ({ release }) => release?.median ?? null],
  ["h2d_gbps", ({ h2dGigabytesPerSecond }) => h2dGigabytesPerSecond?.median ?? null],
  ["d2h_gbps", ({ d2hGigabytesPerSecond }) => d2hGigabytesPerSecond?.median ?? null],
  ["huge_page_share", ({ hugePageShare }) => hugePageShare],
  ...(["before", "held", "after"] as const).flatMap((when): Column[] => [
    [`resident_bytes_${when}`, ({ memory }) => memory?.[when].residentBytes ?? null],
    [`pinned_bytes_${when}`, ({ memory }) => memory?.[when].pinnedBytes ?? null],
    [`locked_bytes_${when}`, ({ memory }) => memory?.[when].lockedBytes ?? null],
  ]),
  ["reason", ({ reason }) => reason],
  ["backend", (_, { backend }) => backend],
  ["notice", (_, { notice }) => notice],
  ["device", (_, { device }) => device.ordinal],
  ["device_name", (_, { device }) => device.name],
  ["host", (_, { host }) => host],
  ["created_at", (_, { createdAt }) => createdAt],
  [
    "labels",
    (_, { labels }) =>
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join("; ") || null,
  ],
];

/** One row a pool; the first row names the columns. */
export function pinningRows(pinning: Pinning): CsvValue[][] {
  return [
    columns.map(([name]) => name),
    ...pinning.pools.map((pool) => columns.map(([, of]) => of(pool, pinning))),
  ];
}

/** The sample whose time is nearest to the median, the sooner one of two; null where there is none. */
export function middleSample({ samples, obtain }: PinnedPool): PinnedPool["samples"][number] | null {
  if (obtain === null) return null;
  const distance = ({ obtainNs }: { obtainNs: number }) => Math.abs(obtainNs - obtain.median);
  return samples.reduce((best, sample) => (distance(sample) < distance(best) ? sample : best));
}
