import { MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import { type Conclusion, explainCommand, type Question, type RunRequest } from "../question.js";
import {
  allOf,
  cellOf,
  digits,
  figureText,
  isAtLeast,
  rateFigure,
  ratioFigure,
  verdictOf,
} from "../run-figures.js";

const sizeBytes = 64 * MiB;

const request = {
  sizesBytes: [sizeBytes],
  memory: ["pageable", "pinned"],
  directions: ["h2d"],
  workers: [1],
  together: true,
  budgetNs: 4e9,
} as const satisfies RunRequest;

/** Rates of one device alone, and while all copy. */
interface DeviceRates {
  device: number;
  pinned: { alone: MeasuredFigure; together: MeasuredFigure };
  pageable: { alone: MeasuredFigure; together: MeasuredFigure };
}

/** A device that keeps this share of its own rate counts as not slowed. */
const keptShare = 0.9;

/** The verdict on the claim. */
export function concludeSeveralGpus(devices: readonly DeviceRates[]): Conclusion {
  const keptOf = (memory: "pinned" | "pageable") =>
    devices.map(({ device, [memory]: { alone, together } }) => ({
      ...ratioFigure(`device ${device}: ${memory} together over alone`, together, alone),
      unit: "share" as const,
    }));
  const kept = { pinned: keptOf("pinned"), pageable: keptOf("pageable") };
  const isKept = (memory: "pinned" | "pageable") =>
    allOf(...kept[memory].map((one) => isAtLeast(one, keptShare)));
  const sum = (memory: "pinned" | "pageable") =>
    devices.reduce((total, one) => total + one[memory].together.value, 0);
  /** Lowest share of its solo rate, over the devices with a conclusive verdict. */
  const least = (memory: "pinned" | "pageable", known: boolean) => {
    const alike = kept[memory].filter((one) => isAtLeast(one, keptShare) === known);
    return figureText({ unit: "share", value: Math.min(...alike.map(({ value }) => value)) });
  };
  const told = (memory: "pinned" | "pageable") => {
    const total = `${digits(sum(memory))} GB/s in all`;
    const known = isKept(memory);
    if (known === true)
      return `From ${memory} memory all are fed at once: ${total}, and each keeps at least ${least(memory, known)} of its rate.`;
    return known === false
      ? `From ${memory} memory they hold each other up: ${total}, and one keeps ${least(memory, known)} of its rate.`
      : `From ${memory} memory it is ${total}; the intervals leave open whether each keeps ${keptShare * 100} % of its rate.`;
  };
  return {
    verdict: verdictOf(isKept("pinned")),
    parts: [
      { name: "from pinned memory", verdict: verdictOf(isKept("pinned")) },
      { name: "from pageable memory", verdict: verdictOf(isKept("pageable")) },
    ],
    figures: [
      ...devices.flatMap(({ pinned, pageable }) => [
        pinned.alone,
        pinned.together,
        pageable.alone,
        pageable.together,
      ]),
      ...kept.pinned,
      ...kept.pageable,
    ],
    sentences: [told("pinned"), told("pageable")],
  };
}

/** Whether several GPUs can be fed at once. */
export const severalGpus: Question = {
  name: "several-gpus",
  title: "does pinned memory feed several GPUs at once?",
  claim: "With several GPUs, pinned memory keeps all of them fed at the same time.",
  needs: "devices",
  mostMs: 30_000,
  async answer(tools) {
    const ordinals = tools.devices.map(({ ordinal }) => ordinal);
    const wanted = { ...request, devices: ordinals };
    if (ordinals.length < 2) {
      const why = `There is ${ordinals.length === 1 ? "one device" : "no device"} here, and the claim is about several.`;
      return {
        verdict: "inconclusive",
        figures: [],
        sentences: [why],
        command: explainCommand({ name: "several-gpus", needs: "devices" }, tools),
      };
    }
    const document = await tools.run(wanted);
    const rates = (device: number, memory: "pinned" | "pageable") => ({
      alone: rateFigure(
        `device ${device}: ${memory}, alone`,
        cellOf(document, { device, memory, sizeBytes }),
      ),
      together: rateFigure(
        `device ${device}: ${memory}, together`,
        cellOf(document, { device, memory, sizeBytes, together: ordinals }),
      ),
    });
    const devices = ordinals.map((device) => ({
      device,
      pinned: rates(device, "pinned"),
      pageable: rates(device, "pageable"),
    }));
    return { ...concludeSeveralGpus(devices), command: tools.commandFor(wanted) };
  },
};
