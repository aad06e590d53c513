import { PinbenchError } from "../errors.js";
import type { Cache, Direction, HostMemory, Memory, Mode, Timer } from "../native/contract.js";

/** Every value of each axis, in the order in which plans and tables list them. */
export const directions: readonly Direction[] = ["h2d", "d2h", "bidir", "d2d"];
export const hostMemories: readonly HostMemory[] = [
  "pageable",
  "staged",
  "pinned",
  "registered",
  "write-combined",
  "mapped",
];
export const memories: readonly Memory[] = [...hostMemories, "device"];
export const modes: readonly Mode[] = ["throughput", "latency"];
export const timers: readonly Timer[] = ["wall", "event"];
export const caches: readonly Cache[] = ["cold", "warm"];

/**
 * The entries of a list such as "pinned,pageable", each once and in the order of `choices`; `what` names them in the
 * message ("memory kind"). Throws a usage error that lists the choices.
 */
export function parseChoices<Choice extends string>(
  text: string,
  what: string,
  choices: readonly Choice[],
): Choice[] {
  const entries = text.split(",").map((entry) => entry.trim());
  const known: readonly string[] = choices;
  const unknown = entries.find((entry) => !known.includes(entry));
  if (unknown !== undefined) {
    throw new PinbenchError("usage", `"${unknown}" is not a ${what}.`, {
      hint: `Choose from ${choices.join(", ")}.`,
    });
  }
  return inOrder(choices, entries);
}

/** Those of `choices` that are asked for. */
export function inOrder<Choice extends string>(
  choices: readonly Choice[],
  asked: readonly string[],
): Choice[] {
  return choices.filter((choice) => asked.includes(choice));
}
