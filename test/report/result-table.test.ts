import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { resultKind } from "../../src/report/result-report.js";
import { drawn } from "../helpers/drawn.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildLink,
  buildMismatch,
  buildSkipped,
  defaultSweepCells,
  KiB,
  MiB,
} from "../helpers/result-document.js";

const plain = fileScreen();
const coloured = fileScreen({ chalk: new Chalk({ level: 1 }) });
const escapeCode = "\u001b";

const render = (part: Parameters<typeof buildDocument>[0]) =>
  drawn(resultKind, buildDocument(part), "table", plain);

function lineWith(text: string, ...parts: string[]): string {
  return text.split("\n").find((line) => parts.every((part) => line.includes(part))) ?? "";
}

/** Of what stands below the head, whose sentences have sizes too. */
function rowWith(text: string, ...parts: string[]): string {
  return lineWith(text.slice(text.indexOf("\n  Units")), ...parts);
}

describe("the table of the default sweep", () => {
  const text = render({ cells: defaultSweepCells(), coldStart: [buildColdStart()] });
  const lines = text.split("\n");

  it("says in its header what was measured, and how", () => {
    expect(lineWith(text, "Device")).toContain("NVIDIA H200, 139.8 GiB, 0000:00:06.0, NUMA node 0");
    expect(lineWith(text, "Link")).toContain("PCIe gen5 x16 under load, limit 63.0 GB/s each way");
    expect(lineWith(text, "Driver")).toContain("580.159.04, CUDA 13.0");
    expect(lineWith(text, "Host")).toContain("8480+, 16 CPUs, 1 NUMA node, buffers on node 0, in kvm");
    expect(lineWith(text, "Cache")).toContain("cold: buffers rotated through 210 MiB to 2 GiB");
    expect(lineWith(text, "Cache")).toContain("last-level cache 105 MiB, from sysfs");
    expect(lineWith(text, "Timing")).toContain("wall clock");
    expect(lineWith(text, "Units")).toContain("GB/s is decimal (1e9 bytes), sizes are binary");
  });

  it("names no node of buffers that lie on several", () => {
    const cells = [0, 1].map((numaNode) =>
      buildCell({ workers: numaNode + 1, GBps: 50, result: { placement: { numaNode, cpus: [0] } } }),
    );
    expect(lineWith(render({ cells }), "Host")).not.toContain("buffers on node");
  });

  it("has a table for each direction, H2D first", () => {
    const captions = lines.filter((line) => line.endsWith(", GB/s"));
    expect(captions).toEqual(["Host to device (H2D), GB/s", "Device to host (D2H), GB/s"]);
  });

  it("has a row for each size and worker count: memory kinds, what pinning gains, and the share of the link", () => {
    const head = lines.findIndex((line) => line.includes("workers"));
    expect(lines[head]?.trim().split(/\s+/)).toEqual([
      "size",
      "workers",
      "pageable",
      "staged",
      "pinned",
      "pageable",
      "link",
    ]);
    expect(lines[head - 1]?.trim().split(/\s+/)).toEqual(["pinned/", "pinned/"]);
    expect(lines[head + 2]?.trim().split(/\s+/).join(" ")).toBe("64 KiB 1 9.65 ±13 % 6.74 17.7 1.84× 28.2 %");
    expect(lines[head + 3]?.trim().split(/\s+/).join(" ")).toBe("2 9.36 ±13 % 13.4 18.4 1.96× 29.2 %");
  });

  it("aligns the numbers of a column by their decimal point", () => {
    const rows = lines.slice(lines.findIndex((line) => line.startsWith("  ───")) + 1).slice(0, 15);
    expect(new Set(rows.map((row) => row.indexOf(".")))).toHaveProperty("size", 1);
  });

  it("shows an interval above 1 % and none below", () => {
    expect(lineWith(text, "256 MiB", "10.6")).toMatch(/10\.6 +±2\.1 %/);
    expect(lineWith(text, "256 MiB", "10.6")).not.toContain("55.4 ±");
  });

  it("explains its sign and counts what became of the cells", () => {
    expect(text).toContain("30 cells, pageable: varies from sample to sample, too much for ±1 % in the time");
    const wide = buildCell({ GBps: 10, relativeHalfWidth: 0.08, result: { outcome: "budget" } });
    const [stats] = wide.stats;
    const bandwidthGBps = { ...stats!.bandwidthGBps, p10: 9, p90: 11 };
    const varying = render({ cells: [{ ...wide, stats: [{ ...stats!, bandwidthGBps }] }] });
    expect(varying).toContain("varies by up to 20 % from sample to sample, too much for ±1 % in the time");
    expect(varying).not.toContain("*");
    const near = { GBps: 10, relativeHalfWidth: 0.02, result: { outcome: "budget" } } as const;
    const late = render({ cells: [buildCell(near)] });
    expect(late).toContain("10.0 ±2.0 % *");
    expect(late).toContain(
      "* not converged: its interval was still wider than ±1 % when the budget of 8 s was spent",
    );
    expect(late).not.toContain("varies");
    expect(text).toContain("90 cells in 8.4 s: 60 converged to ±1 %, 30 not converged");
  });

  it("names the spread that conclusions allow for, if any has an interval", () => {
    expect(text.replaceAll(/\s+/g, " ")).toContain(
      "note: the conclusions allow for the spread between processes that was recorded on an NVIDIA H200; --processes 5 measures it",
    );
    expect(render({ cells: [buildCell({ GBps: 55 })] })).toContain("the conclusions allow");
    expect(render({ cells: [buildCell({ GBps: 55, relativeHalfWidth: null })] })).not.toContain(
      "the conclusions",
    );
  });

  it("has the cold start apart from the figures", () => {
    expect(text).toContain("Cold start: paid once, part of no figure above");
    expect(text).toContain("driver 62.0 ms, context 328 ms, first copy 41.0 µs");
    const rowOf = (...words: string[]) =>
      rowWith(text, ...words)
        .trim()
        .split(/\s{2,}/);
    expect(rowOf("256 MiB", "70.4 ms")).toEqual(["256 MiB", "pageable", "70.4 ms", "7.04 ms"]);
    expect(rowOf("79.9 ms")).toEqual(["pinned", "79.9 ms", "20.0 ms", "1 copy", "1 copy"]);
    expect(rowOf("8.30 ms")).toEqual(["registered", "8.30 ms", "2.77 ms", "at once", "at once"]);
    expect(text).toContain("medians of 3; pageable: new memory, touched once");
  });

  it("is at most 110 columns wide, without blanks at the ends of lines", () => {
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(110);
    expect(lines.filter((line) => line !== line.trimEnd())).toEqual([]);
  });

  it("ends in one line break", () => {
    expect(text).toMatch(/[^\n]\n$/);
  });
});

