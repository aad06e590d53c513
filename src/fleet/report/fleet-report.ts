import type { DocumentKind, Show } from "../../draw/document-kind.js";
import { environment, type Report, tables, texts } from "../../draw/report.js";
import { counted, timeText } from "../../draw/words.js";
import { type FleetDocument, fleetSchema } from "../fleet-document.js";
import { drainReport, type KnownNodes, nodeListReport } from "./drain-lines.js";
import { fleetAlerts, fleetAnswer, fleetFacts, fleetGrids, fleetNotes } from "./fleet-content.js";
import { fleetRows } from "./fleet-csv.js";
import { countGpus, fleetCellNames } from "./fleet-text.js";
import { openMetrics } from "./openmetrics.js";

/** A fleet, as a kind of document; lists for Slurm have no name but of `known` nodes. */
export function fleetKindFor(known: KnownNodes): DocumentKind<FleetDocument> {
  return {
    schema: fleetSchema,
    report: fleetReport,
    rows: fleetRows,
    exports: {
      nodelist: (document) => nodeListReport(document, known),
      drain: (document) => drainReport(document, known),
      openmetrics: openMetrics,
    },
    async pictures(document) {
      return { charts: (await import("./fleet-charts.js")).fleetCharts(document) };
    },
  };
}

/** A fleet where nobody asks which nodes Slurm knows. */
export const fleetKind = fleetKindFor(null);

function fleetReport(document: FleetDocument, { screen }: Show): Report {
  const nameOf = fleetCellNames(document, screen);
  const { tool, nodes, createdAt } = document;
  return {
    command: "fleet",
    version: tool.version,
    hasTerms: true,
    name: `Fleet: ${counted(nodes.length, "node")}, ${counted(countGpus(document), "GPU")}, ${timeText(createdAt)}`,
    blocks: [
      ...texts("alert", fleetAlerts(document)),
      ...texts("answer", fleetAnswer(document, nameOf)),
      environment(fleetFacts(document)),
      ...tables(fleetGrids(document, nameOf)),
      ...texts("note", fleetNotes(document)),
    ],
  };
}
