import { describe, expect, it } from "vitest";
import { Rotation } from "../../src/measure/rounds.js";
import type { PlannedCell } from "../../src/plan/geometry.js";
import type { Memory } from "../../src/settings/choices.js";
import { KiB, plannedCell } from "./support.js";

const cell = (memory: Memory, sizeBytes: number, buffersPerWorker: number, part: Partial<PlannedCell> = {}) =>
  plannedCell({ memory, sizeBytes, buffersPerWorker, ...part });

describe("Rotation, which chooses the buffer to copy next,", () => {
  it("is separate for each device, kind of workers and NUMA node, as their memory is", () => {
    const rotation = new Rotation();
    const of = (part: Partial<PlannedCell>) => cell("pinned", 4 * KiB, 100, part);
    rotation.advance(of({}), 0, 30);
    expect(rotation.firstBuffer(of({ device: 1 }))).toBe(0);
    expect(rotation.firstBuffer(of({ workerKind: "process" }))).toBe(0);
    rotation.advance(of({ cpuNode: 0, memoryNode: 0 }), 0, 40);
    expect(rotation.firstBuffer(of({ cpuNode: 0, memoryNode: 1 }))).toBe(0);
    expect(rotation.firstBuffer(of({}))).toBe(30);
  });

  it("starts behind memory that a cell of another size has just copied", () => {
    const rotation = new Rotation();
    rotation.advance(cell("pinned", 4 * KiB, 100), 0, 30);
    // 30 x 4 KiB end in the eighth buffer of 16 KiB.
    expect(rotation.firstBuffer(cell("pinned", 16 * KiB, 25))).toBe(8);
  });

  it("is shared by kinds of memory that use the same buffers, and by no others", () => {
    const rotation = new Rotation();
    rotation.advance(cell("pageable", 4 * KiB, 100), 0, 7);
    expect(rotation.firstBuffer(cell("staged", 4 * KiB, 100))).toBe(7);
    expect(rotation.firstBuffer(cell("pinned", 4 * KiB, 100))).toBe(0);
  });

  it("stays within the cell's own buffers", () => {
    const rotation = new Rotation();
    rotation.advance(cell("pinned", 4 * KiB, 1000), 0, 900);
    expect(rotation.firstBuffer(cell("pinned", 64 * KiB, 2))).toBe(1);
    expect(rotation.firstBuffer(cell("pinned", 64 * KiB, 1))).toBe(0);
  });
});
