import { expect, it } from "vitest";
import { machineSpeed } from "../../src/plan/machine-speed.js";
import { parseCellId } from "../../src/results/cell-id.js";

/* What a machine is taken to do with each kind of cell, before anything is measured; snapshots/speeds.txt has it. */

const memorySpeed = { firstTouchGBps: 2, copyGBps: 10 };
const machines: [what: string, speed: ReturnType<typeof machineSpeed>][] = [
  ["a GPU and 16 CPUs", machineSpeed({ emulated: false, cpusUsable: 16, memorySpeed: null })],
  ["a GPU and 4 CPUs", machineSpeed({ emulated: false, cpusUsable: 4, memorySpeed: null })],
  ["an emulated device and 3 CPUs", machineSpeed({ emulated: true, cpusUsable: 3, memorySpeed })],
  ["an emulated device and 16 CPUs", machineSpeed({ emulated: true, cpusUsable: 16, memorySpeed })],
  ["an emulated device nobody measured", machineSpeed({ emulated: true, cpusUsable: 2, memorySpeed: null })],
];

const workers = [1, 2, 3, 4, 8, 9, 16];
const loads = ["memory", "compute", "host"].map((load) => `beside-${load}`);
const ofHost = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped", "host"];
const ids = [
  ...["h2d", "d2h", "bidir"].flatMap((direction) => ofHost.map((memory) => `${direction}/${memory} 1`)),
  ...workers.flatMap((count) => ["staged", "host", "pinned"].map((memory) => `h2d/${memory} ${count}`)),
  ...workers.map((count) => `h2d/pinned ${count} process`),
  ...["d2d/device 1", "p2p/device 1 to-1/read", "h2d/pinned 1 together-0-1", "h2d/pinned 1 chunks-4"],
  ...["pinned", "pageable", "write-combined"].flatMap((memory) =>
    loads.map((load) => `h2d/${memory} 1 ${load}`),
  ),
  ...["loop", "batch", "kernel", "gather"].flatMap((way) =>
    ["h2d/pinned 1", "h2d/pinned 2", "h2d/pinned 8", "d2h/pinned 1", "h2d/pageable 1", "d2h/pageable 1"].map(
      (cell) => `${cell} blocks-4096-${way}`,
    ),
  ),
];

it("machines copy, and their samples differ, as it was looked at", async () => {
  const rounded = (value: number) => Number(value.toPrecision(9));
  const texts = machines.map(([what, { copyGBps, blockNs, sampleSpread, ...speed }]) => {
    const lines = ids.flatMap((name) => {
      const [memory, count, variant] = name.split(" ");
      return ["throughput", "latency"].map((mode) => {
        const end = variant === undefined ? "" : `/${variant}`;
        const cell = parseCellId(`d0/${memory}/1048576/w${count}/${mode}/wall/cold${end}`);
        const figures = [copyGBps(cell), blockNs(cell), sampleSpread(cell)].map(rounded);
        return `  ${name} ${mode}: ${figures[0]} GB/s, ${figures[1]} ns a block, spread ${figures[2]}`;
      });
    });
    const rest = JSON.stringify(speed, (_, value) => (typeof value === "number" ? rounded(value) : value));
    return [`# ${what}`, rest, ...lines, ""].join("\n");
  });
  await expect(texts.join("\n")).toMatchFileSnapshot("snapshots/speeds.txt");
});
