import { PinbenchError } from "../../errors.js";
import { MiB } from "../../settings/units.js";
import type { Question } from "../question.js";
import { allOf, cellOf, figureText, isAtLeast, rateFigure, ratioFigure } from "../run-figures.js";

/** A device is not slowed if it keeps this share of its own rate. */
const keptShare = 0.9;

export const severalGpus: Question = {
  name: "several-gpus",
  title: "does pinned memory feed several GPUs at once?",
  claim: "With several GPUs, pinned memory keeps all of them fed at the same time.",
  needs: "devices",
  async answer(tools) {
    const devices = tools.devices.map(({ ordinal }) => ordinal);
    if (devices.length < 2) {
      throw new PinbenchError("unavailable", "The claim is about several GPUs, and here is at most one.");
    }
    const document = await tools.run({
      devices,
      sizesBytes: [64 * MiB],
      memory: ["pageable", "pinned"],
      directions: ["h2d"],
      workers: [1],
      together: true,
      budgetNs: 4e9,
    });
    const keptOf = (memory: "pinned" | "pageable") => {
      const rates = devices.map((device) => ({
        device,
        alone: rateFigure("", cellOf(document, { device, memory })),
        together: rateFigure("", cellOf(document, { device, memory, together: devices })),
      }));
      const kept = rates.map(({ device, alone, together }) =>
        ratioFigure(`device ${device}: ${memory}, together over alone`, together, alone, "share"),
      );
      const least = figureText({ unit: "share", value: Math.min(...kept.map(({ value }) => value)) });
      const total = rates.reduce((sum, { together }) => sum + together.value, 0);
      return {
        kept,
        text: `${least} of its ${memory} rate (${figureText({ unit: "GB/s", value: total })} in all)`,
      };
    };
    const [pinned, pageable] = [keptOf("pinned"), keptOf("pageable")];
    return {
      holds: allOf(...pinned.kept.map((one) => isAtLeast(one, keptShare))),
      summary: `With all copying at once, the slowest keeps ${pinned.text}, and ${pageable.text}.`,
      figures: [...pinned.kept, ...pageable.kept],
    };
  },
};
