import type { Tuning } from "../../results/tuning.js";
import type { CommandSettings } from "../../settings/command-settings.js";
import { documentFormats, type FormatOf } from "../../settings/document-formats.js";
import type { Output } from "./delivery.js";
import { documentDrawer, outputFiles } from "./document-output.js";

/** The files that a tuning is to be written to; throws a usage error for one that names no format. */
export function tuningFiles(flags: CommandSettings<"tune">): Output<FormatOf<"tuning">>[] {
  const files = outputFiles(documentFormats.tuning, flags);
  return flags.save === null ? files : [{ path: flags.save, format: "json" }, ...files];
}

/** Writes a tuning in whatever format, with plots below its table where they are asked for. */
export async function tuningRenderer(tuning: Tuning, flags: CommandSettings<"tune">) {
  const drawPlots = flags.plot ? await (await import("./plots.js")).tuningPlots() : undefined;
  return documentDrawer(
    { kind: "tuning", document: tuning },
    flags,
    drawPlots === undefined ? {} : { drawPlots },
  );
}
