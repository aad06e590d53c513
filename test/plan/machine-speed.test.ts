import { describe, expect, it } from "vitest";
import { machineSpeed } from "../../src/plan/machine-speed.js";
import { parseCellId } from "../../src/results/cell-id.js";

/** Cells by what sets them apart from a worker's copy from pinned memory. */
function cell(
  changes: { direction?: string; memory?: string; workers?: number; mode?: string; rest?: string } = {},
) {
  const { direction = "h2d", memory = "pinned", workers = 1, mode = "throughput", rest = "" } = changes;
  return parseCellId(`d0/${direction}/${memory}/1048576/w${workers}/${mode}/wall/cold${rest}`);
}

const blocks = (way: string) => `/blocks-4096-${way}`;

describe("a GPU's machine", () => {
  const speed = machineSpeed({ emulated: false, cpusUsable: 16, memorySpeed: null });

  it.each([
    [{}, 55],
    [{ memory: "registered", direction: "d2h" }, 55],
    [{ memory: "mapped" }, 45],
    [{ memory: "pageable" }, 8],
    [{ memory: "pageable", direction: "d2h" }, 14],
    [{ memory: "staged" }, 11],
    [{ memory: "staged", workers: 2 }, 22],
    [{ memory: "staged", workers: 4 }, 40],
    [{ memory: "host", workers: 3 }, 30],
    [{ memory: "host", workers: 8 }, 40],
    [{ memory: "device", direction: "d2d" }, 1500],
    [{ memory: "device", direction: "p2p", rest: "/to-1/read" }, 100],
    [{ rest: blocks("gather"), workers: 2 }, 12],
    [{ rest: blocks("gather"), workers: 8 }, 40],
    [{ rest: blocks("kernel") }, 50],
    [{ rest: blocks("loop") }, 55],
  ])("copies %j with %d GB/s", (changes, expected) => {
    expect(speed.copyGBps(cell(changes))).toBe(expected);
  });

  it("copies 1.7 times as much both ways, but no pageable memory, and beside a load of the host 0.4 times", () => {
    expect(speed.copyGBps(cell({ direction: "bidir" }))).toBeCloseTo(93.5, 10);
    expect(speed.copyGBps(cell({ direction: "bidir", memory: "pageable" }))).toBe(14);
    expect(speed.copyGBps(cell({ rest: "/beside-host" }))).toBeCloseTo(22, 10);
    expect(speed.copyGBps(cell({ rest: "/beside-memory" }))).toBe(55);
  });

  it("compares 2.5 GB/s with each CPU, up to 38, and every copy 1.3 times as slowly", () => {
    expect(speed.checkGBps).toEqual({ host: 38, device: 400 });
    const four = machineSpeed({ emulated: false, cpusUsable: 4, memorySpeed: null });
    expect(four.checkGBps.host).toBe(10);
    expect(four.everyPassGBps).toBeCloseTo(10 / 1.3, 10);
  });

  it.each([
    ["loop", 2800],
    ["batch", 1000],
    ["kernel", 0],
    ["gather", 0],
  ])("takes time for each block of a %s: %d ns", (way, expected) => {
    expect(speed.blockNs(cell({ rest: blocks(way) }))).toBe(expected);
    expect(speed.blockNs(cell())).toBe(0);
  });

  it.each([
    [{}, 0.003],
    [{ memory: "write-combined", rest: "/beside-compute" }, 0.003],
    [{ mode: "latency", memory: "pageable" }, 0.05],
    [{ rest: blocks("gather") }, 0.1],
    [{ rest: blocks("loop") }, 0.02],
    [{ rest: blocks("batch") }, 0.02],
    [{ rest: blocks("loop"), memory: "pageable" }, 0.1],
    [{ memory: "pageable" }, 0.1],
    [{ memory: "staged" }, 0.1],
    [{ memory: "host" }, 0.1],
    [{ direction: "bidir" }, 0.03],
    [{ rest: "/beside-host" }, 0.03],
    [{ rest: "/together-0-1" }, 0.03],
  ])("has samples of %j spread by %d", (changes, expected) => {
    expect(speed.sampleSpread(cell(changes))).toBe(expected);
  });
});

describe("an emulated device", () => {
  const memorySpeed = { firstTouchGBps: 2, copyGBps: 10 };
  const speed = machineSpeed({ emulated: true, cpusUsable: 3, memorySpeed });

  it("does everything with a share of what the host's memory does", () => {
    expect(speed.reserveGBps).toEqual({
      ...{ pageable: 1.2, pinned: 1.2, registered: 1.2, "write-combined": 1.2 },
      device: 3,
    });
    expect(speed.pinningNsPerByte).toBe(1);
    expect(speed.checkGBps).toEqual({ host: 9, device: 5.2 });
    expect(speed.everyPassGBps).toBeCloseTo(3.6, 10);
  });

  it("takes a machine of 2023 if its memory was not measured", () => {
    const usual = machineSpeed({ emulated: true, cpusUsable: 2, memorySpeed: null });
    expect(usual.copyGBps(cell())).toBeCloseTo(0.63 * 14, 10);
    expect(usual.reserveGBps.device).toBeCloseTo(1.5 * 1.4, 10);
  });

  it.each([
    ["a thread", { workers: 1 }, 6.3],
    ["several threads, which are no faster", { workers: 4 }, 6.3],
    ["the host alone", { memory: "host" }, 14],
    ["one process", { rest: "/process" }, 6.3],
    ["two processes", { workers: 2, rest: "/process" }, 6.3 * 1.4],
    ["as many processes as there are CPUs, and more", { workers: 9, rest: "/process" }, 6.3 * 1.8],
  ])("copies by %s", (_, changes, expected) => {
    expect(speed.copyGBps(cell(changes))).toBeCloseTo(expected, 10);
  });

  it("copies twice as fast at most, by however many processes", () => {
    const many = machineSpeed({ emulated: true, cpusUsable: 16, memorySpeed });
    expect(many.copyGBps(cell({ workers: 16, rest: "/process" }))).toBeCloseTo(12.6, 10);
  });

  it.each([
    [{ rest: blocks("gather") }, 600],
    [{ rest: blocks("kernel") }, 200],
    [{ rest: blocks("loop"), memory: "pageable" }, 1700],
    [{ rest: blocks("loop"), memory: "pageable", direction: "d2h" }, 8000],
    [{ rest: blocks("loop"), direction: "d2h" }, 1400],
    [{ rest: blocks("batch") }, 200],
  ])("takes time for each block of %j: %d ns", (changes, expected) => {
    expect(speed.blockNs(cell(changes))).toBe(expected);
  });

  it("has wider spread samples of latency", () => {
    expect(speed.sampleSpread(cell({ mode: "latency" }))).toBe(0.2);
    expect(speed.sampleSpread(cell())).toBe(0.15);
  });
});
