import type { ResultDocument } from "../../results/schema.js";
import { cellGrids } from "../cell-grids.js";
import { cellNotes } from "../cell-notes.js";
import { findings } from "../findings.js";
import { headerAlerts, headerFacts } from "../result-header.js";
import type { Chapter } from "./chapter.js";
import { sizeCharts } from "./size-charts.js";

/** What a page shows of one result. */
export function resultChapter(document: ResultDocument): Chapter {
  const names = [...new Set(document.devices.map(({ name }) => name))].join(", ") || "no device";
  return {
    title: `${names}, ${document.run.startedAt.slice(0, 16).replace("T", " ")} UTC`,
    alerts: headerAlerts(document),
    answer: findings(document),
    charts: sizeCharts(document),
    samples: [],
    grids: cellGrids(document),
    notes: cellNotes(document),
    facts: headerFacts(document),
  };
}
