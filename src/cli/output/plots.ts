import type { Screen } from "../../draw/screen.js";
import { PinbenchError } from "../../errors.js";
import type { KnownDocument } from "../../kinds/document-kinds.js";

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

/** Draws a result's figures against size, or a tuning's rates against workers; nothing of other documents. */
export async function drawPlots({ kind, document }: KnownDocument, screen: Screen): Promise<string[][]> {
  const { terminalPlots } = await import("../../draw/terminal/terminal-plot.js");
  if (kind === "tuning") {
    const { rateCharts } = await import("../../tune/report/tuning-charts.js");
    return terminalPlots(rateCharts(document), screen, "no setting has a rate");
  }
  if (kind !== "result") return [];
  const [{ sizeCharts }, { blockCharts }] = await Promise.all([
    import("../../report/page/size-charts.js"),
    import("../../report/page/block-charts.js"),
  ]);
  const need = "a curve needs figures at two sizes or more, of copies that ran alone";
  return terminalPlots([...sizeCharts(document), ...blockCharts(document)], screen, need);
}
