import type { ForestChart, ForestKind } from "../../draw/chart/chart.js";
import { formatChange, formatChangeTick } from "../../draw/numbers.js";
import { groupName } from "../compared-names.js";
import { type Comparison, type Verdict, verdicts } from "../comparison.js";
import { verdictMeaning } from "./outcome.js";

const styles: Readonly<Record<Verdict, Omit<ForestKind, "name">>> = {
  slower: { style: 1 },
  unsteady: { style: 4 },
  undecided: { style: 3, isOpen: true },
  missing: { style: 6, isOpen: true },
  "not slower": { style: 0 },
  faster: { style: 2 },
  new: { style: 5 },
};

export function comparisonCharts({ groups }: Comparison): ForestChart[] {
  const drawn = groups.flatMap((group) => {
    const { change, standardError, verdict } = group;
    if (change === null || standardError === null) return [];
    return [{ ...group, change, standardError, verdict: verdict ?? ("not slower" as const) }];
  });
  if (drawn.length === 0) return [];
  const kinds = verdicts.filter((verdict) => drawn.some((group) => group.verdict === verdict));
  return [
    {
      kind: "forest",
      name: "changes",
      title: "Change of the speed of each group of cells (more is faster)",
      description: "The line reaches two standard errors to each side. Host memory is a control.",
      x: { label: "change of speed", scale: "linear", format: formatChangeTick },
      kinds: kinds.map((verdict) => ({ ...styles[verdict], name: `${verdict}: ${verdictMeaning[verdict]}` })),
      rows: [...drawn]
        .sort((a, b) => a.change - b.change)
        .map((group) => {
          const { change, standardError, threshold, verdict } = group;
          const label = groupName(group, groups);
          const at = (errors: number) => Math.expm1(Math.log1p(change) + errors * standardError);
          return {
            label,
            kind: kinds.indexOf(verdict),
            value: change,
            low: at(-2),
            high: at(2),
            limits: [-threshold, threshold],
            figure: formatChange(change, "down"),
            text: `${label}: ${group.reason}`,
          };
        }),
      limitName: "threshold",
    },
  ];
}
