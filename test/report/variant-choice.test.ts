import { describe, expect, it } from "vitest";
import { answer, findings } from "../../src/report/findings/answer.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { buildBlocks } from "../helpers/blocks.js";
import {
  buildCell,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildSkipped,
  type CellPart,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";

/** Which of several measurements a line rests on, whatever their order. */

const devices = [0, 1, 2].map((ordinal) => buildDevice({ ordinal, numaNode: null }));

const linesOf = (cells: CellResult[], onlyDevice = false) =>
  findings(
    buildDocument({ cells: cells.map(ofFiveProcesses), devices: onlyDevice ? devices.slice(0, 1) : devices }),
  ).map(({ text }) => text);

describe("devices at once", () => {
  const together = (ordinals: number[], GBps: number, part: CellPart = {}) =>
    ordinals.flatMap((device) => [
      buildCell({ device, ...part, GBps: 50 }),
      buildCell({ device, ...part, together: ordinals, GBps }),
    ]);

  it.each<[string, CellResult[]]>([
    ["as many devices as possible", together([0, 1], 49)],
    [
      "pinned memory rather than larger copies",
      together([0, 1, 2], 10, { memory: "pageable", sizeBytes: 64 * MiB }),
    ],
    ["the largest size", together([0, 1, 2], 10, { sizeBytes: MiB })],
    ["threads", together([0, 1, 2], 45, { workerKind: "process" })],
    ["the fastest number of workers", together([0, 1, 2], 10, { workers: 2 })],
    ["all of the devices that copied", together([0, 1, 2, 3], 10, { sizeBytes: 64 * MiB }).slice(0, -1)],
  ])("are reported of %s", (_, others) => {
    for (const cells of [
      [...together([0, 1, 2], 25), ...others],
      [...others, ...together([0, 1, 2], 25)],
    ]) {
      expect(linesOf(cells)).toContain(
        "each device keeps 49 % to 51 % of its rate alone when devices 0, 1 and 2 copy at once (pinned, 16 MiB, 1 worker) (H2D)",
      );
    }
  });

  it("leave open what is lost if the intervals do for some", () => {
    const cells = together([0, 1], 50).map((cell) =>
      cell.device === 0 ? cell : buildCell({ ...cell, GBps: 49, relativeHalfWidth: 0.3 }),
    );
    expect(linesOf(cells)[0]).toMatch(/^these intervals do not show what is lost when devices 0 and 1 copy /);
  });
});

describe("copies beside loads", () => {
  const load = (kept: number, halfWidth = 0.004) => ({
    unit: "GB/s" as const,
    alone: buildDistribution(2000),
    during: buildDistribution(2000 * kept),
    keptShare: { ...buildDistribution(kept, halfWidth), processMedians: Array(5).fill(kept) },
  });
  const beside = (GBps: number, part: CellPart = {}) => [
    buildCell({ GBps: 50, ...part }),
    buildCell({ GBps, beside: "memory", ...part, result: { load: load(1) } }),
  ];

  it.each<[string, CellPart]>([
    ["the largest size", { sizeBytes: MiB }],
    ["the fewest workers", { workers: 4 }],
    ["the first device", { device: 1 }],
  ])("are reported of %s", (_, part) => {
    for (const cells of [
      [...beside(25), ...beside(10, part)],
      [...beside(10, part), ...beside(25)],
    ]) {
      const lines = linesOf(cells).filter((line) => line.includes("beside a load"));
      expect(lines).toEqual([
        "on device 0, beside a load on the device's memory (16 MiB, 1 worker), pinned keeps 49 % to 51 % of its rate; the load loses nothing (H2D)",
      ]);
    }
  });

  it("cost a load something only if that is certain", () => {
    const [alone, loaded] = beside(25);
    const lines = linesOf([alone!, { ...loaded!, load: load(0.99, 0.02) }]);
    expect(lines.find((line) => line.includes("beside"))).toMatch(
      /of its rate; the load loses nothing \(H2D\)$/,
    );
  });

  it("are answered by the load that costs most", () => {
    for (const loads of [
      ["compute", "memory"],
      ["memory", "compute"],
    ] as const) {
      const cells = [
        buildCell({ GBps: 50 }),
        ...loads.map((one, i) => buildCell({ beside: one, GBps: i === 0 ? 40 : 10 })),
      ].map(ofFiveProcesses);
      const texts = answer(buildDocument({ cells })).map(({ text }) => text);
      const [named] = texts.filter((text) => text.startsWith("Beside"));
      expect(named).toMatch(loads[1] === "memory" ? /load on the device's memory/ : /arithmetic/);
    }
  });
});

describe("copies in chunks", () => {
  it("are of the largest size, in the number of chunks that is fastest", () => {
    const chunked = (sizeBytes: number, rates: Record<number, number>) =>
      Object.entries(rates).map(([chunks, GBps]) => buildCell({ sizeBytes, chunks: Number(chunks), GBps }));
    expect(
      linesOf([...chunked(MiB, { 1: 10, 4: 30 }), ...chunked(2 * MiB, { 1: 10, 4: 15, 16: 20 })], true),
    ).toEqual([
      "copies of 2 MiB that overlap with kernels (non_blocking) gain 1.98× to 2.1× with pinned memory (16 chunks)",
    ]);
  });
});

describe("copies between devices", () => {
  const between = (device: number, peer: number, GBps: number, part: CellPart = {}) =>
    buildCell({ direction: "p2p", memory: "device", path: "write", device, peer, GBps, ...part });
  const host = { path: "through-host" } as const;

  it("are of the largest size and the fewest workers", () => {
    const cells = [
      between(0, 1, 20, { sizeBytes: MiB }),
      between(0, 1, 30, { workers: 4 }),
      between(0, 1, 390),
    ];
    for (const some of [cells, cells.toReversed()]) {
      expect(linesOf(some)).toEqual([
        "devices reach each other's memory directly; 0 to 1 with 390.0 GB/s (write, 16 MiB, 1 worker)",
      ]);
    }
  });

  it("gain over the host's way what each pair gains over its own", () => {
    const cells = [between(0, 1, 100), between(1, 0, 200), between(1, 0, 20, host), between(0, 1, 20, host)];
    expect(linesOf(cells)[0]).toContain(
      "directly, 4.9× to 11× what goes through the host; slowest is 0 to 1",
    );
    const slower = [
      between(0, 1, 100),
      between(1, 0, 200),
      between(0, 1, 20, host),
      between(1, 0, 210, host),
    ];
    expect(linesOf(slower)[0]).not.toContain("what goes through the host");
  });

  it("were refused only to pairs that no direct path reached, by whichever path", () => {
    const refused = (device: number, peer: number, path: "write" | "read") =>
      buildSkipped({ direction: "p2p", memory: "device", device, peer, path }, "no access");
    const cells = [between(0, 1, 390), refused(0, 1, "read"), refused(1, 0, "read")];
    expect(linesOf(cells)[0]).toMatch(/^devices reach each other's memory directly, but not 1 to 0; /);
  });

  it("through the host are said to be so if nothing was refused", () => {
    expect(linesOf([between(0, 1, 20, host)])).toEqual([
      "copies between devices were measured through the host; 0 to 1 with 20.0 GB/s (through-host, 16 MiB, 1 worker)",
    ]);
  });

  it("have the latency of the smallest copy by the fewest workers", () => {
    const latency = (median: number, part: CellPart = {}) =>
      between(0, 1, 1, {
        mode: "latency",
        latencyUs: { median, p99: 2 * median },
        sizeBytes: 4 * KiB,
        ...part,
      });
    const cells = [latency(30, { workers: 4 }), latency(10), latency(700, { sizeBytes: MiB })];
    for (const some of [cells, cells.toReversed()]) {
      expect(linesOf(some)).toEqual([
        expect.stringMatching(
          /^a copy of 4 KiB between devices takes 9\.\d+ to 10\.\d+ µs \(write, 1 worker\)$/,
        ),
      ]);
    }
  });
});

describe("scattered blocks", () => {
  const ofBlocks = (cells: CellResult[]) =>
    linesOf(cells, true).filter((line) => line.includes("scattered blocks"));

  it("of one size are those of the most bytes", () => {
    const few = buildBlocks(4 * KiB, 16, 50, { loop: [5, 100], kernel: [5, 100] });
    const many = buildBlocks(4 * KiB, 4096, 50, { loop: [5, 100], kernel: [50, 5] });
    for (const cells of [
      [...few, ...many],
      [...many, ...few],
    ]) {
      expect(ofBlocks(cells)).toContainEqual(expect.stringContaining("a kernel is fastest at 4 KiB"));
    }
  });

  it("beside a load are those of the fewest workers and of that load", () => {
    const ofLoad = (kept: number, part: CellPart) => {
      const keptShare = { ...buildDistribution(kept), processMedians: Array(5).fill(kept) };
      const load = {
        unit: "GB/s" as const,
        alone: buildDistribution(1),
        during: buildDistribution(1),
        keptShare,
      };
      return buildBlocks(4 * KiB, 16, 50, { kernel: [20, 9] }, { ...part, result: { load } }).slice(1);
    };
    const cells = [
      ...buildBlocks(4 * KiB, 16, 50, { kernel: [20, 9] }),
      ...ofLoad(0.2, { beside: "memory", workers: 2 }),
      ...ofLoad(0.5, { beside: "memory" }),
      ...ofLoad(0.3, { beside: "compute" }),
    ];
    const lines = ofBlocks(cells).filter((line) => line.includes("beside"));
    expect(lines).toEqual([
      expect.stringMatching(/beside arithmetic on the device, the load keeps 29 % to 31 % /),
      expect.stringMatching(/beside a load on the device's memory, the load keeps 49 % to 51 % /),
    ]);
  });
});
