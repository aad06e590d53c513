import type { Screen } from "../../draw/screen.js";
import { PinbenchError } from "../../errors.js";
import type { ResultDocument } from "../../results/schema.js";
import type { Tuning } from "../../results/tuning.js";

/*
 * `--plot`. This is loaded only for those who want it, and what draws when there is something to draw: the scales of its
 * axes take some 20 ms.
 */

/** Throws a usage error where none of the formats, that of stdout first, has tables to draw below. */
export function refusePlotsNowhere(formats: readonly string[], hint: string): void {
  if (formats.includes("table")) return;
  throw new PinbenchError("usage", `--plot draws below the tables, and --format ${formats[0]} has none.`, {
    hint,
  });
}

/** What draws a result's figures against size. */
export async function resultPlots() {
  const [{ sizeCharts }, { blockCharts }, { terminalPlots }] = await Promise.all([
    import("../../report/page/size-charts.js"),
    import("../../report/page/block-charts.js"),
    import("../../draw/terminal/terminal-plot.js"),
  ]);
  const need = "a curve needs figures at two sizes or more, of copies that ran alone";
  return (document: ResultDocument, screen: Screen) =>
    terminalPlots([...sizeCharts(document), ...blockCharts(document)], screen, need);
}

/** What draws a tuning's rates against workers. */
export async function tuningPlots() {
  const [{ rateCharts }, { terminalPlots }] = await Promise.all([
    import("../../tune/report/tuning-charts.js"),
    import("../../draw/terminal/terminal-plot.js"),
  ]);
  return (tuning: Tuning, screen: Screen) =>
    terminalPlots(rateCharts(tuning), screen, "no setting has a rate");
}
