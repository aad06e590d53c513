import type { ForestChart } from "../../draw/chart/chart.js";
import { formatChange, formatChangeTick } from "../../draw/numbers.js";
import type { ResultDocument } from "../../results/schema.js";
import { type ComparedFinding, comparisons } from "../findings/comparisons.js";

/** Variants whose findings are shares of a rate, so that one axis can show them. */
const shown: readonly ComparedFinding["variant"][] = ["beside", "pipeline", "together"];

const kinds = ["slower", "same", "faster", "undecided"] as const;

export function findingCharts(document: ResultDocument): ForestChart[] {
  const found = comparisons(document).filter(({ variant }) => shown.includes(variant));
  const present = kinds.filter((kind) => found.some(({ verdict }) => verdict === kind));
  if (found.length === 0) return [];
  const change = (ratio: number) => formatChange(ratio - 1, "down");
  return [
    {
      kind: "forest",
      name: "losses-and-gains",
      title: "Change of the rate against alone, or against one piece",
      description: found.map(({ subject, ratio }) => `${subject}: ${change(ratio.median)}`).join("; "),
      x: { label: "change", scale: "linear", format: formatChangeTick },
      kinds: present.map((name) => ({
        name,
        style: kinds.indexOf(name),
        ...(name === "undecided" ? { isOpen: true } : {}),
      })),
      rows: found.map(({ subject, ratio, verdict, against }) => ({
        label: subject,
        kind: (present as readonly string[]).indexOf(verdict),
        value: ratio.median - 1,
        low: ratio.low - 1,
        high: ratio.high - 1,
        limits: [],
        figure: change(ratio.median),
        text: `${subject}: ${change(ratio.median)} against ${against}`,
      })),
      limitName: null,
    },
  ];
}
