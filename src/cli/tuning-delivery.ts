import { renderTuning, tuningFormatOfPath } from "../report/tuning/tuning-formats.js";
import type { Tuning } from "../results/tuning.js";
import type { PictureFormat, TuningFormat } from "../settings/choices.js";
import type { CommandSettings } from "../settings/command-settings.js";
import type { Output } from "./delivery.js";
import { outputFiles, withPictures } from "./picture-output.js";

/** The files that a tuning is to be written to; throws a usage error for one that names no format. */
export function tuningFiles(flags: CommandSettings<"tune">): Output<TuningFormat | PictureFormat>[] {
  const files = outputFiles(flags, tuningFormatOfPath);
  return flags.save === null ? files : [{ path: flags.save, format: "json" }, ...files];
}

/** Writes a tuning in whatever format, with plots below its table where they are asked for. */
export async function tuningRenderer(tuning: Tuning, flags: CommandSettings<"tune">) {
  const drawPlots = flags.plot ? await (await import("./plots.js")).tuningPlots() : undefined;
  return withPictures(
    { kind: "tuning", path: null, document: tuning },
    flags,
    (format: TuningFormat, screen) => renderTuning(tuning, format, screen, drawPlots),
  );
}
