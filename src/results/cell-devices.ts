import { cellId } from "./cell-id.js";
import type { Cell } from "./cell-schema.js";
import type { ResultDocument } from "./schema.js";

/** Whether a result has several devices, listed or only named by cells, because imports may list none. */
export function hasSeveralDevices({ devices, cells }: Pick<ResultDocument, "devices" | "cells">): boolean {
  return new Set([...devices.map(({ ordinal }) => ordinal), ...cells.map(({ device }) => device)]).size > 1;
}

export function devicesNamed({ device, peer, together = [] }: Cell): number[] {
  return [...new Set([device, ...(peer === undefined ? [] : [peer]), ...together])];
}

/** The cell with other device numbers, also in its id; null if a device has no number (undefined). */
export function withDevices<C extends Cell>(
  cell: C,
  numberOf: (device: number) => number | undefined,
): (C & { id: string }) | null {
  const numbers = new Map<number, number>();
  for (const device of devicesNamed(cell)) {
    const number = numberOf(device);
    if (number === undefined) return null;
    numbers.set(device, number);
  }
  const { device, peer, together } = cell;
  const renumbered: C = {
    ...cell,
    device: numbers.get(device)!,
    ...(peer === undefined ? {} : { peer: numbers.get(peer)! }),
    ...(together === undefined
      ? {}
      : { together: together.map((one) => numbers.get(one)!).sort((a, b) => a - b) }),
  };
  return { ...renumbered, id: cellId(renumbered) };
}
