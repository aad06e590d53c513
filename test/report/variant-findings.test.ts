import { describe, expect, it } from "vitest";
import { findings } from "../../src/report/findings/answer.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { DeviceRecord, ResultDocument } from "../../src/results/schema.js";
import {
  buildCell,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
  buildSkipped,
  type CellPart,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";
import { textsOfProcesses } from "./answer-texts.js";

const size = { sizeBytes: 64 * MiB };

/** Bare metal, where each device has a root port of its own and two share a switch. */
const upstreamPaths = [
  ["pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"],
  ["pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:01.0"],
  ["pci0000:80", "0000:80:01.0"],
];

const devices = upstreamPaths.map((upstreamPath, ordinal) => buildDevice({ ordinal, upstreamPath }));

function linesOf(cells: CellResult[], part: Partial<ResultDocument> & { devices?: DeviceRecord[] } = {}) {
  const host = { virtualization: null };
  return findings(buildDocument({ devices, ...part, host, cells })).map(({ text }) => text);
}

const linesOfProcesses = (cells: CellResult[], part = {}) => linesOf(cells.map(ofFiveProcesses), part);

/** The cell on each device alone and on all at once, with a rate each. */
function together(alone: readonly number[], atOnce: readonly number[], part: CellPart = {}): CellResult[] {
  const ordinals = alone.map((_, ordinal) => ordinal);
  const direction = part.direction ?? "h2d";
  const rates = (rate: number) => (direction === "bidir" ? { h2d: rate, d2h: rate, sum: 2 * rate } : rate);
  return ordinals.flatMap((device) => [
    buildCell({ ...size, ...part, device, GBps: rates(alone[device]!) }),
    buildCell({ ...size, ...part, device, together: ordinals, GBps: rates(atOnce[device]!) }),
  ]);
}

describe("devices at once", () => {
  const where = "when devices 0, 1 and 2 copy at once (pinned, 64 MiB, 1 worker)";

  it("names the one that suffers, and what it shares with which others", () => {
    expect(linesOfProcesses(together([55, 55, 55], [54.9, 27.5, 55]))).toEqual([
      `device 1 keeps 49 % to 51 % of the rate alone ${where} (H2D)`,
      "devices 0 and 1 share PCIe switch 0000:01:00.0, and devices 1 and 2 share NUMA node 0",
    ]);
  });

  it("names together those that cannot be told apart, and next to them those that lose less", () => {
    expect(linesOfProcesses(together([55, 55, 55], [27.5, 27.75, 49.5]))).toEqual([
      `devices 0 and 1 keep 49 % to 51 % and device 2 89 % to 91 % of the rate alone ${where} (H2D)`,
      "devices 0 and 1 share PCIe switch 0000:01:00.0, and devices 0, 1 and 2 share NUMA node 0",
    ]);
  });

  it("says that each loses if all lose alike", () => {
    expect(linesOfProcesses(together([55, 55, 55], [44, 44, 44]))).toEqual([
      `each device keeps 79 % to 81 % of its rate alone ${where} (H2D)`,
      "devices 0 and 1 share PCIe switch 0000:01:00.0, and devices 0, 1 and 2 share NUMA node 0",
    ]);
  });

  it("says that none loses if all reach what they reach alone", () => {
    expect(linesOfProcesses(together([55, 55, 55], [55, 55, 54.9]))).toEqual([
      `no device loses anything ${where} (H2D)`,
    ]);
  });

  it("claims nothing of one process that another one would deny", () => {
    expect(linesOf(together([8, 8, 8], [7.5, 8, 8], { memory: "pageable" }))).toEqual([
      "these intervals do not show what is lost when devices 0, 1 and 2 copy at once (pageable, 64 MiB, 1 worker) (H2D)",
    ]);
  });

  it("says both directions of copying in one line, and both at once in another", () => {
    const cells = [
      ...together([55, 55, 55], [55, 27.5, 55]),
      ...together([55, 55, 55], [55, 33, 55], { direction: "d2h" }),
      ...together([50, 50, 50], [50, 25, 50], { direction: "bidir" }),
    ];
    const lines = linesOfProcesses(cells).filter((line) => line.includes("at once ("));
    expect(lines).toEqual([
      `device 1 keeps 49 % to 51 % (H2D) and 59 % to 61 % (D2H) of the rate alone ${where}`,
      `device 1 keeps 49 % to 51 % of the rate alone ${where.replace("copy", "copy both ways")} (H2D and D2H)`,
    ]);
  });

  it("says which direction suffers if both are copied, and what it shares behind that", () => {
    const [alone, atOnce] = [
      { h2d: 50, d2h: 50, sum: 100 },
      { h2d: 30, d2h: 50, sum: 80 },
    ];
    const cells = [0, 1].flatMap((device) => [
      buildCell({ ...size, device, direction: "bidir", GBps: alone }),
      buildCell({ ...size, device, direction: "bidir", together: [0, 1], GBps: atOnce }),
    ]);
    const both = "when devices 0 and 1 copy both ways at once (pinned, 64 MiB, 1 worker)";
    const lines = linesOfProcesses([...together([55, 55], [55, 55]), ...cells]);
    expect(lines.filter((line) => !line.startsWith("on device 0"))).toEqual([
      "no device loses anything when devices 0 and 1 copy at once (pinned, 64 MiB, 1 worker) (H2D)",
      `H2D: each device keeps 59 % to 61 % of its rate alone ${both}; D2H: no device loses anything ${both}`,
      "devices 0 and 1 share PCIe switch 0000:01:00.0",
    ]);
  });

  it("says where sysfs does not show what devices share", () => {
    const unknown = devices.map((device) => ({ ...device, upstreamPath: null, numaNode: null }));
    const [, line] = linesOfProcesses(together([55, 55, 55], [55, 27.5, 55]), { devices: unknown });
    expect(line).toBe("sysfs does not show what device 1 shares with the others");
  });

  it("are reported for pinned memory and the largest size, if there are several", () => {
    const cells = [
      ...together([8, 8, 8], [4, 4, 4], { memory: "pageable" }),
      ...together([20, 20, 20], [10, 20, 20], { sizeBytes: MiB }),
      ...together([55, 55, 55], [55, 55, 55]),
    ];
    const lines = linesOfProcesses(cells).filter((line) => line.includes("at once ("));
    expect(lines).toEqual([`no device loses anything ${where} (H2D)`]);
  });

  it("are reported for threads, if processes were measured as well", () => {
    const cells = [
      ...together([55, 55, 55], [55, 55, 55]),
      ...together([60, 60, 60], [30, 30, 30], { workerKind: "process", workers: 4 }),
    ];
    const lines = linesOfProcesses(cells).filter((line) => line.includes("at once ("));
    expect(lines).toEqual([`no device loses anything ${where} (H2D)`]);
  });

  it("say nothing if a device's cell failed", () => {
    const cells = together([55, 55], [55, 27]).map((cell) =>
      cell.device === 1 && cell.together !== undefined ? { ...cell, outcome: "failed" as const } : cell,
    );
    expect(linesOfProcesses(cells)).toEqual([]);
  });
});

describe("copies beside a load", () => {
  const load = (kept: number) => ({
    load: {
      unit: "GB/s" as const,
      alone: buildDistribution(2000),
      during: buildDistribution(2000 * kept),
      keptShare: { ...buildDistribution(kept), processMedians: Array(5).fill(kept) },
    },
  });
  const beside = (
    memory: "pageable" | "pinned",
    alone: number,
    loaded: number,
    kept = 1,
    part: CellPart = {},
  ) => [
    buildCell({ ...size, direction: "d2h", memory, ...part, GBps: alone }),
    buildCell({
      ...size,
      direction: "d2h",
      memory,
      beside: "memory",
      ...part,
      GBps: loaded,
      result: load(kept),
    }),
  ];
  const ofBeside = (lines: string[]) => lines.filter((line) => line.includes("beside a load"));

  it("says what each kind of memory keeps, and that the load loses nothing", () => {
    const cells = [...beside("pageable", 14.2, 10.6), ...beside("pinned", 55.3, 53.9)];
    expect(ofBeside(linesOfProcesses(cells))).toEqual([
      "on device 0, beside a load on the device's memory (64 MiB, 1 worker), pageable keeps 74 % to 76 % of its rate and pinned 96 % " +
        "to 99 %; the load loses nothing (D2H)",
    ]);
  });

  it("says what the load loses beside which memory, and which copies lose nothing", () => {
    const cells = [...beside("pageable", 14, 7, 0.8), ...beside("pinned", 55, 55, 0.95)];
    expect(ofBeside(linesOfProcesses(cells))).toEqual([
      "on device 0, beside a load on the device's memory (64 MiB, 1 worker), pageable keeps 49 % to 51 % of its rate and pinned loses " +
        "nothing; the load keeps 79 % to 81 % beside pageable and 94 % to 96 % beside pinned (D2H)",
    ]);
  });

  it("claims nothing of one process that another one would deny", () => {
    const cells = beside("pageable", 14, 13.5).map((cell) => ({
      ...cell,
      load: cell.load && { ...cell.load, keptShare: buildDistribution(0.97) },
    }));
    expect(ofBeside(linesOf(cells))).toEqual([
      "on device 0, beside a load on the device's memory (64 MiB, 1 worker), these intervals do not show what pageable " +
        "loses (D2H)",
    ]);
  });

  it("claims nothing of a load that may have come to nothing", () => {
    const cells = beside("pinned", 55, 27.5).map((cell) => ({
      ...cell,
      load: cell.load && { ...cell.load, keptShare: { median: 0.2, min: 0, max: 1, low: 0, high: 1 } },
    }));
    expect(ofBeside(linesOfProcesses(cells))).toEqual([
      "on device 0, beside a load on the device's memory (64 MiB, 1 worker), pinned keeps 49 % to 51 % of its rate (D2H)",
    ]);
  });

  it("answers with the load beside which a copy loses most, in whatever direction", () => {
    const cells = (["h2d", "d2h"] as const).flatMap((direction) => {
      const [compute, memory] = direction === "h2d" ? [50, 40] : [20, 55];
      return [
        buildCell({ ...size, direction, GBps: 55 }),
        buildCell({ ...size, direction, beside: "compute", GBps: compute }),
        buildCell({ ...size, direction, beside: "memory", GBps: memory }),
      ];
    });
    const answers = textsOfProcesses(cells).join();
    expect(answers).toContain("eside arithmetic on the device");
    expect(answers).not.toContain("eside a load on the device's memory");
  });

  it("has a line a load, whatever lines there are of plain copies", () => {
    const loads = (["compute", "memory", "host"] as const).flatMap((name) =>
      beside("pinned", 55, 27.5, 1, { beside: name }).slice(1),
    );
    const plain = (["pageable", "staged", "pinned"] as const).flatMap((memory) =>
      [1, 2].map((workers) => buildCell({ ...size, direction: "d2h", memory, workers, GBps: 55 })),
    );
    const lines = linesOfProcesses([...plain, ...loads]);
    expect(lines.slice(0, 3).join()).not.toContain("beside");
    expect(lines.slice(3).map((line) => /beside [^(,]*[^ (,]/.exec(line)?.[0])).toEqual([
      "beside arithmetic on the device",
      "beside a load on the device's memory",
      "beside a load on the host's memory",
    ]);
  });
});

describe("the pipeline", () => {
  const chunked = (memory: "pinned" | "pageable", rates: Record<number, number>, part: CellPart = {}) =>
    Object.entries(rates).map(([chunks, GBps]) =>
      buildCell({ ...size, memory, chunks: Number(chunks), GBps, ...part }),
    );

  it("says what overlap gains in how many chunks with pinned memory, and that it is nothing with pageable", () => {
    const cells = [
      ...chunked("pinned", { 1: 33, 4: 46, 16: 52.1 }),
      ...chunked("pageable", { 1: 6.9, 4: 6.91, 16: 6.4 }),
    ];
    expect(linesOfProcesses(cells)).toEqual([
      "on device 0, copies of 64 MiB that overlap with kernels (non_blocking) gain 1.56× to 1.59× with pinned memory " +
        "(16 chunks) and nothing with pageable memory",
    ]);
  });

  it("says where chunks take longer", () => {
    expect(linesOfProcesses(chunked("pageable", { 1: 6.9, 4: 5, 16: 3 }))).toEqual([
      "on device 0, copies of 64 MiB that overlap with kernels (non_blocking) take longer than in one piece with " +
        "pageable memory",
    ]);
  });

  it("claims nothing of one process that another one would deny", () => {
    expect(linesOf(chunked("pageable", { 1: 6.9, 16: 7.2 }))).toEqual([
      "on device 0, these intervals do not show what copies of 64 MiB that overlap with kernels " +
        "(non_blocking) gain with pageable memory",
    ]);
  });

  it("says nothing without the one chunk that it is held against", () => {
    expect(linesOfProcesses(chunked("pinned", { 4: 46, 16: 52 }))).toEqual([]);
  });
});

describe("copies between devices", () => {
  type Path = NonNullable<CellPart["path"]>;
  const between = (device: number, peer: number, GBps: number, path: Path = "write") =>
    buildCell({ ...size, direction: "p2p", memory: "device", device, peer, path, GBps });

  it("says that access is direct, what that gains over the host, and which pair is slowest", () => {
    const cells = [between(0, 1, 390), between(1, 0, 195), between(0, 1, 20, "through-host")];
    expect(linesOfProcesses(cells)).toEqual([
      "devices reach each other's memory directly, 19× to 20× what goes through the host; slowest is 1 to 0 with " +
        "195.0 GB/s, 49 % to 51 % of 0 to 1 (write, 64 MiB, 1 worker)",
    ]);
  });

  it("claims no gain over the host that another process would deny", () => {
    const [line] = linesOfProcesses([between(0, 1, 20), between(0, 1, 20, "through-host")]);
    expect(line).toBe(
      "devices reach each other's memory directly; 0 to 1 with 20.0 GB/s (write, 64 MiB, 1 worker)",
    );
  });

  it("says that pairs are alike if they are", () => {
    expect(linesOfProcesses([between(0, 1, 390), between(1, 0, 390.5)])).toEqual([
      "devices reach each other's memory directly; all pairs are alike, at least 390.0 GB/s (write, 64 MiB, 1 worker)",
    ]);
  });

  it("names the pairs that do not reach each other", () => {
    const refused = buildSkipped(
      { ...size, direction: "p2p", memory: "device", device: 0, peer: 2, path: "write" },
      "devices 0 and 2 have no access to each other's memory",
    );
    expect(linesOfProcesses([between(0, 1, 390), refused])[0]).toMatch(
      /^devices reach each other's memory directly, but not 0 to 2; 0 to 1 with 390\.0 GB\/s /,
    );
    expect(linesOfProcesses([between(0, 2, 20, "through-host"), refused])[0]).toMatch(
      /^devices do not reach each other's memory: copies between them go through the host; 0 to 2 with 20\.0 GB\/s /,
    );
  });
});

describe("latencies", () => {
  const part = { sizeBytes: 4096, mode: "latency", GBps: 1 } as const;

  it("between devices are those of the smallest copy over the most direct path, from the quickest pair to the slowest", () => {
    const between = (device: number, latencyUs: number, more: CellPart = {}) =>
      buildCell({
        ...part,
        direction: "p2p",
        memory: "device",
        device,
        peer: 1 - device,
        path: "write",
        latencyUs: { median: latencyUs, p99: 2 * latencyUs },
        ...more,
      });
    const cells = [
      between(0, 10),
      between(1, 12),
      between(0, 700, { sizeBytes: MiB }),
      between(0, 15, { path: "through-host" }),
    ];
    expect(linesOfProcesses(cells)).toEqual([
      expect.stringMatching(
        /^a copy of 4 KiB between devices takes 9\.\d+ to 12\.\d+ µs \(write, 1 worker\)$/,
      ),
    ]);
  });

  it("of what else is measured at once are left to the tables", () => {
    const cells = [0, 1].map((device) =>
      buildCell({ ...part, device, together: [0, 1], latencyUs: { median: 10, p99: 12 } }),
    );
    expect(linesOfProcesses(cells)).toEqual([]);
  });
});

describe("the lines on plain copies", () => {
  it("are of plain cells alone", () => {
    const cells = [
      buildCell({ ...size, memory: "pageable", GBps: 10 }),
      buildCell({ ...size, memory: "pinned", GBps: 30 }),
      buildCell({ ...size, memory: "pinned", beside: "memory", GBps: 10 }),
      buildCell({ ...size, memory: "pinned", chunks: 4, GBps: 5 }),
      buildCell({ ...size, memory: "pinned", together: [0, 1], GBps: 15 }),
      buildCell({ ...size, memory: "pinned", workerKind: "process", GBps: 1 }),
    ];
    expect(linesOfProcesses(cells)[0]).toBe("on device 0, pinned is 2.9× to 3.1× pageable at 64 MiB (H2D)");
  });
});

describe("figures of the emulated device", () => {
  it("are said to be none of a GPU", () => {
    const cells = together([9, 9], [4, 4]).map(ofFiveProcesses);
    const [line, sharing] = findings(buildEmulatedDocument({ cells, devices: devices.slice(0, 2) }));
    expect(line?.text).toMatch(/^in this machine's memory, each device keeps 44 % to 45 %/);
    expect(sharing?.text).toMatch(/^devices 0 and 1 share /);
  });
});