describe("the interval beside a figure", () => {
  it.each([
    { halfWidth: 0.004, precision: 0.005, shown: "" },
    { halfWidth: 0.007, precision: 0.005, shown: " ±0.7 %" },
    { halfWidth: 0.007, precision: 0.01, shown: "" },
    { halfWidth: 0.02, precision: 0.01, shown: " ±2.0 %" },
    { halfWidth: 0.02, precision: 0.05, shown: " ±2.0 %" },
    { halfWidth: 0.007, precision: 0.05, shown: "" },
  ])(
    "is shown if it is above 1 % or above the precision asked for: $halfWidth at $precision",
    ({ halfWidth, precision, shown }) => {
      const cells = [
        buildCell({ GBps: 50, relativeHalfWidth: halfWidth }),
        buildCell({
          mode: "latency",
          GBps: 1,
          latencyUs: { median: 400, p99: 500 },
          relativeHalfWidth: halfWidth,
        }),
      ];
      const lines = render({ cells, plan: { precision } })
        .split("\n")
        .filter((line) => /^ +16 MiB /.test(line))
        .map((line) => line.trim().split(/\s+/).join(" "));
      expect(lines).toEqual([`16 MiB 1 50.0${shown} 79.3 %`, `16 MiB 1 400.0${shown} 500.0`]);
    },
  );
});

