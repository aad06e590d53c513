import type { DocumentKind } from "../../draw/document-kind.js";
import { shownText } from "../../draw/terminal/terminal-text.js";
import { emulatedNote, emulatedNotice } from "../../results/device-facts.js";
import { copyKeywords, loaderKeywords, pythonArguments } from "../../results/loader-setting.js";
import { type Tuning, tuningSchema } from "../../results/tuning.js";
import { headline } from "./tuning-findings.js";
import { tuningReport } from "./tuning-table.js";

export const tuningKind: DocumentKind<Tuning> = {
  schema: tuningSchema,
  report: tuningReport,
  exports: { python: (tuning, { screen }) => shownText(pythonReport(tuning), screen), env: envReport },
  async pictures(tuning) {
    return { charts: (await import("./tuning-charts.js")).rateCharts(tuning) };
  },
};

/** DataLoader's keyword arguments to paste, with the reasons as comments above. */
function pythonReport(tuning: Tuning): string {
  const { recommendation, probe } = tuning;
  if (recommendation === null) return "# pinbench tune: no setting could be measured\n";
  const { setting } = recommendation;
  const lines = [
    ...(probe.notes.includes(emulatedNote) ? [`# ${emulatedNotice}`] : []),
    ...headline(tuning).map((line) => `# ${line}`),
    ...pythonArguments(loaderKeywords(probe, setting)).map((argument) => `${argument},`),
    ...pythonArguments(copyKeywords(probe, setting)).map((argument) => `# batch.to(device, ${argument})`),
  ];
  return `${lines.join("\n")}\n`;
}

/** One line of assignments for `export $(pinbench tune … --format env)` and `env`. */
function envReport({ recommendation, probe }: Tuning): string {
  if (recommendation === null) return "";
  const { setting } = recommendation;
  const variables = Object.entries({ ...loaderKeywords(probe, setting), ...copyKeywords(probe, setting) });
  return `${variables.map(([name, value]) => `PINBENCH_${name.toUpperCase()}=${Number(value)}`).join(" ")}\n`;
}
