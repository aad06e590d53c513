import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { resultKind } from "../../src/report/result-report.js";
import { buildBlocks } from "../helpers/blocks.js";
import { drawn } from "../helpers/drawn.js";
import {
  buildCell,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildFailed,
  buildSkipped,
  type CellPart,
  MiB,
} from "../helpers/result-document.js";

const size = { sizeBytes: 256 * MiB };
const devices = [0, 1, 2].map((ordinal) => buildDevice({ ordinal }));

const render = (part: Parameters<typeof buildDocument>[0]) =>
  drawn(resultKind, buildDocument(part), "table", fileScreen());

/** Each line of the table below this caption, its columns joined by " | ", down to the blank line. */
function tableOf(text: string, caption: string): string[] {
  const lines = text.split("\n");
  const start = lines.indexOf(caption);
  expect(start, `${caption} in\n${text}`).toBeGreaterThanOrEqual(0);
  const end = lines.indexOf("", start);
  return lines.slice(start + 1, end).map((line) =>
    line
      .trim()
      .split(/\s{2,}/)
      .join(" | "),
  );
}

const captionsOf = (text: string) =>
  text.split("\n").filter((line) => / (GB\/s|in µs|ms a batch)$/.test(line));

/** The lines below the rule, footnotes included. */
const bodyOf = (table: readonly string[]) =>
  table.slice(table.findIndex((line) => line.startsWith("──")) + 1);

describe("the order of tables", () => {
  it("is plain, beside a load, pipeline for each device and direction, then those of several devices", () => {
    const plain = [0, 1].map((device) => buildCell({ device, GBps: 55 }));
    const cells = [
      buildCell({ direction: "p2p", memory: "device", peer: 1, path: "write", GBps: 390 }),
      ...[0, 1].map((device) => buildCell({ device, together: [0, 1], GBps: 50 })),
      buildCell({ chunks: 1, GBps: 30 }),
      buildCell({ beside: "memory", GBps: 53 }),
      buildCell({ beside: "compute", GBps: 54 }),
      buildCell({ direction: "d2h", GBps: 54 }),
      ...plain,
    ];
    expect(captionsOf(render({ cells, devices }))).toEqual([
      "Device 0: Host to device (H2D), GB/s",
      "Device 0: Host to device (H2D) beside arithmetic on the device, GB/s",
      "Device 0: Host to device (H2D) beside a load on the device's memory, GB/s",
      "Device 0: Host to device (H2D), in chunks with a kernel behind each, ms a batch",
      "Device 0: Device to host (D2H), GB/s",
      "Device 1: Host to device (H2D), GB/s",
      "Devices 0 and 1 at once: Host to device (H2D), GB/s",
      "Between devices (P2P), 16 MiB, GB/s",
    ]);
  });
});

describe("how to read a kind of table", () => {
  it("is said below the first of them alone", () => {
    const cells = [0, 1].flatMap((device) => [
      buildCell({ device, GBps: 55 }),
      buildCell({ device, beside: "memory", GBps: 53 }),
      buildCell({ device, beside: "compute", GBps: 53 }),
    ]);
    expect(render({ cells, devices }).match(/copy alone: the same cell without the load/g)).toHaveLength(1);
  });
});

describe("workers that are processes", () => {
  const part = { ...size, memory: "pageable", workers: 4 } as const;
  const cells = [
    buildCell({ ...part, GBps: 8 }),
    buildCell({ ...part, workerKind: "process", GBps: 27.3 }),
    buildCell({ ...part, workerKind: "process", workers: 1, GBps: 8.2 }),
  ];

  it("have rows of their own, after the threads of that number", () => {
    expect(bodyOf(tableOf(render({ cells }), "Host to device (H2D), GB/s"))).toEqual([
      expect.stringMatching(/^256 MiB \| 1 process \| 8\.20/),
      expect.stringMatching(/^4 \| 8\.00/),
      expect.stringMatching(/^4 processes \| 27\.3/),
    ]);
  });
});