describe("the cold start", () => {
  it("says why a way of pinning has no cost, once for all sizes", () => {
    const reason = "cuMemHostRegister_v2 failed with CUDA_ERROR_NOT_SUPPORTED (operation not supported)";
    const { pinning } = buildColdStart();
    const refused = pinning.map((record) => ({
      ...record,
      registered: null,
      refusals: { registered: reason },
    }));
    const text = render({ coldStart: [buildColdStart({ pinning: refused })] }).replaceAll(/\s+/g, " ");
    expect(text.split(`registered memory was refused: ${reason}`)).toHaveLength(2);
  });

  it("are each device's own, by its number", () => {
    const chosen = [1, 3];
    const text = render({
      devices: chosen.map((ordinal) => buildDevice({ ordinal })),
      cells: chosen.map((device) => buildCell({ device })),
      coldStart: chosen.map((device) => buildColdStart({ device, initNs: device * 1e8 })),
    });
    expect(text).toMatch(/Cold start, device 1:.*driver 100 ms.*Cold start, device 3:.*driver 300 ms/s);
  });
});

describe("colours", () => {
  const document = buildDocument({
    cells: [
      ...defaultSweepCells(),
      buildMismatch({ memory: "mapped" }),
      buildFailed({ memory: "registered" }, "X", "no"),
    ],
    coldStart: [buildColdStart()],
  });

  it("are absent at level 0: no escape code at all", () => {
    expect(drawn(resultKind, document, "table", plain)).not.toContain(escapeCode);
  });

  it("change nothing but the escape codes", () => {
    const text = drawn(resultKind, document, "table", coloured);
    expect(text).toContain(escapeCode);
    expect(stripVTControlCharacters(text)).toBe(drawn(resultKind, document, "table", plain));
  });
});

describe("the emulated device", () => {
  it("is announced above every figure, and has no link", () => {
    const text = drawn(resultKind, buildEmulatedDocument(), "table", plain);
    expect(text.split("\n")[1]).toBe("! emulated device: figures describe this machine's memory, not a GPU");
    expect(text).not.toMatch(/\/\n.*link/);
    expect(lineWith(text, "Link")).toContain("no share of a link is shown");
  });

  it("has the link that its NVML tells of", () => {
    const emulated = buildEmulatedDocument();
    for (const device of emulated.devices) device.link = buildLink({ width: 4 });
    expect(lineWith(drawn(resultKind, emulated, "table", plain), "Link")).toContain(
      "PCIe gen5 x4 under load (the device can do gen5 x16)",
    );
  });
});

describe("both directions at once", () => {
  const text = render({
    cells: [
      buildCell({ direction: "bidir", memory: "pageable", GBps: { h2d: 9, d2h: 8, sum: 17 } }),
      buildCell({ direction: "bidir", memory: "pinned", GBps: { h2d: 52.33, d2h: 50.69, sum: 103.02 } }),
    ],
  });

  it("shows each direction, the sum, its gain over pageable, and its share of the link both ways", () => {
    expect(text).toContain("Both directions at once, GB/s");
    expect(lineWith(text, "pinned ").trim().split(/\s+/)).toEqual([
      "pinned",
      "52.3",
      "50.6",
      "103.0",
      "6.0×",
      "81.7",
      "%",
    ]);
  });
});

describe("latency", () => {
  it("is the median and the 99th percentile in microseconds, for each memory kind", () => {
    const cells = (["pageable", "pinned"] as const).map((memory, index) =>
      buildCell({
        memory,
        mode: "latency",
        sizeBytes: 4 * KiB,
        GBps: 1,
        latencyUs: { median: 3.5 - index, p99: 5 },
      }),
    );
    const text = render({ cells });
    expect(text).toContain("Host to device (H2D), latency in µs");
    expect(
      rowWith(text, "4 KiB")
        .trim()
        .split(/\s{2,}/),
    ).toEqual(["4 KiB", "1", "3.50", "5.00", "2.50", "5.00"]);
    expect(text).not.toContain("link\n");
  });
});

describe("several timers, caches and devices", () => {
  it("have a table each, captioned by what differs", () => {
    const cells = [
      buildCell({ GBps: 55 }),
      buildCell({ GBps: 55, timer: "event" }),
      buildCell({ GBps: 55, cache: "warm" }),
      buildCell({ GBps: 55, device: 1 }),
    ];
    const text = render({ cells, devices: [buildDevice(), buildDevice({ ordinal: 1 })] });
    expect(text.split("\n").filter((line) => line.includes("(H2D), "))).toEqual([
      "Device 0: Host to device (H2D), GB/s, wall clock, cold cache",
      "Device 0: Host to device (H2D), GB/s, wall clock, warm cache",
      "Device 0: Host to device (H2D), GB/s, event timer, cold cache",
      "Device 1: Host to device (H2D), GB/s, wall clock, cold cache",
    ]);
  });
});

