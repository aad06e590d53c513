import { PinbenchError } from "../errors.js";
import type { PlanDevice, PlanFacts } from "./request.js";

/** What any plan has to keep to, whether its cells come from axes or from a list. */

/** Most threads of one team. */
const maxWorkers = 1024;
const maxCells = 20_000;

/** Throws a usage error for a size that is none. */
export function checkSize(sizeBytes: number): void {
  if (Number.isSafeInteger(sizeBytes) && sizeBytes >= 1) return;
  throw new PinbenchError("usage", `A size cannot be ${sizeBytes}: it is a whole number of bytes from 1 up.`);
}

/** Throws a usage error for a count of workers that is none. */
export function checkWorkers(workers: number): void {
  if (Number.isInteger(workers) && workers >= 1 && workers <= maxWorkers) return;
  throw new PinbenchError(
    "usage",
    `A cell cannot have ${workers} workers: it has from 1 to ${maxWorkers} threads a direction.`,
    { hint: "More workers than CPUs seldom gain anything; try 1,2,4." },
  );
}

/** Throws a usage error above 20 000 cells; `hint` says how to ask for fewer. */
export function checkCellCount(count: number, hint: string): void {
  if (count <= maxCells) return;
  throw new PinbenchError(
    "usage",
    `The plan has ${count} cells, more than the ${maxCells} that one run measures.`,
    { hint },
  );
}

/** The devices of these ordinals, in the driver's order. Throws "unavailable" for one that is not there, and for none. */
export function selectDevices({ devices }: PlanFacts, ordinals: readonly number[]): PlanDevice[] {
  const present = devices.map((device) => device.ordinal);
  const missing = ordinals.find((ordinal) => !present.includes(ordinal));
  if (missing !== undefined) {
    const there = present.length === 0 ? "no device" : `only ${present.join(", ")}`;
    throw new PinbenchError("unavailable", `There is no device ${missing}: the driver reports ${there}.`, {
      hint: "`pinbench devices` lists them.",
    });
  }
  const selected = devices.filter((device) => ordinals.includes(device.ordinal));
  if (selected.length === 0) throw new PinbenchError("unavailable", "There is no device to measure.");
  return selected;
}

/** Worker counts above the CPUs that may run at once. */
export function beyondCpus(workers: readonly number[], cpusUsable: number): number[] {
  return workers.filter((count) => count > Math.max(1, cpusUsable));
}

/** What is said of such counts where they were asked for. */
export function turnsNote(tooMany: readonly number[], cpusUsable: number): string {
  return `${tooMany.join(", ")} workers: ${describeCpus(cpusUsable)}, so they take turns and their figures suffer.`;
}

export function describeCpus(cpusUsable: number): string {
  return cpusUsable === 1 ? "only 1 CPU is usable" : `only ${cpusUsable} CPUs are usable`;
}