describe("devices at once", () => {
  const h2d = (part: CellPart) => buildCell({ ...size, ...part });
  const cells = [
    ...[0, 1].flatMap((device) => [h2d({ device, GBps: 50 }), h2d({ device, memory: "pageable", GBps: 8 })]),
    h2d({ device: 0, together: [0, 1], GBps: 48 }),
    h2d({ device: 1, together: [0, 1], GBps: 25 }),
    h2d({ device: 0, memory: "pageable", together: [0, 1], GBps: 8 }),
    buildFailed({ ...size, device: 1, memory: "pageable", together: [0, 1] }, "CUDA_ERROR_UNKNOWN", "no"),
  ];
  const table = tableOf(render({ cells, devices }), "Devices 0 and 1 at once: Host to device (H2D), GB/s");

  it("have a column a device and their sum, and shares of what each and all reach alone", () => {
    expect(table[0]).toBe("device | device");
    expect(table[1]).toBe("size | workers | memory | 0 | 1 | sum");
    expect(bodyOf(table)).toEqual([
      "256 MiB | 1 | pageable | at once | 8.00 | failed | -",
      "of alone | 100.0 % | - | -",
      "pinned | at once | 48.0 | 25.0 | 73.0",
      "of alone | 96.0 % | 50.0 % | 73.0 %",
      "of alone: of what the same cell reaches by itself, measured in the same rounds",
    ]);
  });

  it("leave the tables of each device as they are", () => {
    const [first] = bodyOf(tableOf(render({ cells, devices }), "Device 1: Host to device (H2D), GB/s"));
    expect(first).toBe("256 MiB | 1 | 8.00 | 50.0 | 6.2× | 79.3 %");
  });

  it("show each direction and their sum if both are copied, and how that compares with nvbandwidth", () => {
    const bidir = (part: CellPart) => buildCell({ ...size, direction: "bidir", ...part });
    const text = render({
      devices,
      cells: [
        ...[0, 1].map((device) => bidir({ device, GBps: { h2d: 50, d2h: 50, sum: 100 } })),
        ...[0, 1].map((device) => bidir({ device, together: [0, 1], GBps: { h2d: 30, d2h: 45, sum: 75 } })),
      ],
    });
    const rows = bodyOf(tableOf(text, "Devices 0 and 1 at once: Both directions at once, GB/s"));
    expect(rows.slice(0, 6)).toEqual([
      "256 MiB | 1 | pinned | H2D | 30.0 | 30.0 | 60.0",
      "of alone | 60.0 % | 60.0 % | 60.0 %",
      "D2H | 45.0 | 45.0 | 90.0",
      "of alone | 90.0 % | 90.0 % | 90.0 %",
      "sum | 75.0 | 75.0 | 150.0",
      "of alone | 75.0 % | 75.0 % | 75.0 %",
    ]);
    expect(rows.slice(6).join(" ")).toMatch(
      /rows H2D correspond to nvbandwidth.s host_to_all_bidirectional_memcpy_ce/,
    );
  });

  it("have shares of speed if latencies were measured, and no sum", () => {
    const latency = (part: CellPart, median: number) =>
      buildCell({ ...size, mode: "latency", GBps: 1, latencyUs: { median, p99: 2 * median }, ...part });
    const text = render({
      devices,
      cells: [0, 1].flatMap((device) => [
        latency({ device }, 10),
        latency({ device, together: [0, 1] }, 12.5),
      ]),
    });
    expect(
      bodyOf(tableOf(text, "Devices 0 and 1 at once: Host to device (H2D), latency in µs")).slice(0, 2),
    ).toEqual(["256 MiB | 1 | pinned | median | 12.5 | 12.5", "of alone | 80.0 % | 80.0 %"]);
  });
});

describe("copies between devices", () => {
  const between = (device: number, peer: number, part: CellPart = {}) =>
    buildCell({
      ...size,
      direction: "p2p",
      memory: "device",
      device,
      peer,
      path: "write",
      GBps: 390,
      ...part,
    });
  const cells = [
    between(0, 1),
    between(1, 0, { GBps: 385 }),
    buildSkipped({ ...size, direction: "p2p", memory: "device", peer: 2, path: "write" }, "no access"),
    between(0, 1, { path: "through-host", GBps: 20 }),
    between(0, 2, { path: "through-host", GBps: 19 }),
  ];

  it("stand in a matrix a path, from the row's device to the column's, the diagonal blank", () => {
    const table = tableOf(render({ cells, devices }), "Between devices (P2P), 256 MiB, GB/s");
    expect(table[1]).toBe("path | from | 0 | 1 | 2");
    expect(bodyOf(table).slice(0, 3)).toEqual([
      "write | 0 | 390.0 | -",
      "1 | 385.0",
      "through-host | 0 | 20.0 | 19.0",
    ]);
  });

  it("have a table a size, and a number of workers if that varies", () => {
    const several = [between(0, 1), between(0, 1, { workers: 2 }), between(0, 1, { sizeBytes: MiB })];
    expect(captionsOf(render({ cells: several, devices }))).toEqual([
      "Between devices (P2P), 1 MiB, 1 worker, GB/s",
      "Between devices (P2P), 256 MiB, 1 worker, GB/s",
      "Between devices (P2P), 256 MiB, 2 workers, GB/s",
    ]);
  });

  it("show the median latency of one copy in latency mode", () => {
    const latency = between(0, 1, { mode: "latency", GBps: 1, latencyUs: { median: 11, p99: 20 } });
    const table = tableOf(
      render({ cells: [latency], devices }),
      "Between devices (P2P), 256 MiB, latency in µs",
    );
    expect(bodyOf(table)[0]).toBe("write | 0 | 11.0");
  });

  it("are the same in Markdown", () => {
    const text = drawn(resultKind, buildDocument({ cells, devices }), "markdown");
    expect(text).toContain("| path | from | to 0 | to 1 | to 2 |");
    expect(text).toContain("| write | 0 |  | 390.0 | - |");
  });
});

