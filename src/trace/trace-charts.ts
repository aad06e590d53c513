import type { BarChart } from "../draw/chart/chart.js";
import { formatMilliseconds } from "../draw/numbers.js";
import { formatSizeRounded } from "../settings/units.js";
import { blockedNsOf, joinedCopies, sumsOf } from "./copy-sums.js";
import type { Trace, TracedCopy } from "./trace-document.js";

const mostBars = 12;

export function traceCharts({ processes }: Trace): BarChart[] {
  const { values, pinning } = sumsOf(processes);
  const copies = joinedCopies(processes).sort((a, b) => blockedNsOf(b) - blockedNsOf(a));
  if (copies.length === 0) return [];
  const bar = (name: string, timeNs: number) => ({
    ...{ name, value: timeNs / 1e6, low: null, high: null, text: `${formatMilliseconds(timeNs)} ms` },
  });
  const nameOf = ({ direction, memory, sizeBytes }: TracedCopy) =>
    `${direction.toUpperCase()} ${memory} ${sizeBytes === 0 ? "others" : formatSizeRounded(sizeBytes)}`;
  const sums = [bar("small copies back", blockedNsOf(values)), bar("pinning and freeing", pinning.timeNs)];
  return [
    {
      kind: "bars",
      name: "blocked",
      title: "What blocks the program's threads",
      description: "Time in the calls of each kind of copies, in all small copies back and in pinning.",
      value: { label: "ms", scale: "linear", format: String },
      groups: [
        {
          name: "Copies",
          style: 0,
          bars: copies.slice(0, mostBars).map((copy) => bar(nameOf(copy), blockedNsOf(copy))),
        },
        { name: "In all", style: 1, bars: sums },
      ],
    },
  ];
}
