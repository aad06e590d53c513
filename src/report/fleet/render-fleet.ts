import { jsonReport } from "../../draw/json.js";
import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "../../draw/markdown-text.js";
import { printableDocument } from "../../draw/printable-text.js";
import type { Screen } from "../../draw/screen.js";
import { terminalReport } from "../../draw/terminal/terminal-report.js";
import { joinBlocks } from "../../draw/terminal/terminal-text.js";
import { capital } from "../../draw/words.js";
import type { FleetDocument } from "../../fleet/fleet-document.js";
import type { FleetFormat, PictureFormat } from "../../settings/choices.js";
import { formatByExtension } from "../format-by-extension.js";
import { drainReport, type KnownNodes, nodeListReport } from "./drain-lines.js";
import { fleetAlerts, fleetAnswer, fleetFacts, fleetGrids, fleetNotes } from "./fleet-content.js";
import { fleetCsv } from "./fleet-csv.js";
import { fleetCellNames } from "./fleet-text.js";
import { openMetrics } from "./openmetrics.js";

const formatOfExtension = {
  ".json": "json",
  ".csv": "csv",
  ".md": "markdown",
  ".txt": "table",
  ".prom": "openmetrics",
} as const;

/** The format that an `--output` path of a fleet asks for by its extension. Throws a usage error where it names none. */
export function fleetFormatOfPath(path: string): FleetFormat | PictureFormat {
  return formatByExtension(path, formatOfExtension);
}

type TextFormat = Exclude<FleetFormat, PictureFormat>;

/**
 * The whole text of a fleet in one format. The table is drawn for the screen; lists for Slurm have no name but of `known`
 * nodes.
 */
export function renderFleet(
  document: FleetDocument,
  format: TextFormat,
  screen: Screen,
  known: KnownNodes = null,
): string {
  return renderers[format](format === "json" ? document : printableDocument(document), screen, known);
}

type Renderer = (document: FleetDocument, screen: Screen, known: KnownNodes) => string;

const renderers: Readonly<Record<TextFormat, Renderer>> = {
  table: fleetTable,
  json: jsonReport,
  csv: fleetCsv,
  markdown: fleetMarkdown,
  nodelist: (document, _, known) => nodeListReport(document, known),
  drain: (document, _, known) => drainReport(document, known),
  openmetrics: openMetrics,
};

function fleetTable(document: FleetDocument, screen: Screen): string {
  const nameOf = fleetCellNames(document, screen);
  return terminalReport(
    {
      title: `pinbench ${document.tool.version} fleet`,
      alerts: fleetAlerts(document),
      answer: fleetAnswer(document, nameOf),
      facts: fleetFacts(document),
      grids: fleetGrids(document, nameOf),
      notes: fleetNotes(document),
    },
    screen,
  );
}

function fleetMarkdown(document: FleetDocument, screen: Screen): string {
  const nameOf = fleetCellNames(document, screen);
  const [first, ...others] = fleetAnswer(document, nameOf);
  return joinBlocks([
    [`## pinbench fleet: ${escapeMarkdown(first!.text)}`],
    ...alertBlocks(fleetAlerts(document)),
    others.map(({ text, tone }) => listItem({ text: capital(text), tone })),
    ...fleetGrids(document, nameOf).flatMap((grid) => [
      [`**${escapeMarkdown(grid.caption)}**`],
      markdownGrid(grid),
      ...(grid.footnote === undefined ? [] : [[escapeMarkdown(grid.footnote)]]),
    ]),
    fleetNotes(document).map(listItem),
    fleetFacts(document).map(factItem),
  ]);
}