describe("the share of the link", () => {
  it("is that of pinned if it was measured", () => {
    const cells = [buildCell({ GBps: 50 }), buildCell({ memory: "registered", GBps: 60 })];
    expect(rowWith(render({ cells }), "16 MiB", "%")).toContain("79.3 %");
  });

  it("is the best of the row without pinned, and says so", () => {
    const cells = [buildCell({ memory: "staged", GBps: 50 }), buildCell({ memory: "registered", GBps: 60 })];
    const text = render({ cells });
    expect(text).toContain("best/");
    expect(rowWith(text, "16 MiB", "%")).toContain("95.2 %");
  });

  it("is of the link as it is; the header says when the device can do more", () => {
    const link = buildLink({ generation: 3 });
    const devices = [buildDevice({ link, linkLimitGBps: 15.754 })];
    expect(render({ devices })).toMatch(
      /PCIe gen3 x16 under load \(the device can do gen5 x16\), limit 15\.7 GB\/s/,
    );
  });
});

describe("what went wrong", () => {
  const text = render({
    run: { status: "aborted" },
    cells: [
      buildMismatch({ GBps: 54.9 }),
      buildFailed({ workers: 2 }, "CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostAlloc failed: out of memory."),
      buildFailed({ workers: 4 }, "CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostAlloc failed: out of memory."),
      buildSkipped({ memory: "staged" }, "staged copies need the host"),
      buildSkipped({ memory: "staged", workers: 2 }, "staged copies need the host"),
      buildCell({ sizeBytes: MiB, GBps: 30, relativeHalfWidth: null, result: { outcome: null } }),
      buildCell({ sizeBytes: MiB, workers: 2, result: { outcome: null } }),
    ],
  });

  it("shows no figure of a cell whose data came back wrong, and names it in a line of its own and at the end", () => {
    expect(lineWith(text, "16 MiB", "MISMATCH")).not.toMatch(/54\.9|%/);
    expect(text).toContain("MISMATCH: data came back wrong in H2D pinned 16 MiB x1: 1 place");
    expect(text).toContain("=> DATA CAME BACK WRONG in 1 of 7 cells");
  });

  it("is red for a mismatch", () => {
    const red = drawn(resultKind, buildDocument({ cells: [buildMismatch()] }), "table", coloured);
    expect(red).toContain("\u001b[1m\u001b[31mMISMATCH");
  });

  it("says each reason once, with how many cells it holds for", () => {
    expect(text.replaceAll(/\s+/g, " ")).toContain(
      "failed: cuMemHostAlloc failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY) (2 cells, pinned)",
    );
    expect(text).toContain("- skipped: staged copies need the host (2 cells, staged)");
  });

  it("marks what is unfinished or has no interval", () => {
    expect(text.split("\n")[1]).toBe("! interrupted: these figures were measured before that");
    expect(lineWith(text, "1 MiB", "30.0")).toContain("30.0 ±? †");
    expect(text).toContain("† not finished");
    expect(text).toContain("±? too few samples for an interval");
    expect(text).toContain("- not measured before the run ended");
  });
});

it("says that an interval wider than twice its figure is useless", () => {
  const wide = buildCell({ GBps: 30, relativeHalfWidth: 21.69, result: { outcome: "budget" } });
  const text = render({ cells: [wide] });
  expect(lineWith(text, "16 MiB", "30.0")).toContain("30.0 ±?");
  expect(text).toContain("±? an interval wider than ±100 %, too wide to be of use");
  const none = buildCell({ GBps: 30, sizeBytes: MiB, relativeHalfWidth: null });
  expect(render({ cells: [wide, none] })).toContain(
    "±? too few samples for an interval, or an interval wider than ±100 %, too wide to be of use",
  );
});

it("shows a run without any cell", () => {
  const text = render({ cells: [] });
  expect(text).toContain("0 cells in 8.4 s");
  expect(text).toContain("=> Nothing was measured.");
});