describe("copies beside a load", () => {
  const load = {
    unit: "GFLOP/s" as const,
    alone: buildDistribution(700_000),
    during: buildDistribution(630_000),
    keptShare: buildDistribution(0.9),
  };
  const cells = [
    buildCell({ ...size, memory: "pageable", GBps: 8 }),
    buildCell({ ...size, memory: "pinned", GBps: 50 }),
    buildCell({ ...size, memory: "pageable", beside: "compute", GBps: 6, result: { load } }),
    buildCell({ ...size, memory: "pinned", beside: "compute", GBps: 49, result: { load: null } }),
  ];
  const table = tableOf(render({ cells }), "Host to device (H2D) beside arithmetic on the device, GB/s");

  it("show what both reach alone and beside each other, and how much each keeps", () => {
    expect(table.slice(0, 3)).toEqual([
      "load | load",
      "copy | copy | copy | alone | beside | load",
      "size | workers | memory | alone | beside | keeps | GFLOP/s | GFLOP/s | keeps",
    ]);
    expect(bodyOf(table).slice(0, 2)).toEqual([
      "256 MiB | 1 | pageable | 8.00 | 6.00 | 75.0 % | 700000 | 630000 | 90.0 %",
      "pinned | 50.0 | 49.0 | 98.0 % | - | - | -",
    ]);
  });

  it("in blocks have a row for each way, against the same blocks without the load", () => {
    const rates = { loop: [2, 2850], kernel: [40, 5], "kernel on 8": [30, 5] } as const;
    const during = { loop: [1, 2850], kernel: [10, 5], "kernel on 8": [24, 5] } as const;
    const beside = { beside: "compute", memory: "pinned", result: { load } } as const;
    const blocks = [
      ...buildBlocks(4096, 16, 50, rates, { memory: "pinned" }),
      ...buildBlocks(4096, 16, 45, during, beside),
    ];
    const text = render({ cells: blocks });
    const title = "Host to device (H2D) beside arithmetic on the device, in scattered blocks, GB/s";
    expect(bodyOf(tableOf(text, title)).slice(0, 3)).toEqual([
      "4 KiB | 16 | pinned | loop | 2.00 | 1.00 | 50.0 % | 700000 | 630000 | 90.0 %",
      "kernel | 40.0 | 10.0 | 25.0 % | 700000 | 630000 | 90.0 %",
      "kernel on 8 SMs | 30.0 | 24.0 | 80.0 % | 700000 | 630000 | 90.0 %",
    ]);
    expect(bodyOf(tableOf(text, "Host to device (H2D), in scattered blocks, GB/s"))[0]).toBe(
      "4 KiB | 16 | pinned | 50.0 | 2.00 | 40.0 | 30.0",
    );
  });

  it("have a row a direction if both are copied, and the load once", () => {
    const bidir = (part: CellPart, h2d: number) =>
      buildCell({ ...size, direction: "bidir", GBps: { h2d, d2h: 40, sum: h2d + 40 }, ...part });
    const text = render({ cells: [bidir({}, 50), bidir({ beside: "host", result: { load } }, 40)] });
    const rows = bodyOf(tableOf(text, "Both directions at once beside a load on the host's memory, GB/s"));
    expect(rows.slice(0, 3)).toEqual([
      "256 MiB | 1 | pinned | H2D | 50.0 | 40.0 | 80.0 % | 700000 | 630000 | 90.0 %",
      "D2H | 40.0 | 40.0 | 100.0 %",
      "sum | 90.0 | 80.0 | 88.8 %",
    ]);
  });
});

describe("the pipeline", () => {
  const chunked = (memory: "pinned" | "pageable", chunks: number, batchMs: number, computeNs = 3.3e6) =>
    buildCell({ ...size, memory, chunks, GBps: size.sizeBytes / (batchMs * 1e6), result: { computeNs } });
  const cells = [
    buildCell({ ...size, memory: "pinned", GBps: size.sizeBytes / 4.8e6 }),
    chunked("pinned", 1, 8),
    chunked("pinned", 16, 5),
    chunked("pageable", 1, 38),
    buildFailed({ ...size, memory: "pageable", chunks: 16 }, "CUDA_ERROR_UNKNOWN", "no"),
  ];

  it("shows what copy and kernels take, each chunk count's batch, and what that gains over one chunk", () => {
    const table = tableOf(
      render({ cells }),
      "Host to device (H2D), in chunks with a kernel behind each, ms a batch",
    );
    expect(table.slice(0, 2)).toEqual([
      "copy | kernels | 1 | 16",
      "size | memory | alone | alone | chunk | chunks",
    ]);
    expect(bodyOf(table).slice(0, 4)).toEqual([
      "256 MiB | pageable | ms | 3.30 | 38.0 | failed",
      "gain | -",
      "pinned | ms | 4.80 | 3.30 | 8.00 | 5.00",
      "gain | 1.60×",
    ]);
  });

  it("has no gain without a batch in one chunk", () => {
    const [copy, , inSixteen] = cells;
    const table = tableOf(
      render({ cells: [copy!, chunked("pinned", 4, 6), inSixteen!] }),
      "Host to device (H2D), in chunks with a kernel behind each, ms a batch",
    );
    expect(bodyOf(table).slice(0, 2)).toEqual([
      "256 MiB | pinned | ms | 4.80 | 3.30 | 6.00 | 5.00",
      "gain | - | -",
    ]);
  });
});
