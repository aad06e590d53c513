import { PinbenchError } from "../errors.js";
import { type Direction, directions, hostMemories, type Memory, memories } from "../settings/choices.js";
import type { PlanRequest } from "./request.js";

/**
 * The directions and memory kinds to combine: device memory goes with d2d and nothing else does. What is not given
 * follows from the other, or from the preset. Throws a usage error where a value that was given would be used in no cell.
 */
export function resolveRoutes(
  request: PlanRequest,
  preset: { directions: readonly Direction[]; memory: readonly Memory[] },
): { directions: Direction[]; memory: Memory[] } {
  const askedDirections = request.directions ?? null;
  const askedMemory = request.memory ?? null;
  const wantsDevice = askedMemory?.includes("device") ?? false;
  const wantsHost = askedMemory?.some((memory) => memory !== "device") ?? false;

  const chosenDirections = new Set<Direction>(
    askedDirections ?? (wantsDevice && !wantsHost ? [] : preset.directions),
  );
  if (askedDirections === null && wantsDevice) chosenDirections.add("d2d");
  const usesDevice = chosenDirections.has("d2d");
  const usesHost = [...chosenDirections].some((direction) => direction !== "d2d");

  if (wantsHost && !usesHost) {
    const unused = hostMemories.filter((memory) => askedMemory?.includes(memory)).join(", ");
    throw new PinbenchError(
      "usage",
      `Direction d2d copies within the device, so memory ${unused} plays no part in it.`,
      {
        hint: "Leave --memory out, or add a direction such as h2d.",
      },
    );
  }
  if (wantsDevice && !usesDevice) {
    throw new PinbenchError(
      "usage",
      "Memory device is only copied by direction d2d, which is not among those asked for.",
      {
        hint: "Add d2d to --direction, or leave device out of --memory.",
      },
    );
  }
  if (wantsDevice && !wantsHost && usesHost) {
    throw new PinbenchError(
      "usage",
      "Memory device leaves the copies between host and device without host memory.",
      {
        hint: "Add a memory kind such as pinned, or ask for --direction d2d alone.",
      },
    );
  }
  const chosenMemory = new Set<Memory>(usesHost ? (askedMemory ?? preset.memory) : []);
  if (usesDevice) chosenMemory.add("device");
  return {
    directions: directions.filter((direction) => chosenDirections.has(direction)),
    memory: memories.filter((memory) => chosenMemory.has(memory)),
  };
}
