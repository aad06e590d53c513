import { jsonReport } from "../../draw/json.js";
import { printableDocument } from "../../draw/printable-text.js";
import type { Screen } from "../../draw/screen.js";
import { shownText } from "../../draw/terminal/terminal-text.js";
import type { Tuning } from "../../results/tuning.js";
import type { PictureFormat, TuningFormat } from "../../settings/choices.js";
import { formatByExtension } from "../format-by-extension.js";
import { tuningReasons } from "./tuning-reasons.js";
import { copyKeywords, loaderKeywords, pythonArguments, tuningTable } from "./tuning-table.js";

const formatOfExtension = { ".json": "json", ".txt": "table", ".py": "python", ".env": "env" } as const;

/** The format that an `--output` path of a tuning asks for by its extension. Throws a usage error for others. */
export function tuningFormatOfPath(path: string): TuningFormat | PictureFormat {
  return formatByExtension(path, formatOfExtension);
}

/** Draws curves of a tuning, a block of lines for each plot. */
type DrawTuningPlots = (tuning: Tuning, screen: Screen) => string[][];

/**
 * The document in a format, as the whole text that is printed. The table is drawn for the screen, with the plots below it
 * where there are to be any.
 */
export function renderTuning(
  tuning: Tuning,
  format: TuningFormat,
  screen: Screen,
  drawPlots: DrawTuningPlots = () => [],
): string {
  return renderers[format](format === "json" ? tuning : printableDocument(tuning), screen, drawPlots);
}

const renderers: Readonly<
  Record<TuningFormat, (tuning: Tuning, screen: Screen, drawPlots: DrawTuningPlots) => string>
> = {
  table: (tuning, screen, drawPlots) => tuningTable(tuning, screen, drawPlots(tuning, screen)),
  json: jsonReport,
  python: (tuning, screen) => shownText(pythonReport(tuning), screen),
  env: envReport,
};

/** DataLoader's keyword arguments, to paste; the reasons stand above them as comments. */
function pythonReport(tuning: Tuning): string {
  const { recommendation, probe } = tuning;
  if (recommendation === null) return "# pinbench tune: no setting could be measured\n";
  const { setting } = recommendation;
  const copying = probe.device === null ? [] : pythonArguments(copyKeywords(probe, setting));
  const lines = [
    ...tuningReasons(tuning).map((reason) => `# ${reason}`),
    ...pythonArguments(loaderKeywords(setting)).map((argument) => `${argument},`),
    ...copying.map((argument) => `# batch.to(device, ${argument})`),
  ];
  return `${lines.join("\n")}\n`;
}

/** One line of assignments, as `export $(pinbench tune … --format env)` and `env` take them. */
function envReport({ recommendation, probe }: Tuning): string {
  if (recommendation === null) return "";
  const { setting } = recommendation;
  const variables = Object.entries({ ...loaderKeywords(setting), ...copyKeywords(probe, setting) });
  return `${variables.map(([name, value]) => `PINBENCH_${name.toUpperCase()}=${Number(value)}`).join(" ")}\n`;
}
