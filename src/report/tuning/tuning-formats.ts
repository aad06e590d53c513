import type { ChalkInstance } from "chalk";
import type { LoaderSetting, Tuning } from "../../results/tuning.js";
import { jsonReport } from "../json.js";
import type { TuningFormat } from "./tuning-format-names.js";
import { tuningReasons } from "./tuning-reasons.js";
import { tuningTable } from "./tuning-table.js";

/**
 * The document in a format, as the whole text that is printed. Only the table has colours: those of the chalk
 * instance.
 */
export function renderTuning(tuning: Tuning, format: TuningFormat, chalk: ChalkInstance): string {
  switch (format) {
    case "table":
      return tuningTable(tuning, chalk);
    case "json":
      return jsonReport(tuning);
    case "python":
      return pythonReport(tuning);
    case "env":
      return envReport(tuning);
  }
}

/** DataLoader's keyword arguments, to paste; the reasons stand above them as comments. */
function pythonReport(tuning: Tuning): string {
  const { recommendation, probe } = tuning;
  if (recommendation === null) return "# pinbench tune: no setting could be measured\n";
  const { setting } = recommendation;
  const named = Object.entries(keywords(setting)).map(([name, value]) => `${name}=${python(value)},`);
  const copy = `# batch.to(device, non_blocking=${python(setting.nonBlocking)})`;
  return [
    ...tuningReasons(tuning).map((reason) => `# ${reason}`),
    ...named,
    ...(probe.device === null ? [] : [copy]),
    "",
  ].join("\n");
}

/** One line of assignments, as `export $(pinbench tune … --format env)` and `env` take them. */
function envReport({ recommendation }: Tuning): string {
  if (recommendation === null) return "";
  const { nonBlocking } = recommendation.setting;
  const variables = Object.entries({ ...keywords(recommendation.setting), non_blocking: nonBlocking });
  return `${variables.map(([name, value]) => `PINBENCH_${name.toUpperCase()}=${Number(value)}`).join(" ")}\n`;
}

/** prefetch_factor is no argument of a DataLoader without workers. */
function keywords({ numWorkers, pinMemory, prefetchFactor, persistentWorkers }: LoaderSetting) {
  return {
    num_workers: numWorkers,
    pin_memory: pinMemory,
    ...(prefetchFactor === null ? {} : { prefetch_factor: prefetchFactor }),
    persistent_workers: persistentWorkers,
  };
}

function python(value: number | boolean): string {
  return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
}
