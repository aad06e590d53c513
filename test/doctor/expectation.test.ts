import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  doctorAdvice,
  expectationOf,
  payloadLimitGBps,
  readSiteReference,
  referenceSchema,
} from "../../src/doctor/expectation.js";
import { parseResult } from "../../src/results/parse.js";
import { buildCell, buildDevice, buildDocument, buildLink, MiB } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), "utf8");
const reference = referenceSchema.parse(JSON.parse(textOf("src/doctor/reference.json")));
const h200 = reference.listed.find(({ gpu }) => gpu === "NVIDIA H200")!;
const gen5 = { generation: 5, width: 16 };
const limitGBps = 63.015;

/** Shares of the link that plain pinned copies by one worker fill in a recording. */
function recordedShares(path: string, direction: "h2d" | "d2h"): number[] {
  const { cells } = parseResult(textOf(path));
  return cells
    .filter(
      (cell) =>
        cell.memory === "pinned" &&
        cell.direction === direction &&
        cell.workers === 1 &&
        cell.mode === "throughput" &&
        cell.together === undefined &&
        cell.sizeBytes >= 2 ** 26,
    )
    .flatMap(({ stats }) => stats.flatMap(({ linkShare }) => linkShare ?? []));
}

describe("reference.json", () => {
  it.each([...reference.listed, reference.byLink, reference.emulated])(
    "names a source that there is (%#)",
    ({ sources }) => {
      for (const source of sources) expect(textOf(source).length).toBeGreaterThan(0);
    },
  );

  it.each(["h2d", "d2h"] as const)("has the share of an H200 as recorded, %s", (direction) => {
    const shares = recordedShares("results/nvidia-h200/pinned.json", direction);
    expect(shares).toHaveLength(1);
    expect(h200.alone[direction]).toBeCloseTo(shares[0]!, 2);
    const { cells } = JSON.parse(textOf("results/nvidia-h200/noise.json")) as {
      cells: { id: string; mediansGBps: number[] }[];
    };
    const ofNoise = cells.find(({ id }) => id === `d0/${direction}/pinned/67108864/w1/throughput/cold`)!;
    for (const rate of ofNoise.mediansGBps) {
      expect(Math.abs(rate / limitGBps - h200.alone[direction])).toBeLessThan(0.005);
    }
  });

  it.each(["h2d", "d2h"] as const)("calls none of the recorded H200s slow, %s", (direction) => {
    const least = h200.alone[direction] * (1 - h200.tolerance);
    const files = ["default", "quick", "pinned", "at-once-together"];
    const shares = files.flatMap((name) => recordedShares(`results/nvidia-h200/${name}.json`, direction));
    expect(shares.length).toBeGreaterThanOrEqual(4);
    // In docs and comments: the range of all recordings is a sixth of the tolerance.
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(0.008);
    for (const share of shares) expect(share).toBeGreaterThan(least);
  });

  it("has the share of an H100 as recorded, which the text prints in per cent", () => {
    const text = textOf("results/nvidia-h100/before-and-after.txt");
    const { alone, gpu } = reference.listed.find(({ gpu }) => gpu.includes("H100"))!;
    expect(text).toContain(gpu);
    for (const share of [alone.h2d, alone.d2h]) expect(text).toContain(`${(share * 100).toFixed(1)} %`);
  });

  it.each(["h2d", "d2h"] as const)(
    "calls no healthy H100 slow, though tenants disturb its host, %s",
    (direction) => {
      const { alone, tolerance } = reference.listed.find(({ gpu }) => gpu.includes("H100"))!;
      const rows = [
        ...textOf("results/nvidia-h100/doctor.txt").matchAll(/^ +healthy .* ([\d.]+), ([\d.]+) +[\d.]+ /gm),
      ];
      const rates = rows.map(([, h2d, d2h]) => Number(direction === "h2d" ? h2d : d2h));
      expect(rates.length).toBeGreaterThanOrEqual(20);
      const least = alone[direction] * (1 - tolerance) * limitGBps;
      for (const rate of rates) expect(rate).toBeGreaterThan(1.02 * least);
    },
  );
});

describe("what a device should reach", () => {
  it("is a share of the best link that card and slot have", () => {
    expect(expectationOf({ name: "NVIDIA H200", emulated: false }, gen5)).toMatchObject({
      h2d: expect.closeTo(55.3, 1),
      d2h: expect.closeTo(55.1, 1),
      tolerance: 0.05,
      source: expect.stringContaining("recordings of the NVIDIA H200"),
    });
    const half = expectationOf({ name: "NVIDIA H200", emulated: false }, { generation: 4, width: 16 });
    expect(half?.h2d).toBeCloseTo(55.26 / 2, 1);
  });

  it("comes from the link alone, with a wider tolerance, if no such GPU was recorded", () => {
    const expectation = expectationOf({ name: "NVIDIA L4", emulated: false }, { generation: 4, width: 16 });
    expect(expectation).toMatchObject({
      h2d: expect.closeTo(27.2, 1),
      together: null,
      tolerance: 0.2,
      source: expect.stringContaining("its link alone, PCIe gen4 x16: no NVIDIA L4 was recorded"),
    });
  });

  it.each([
    ["a P100 of 12.15 GB/s", 3, 12.15],
    ["an A100 of 24.8 GB/s", 4, 24.8],
  ])("is not above what people report of healthy machines: %s", (_what, generation, rate) => {
    const { h2d, tolerance } = expectationOf(
      { name: "any GPU", emulated: false },
      { generation, width: 16 },
    )!;
    expect(rate).toBeGreaterThan(h2d * (1 - tolerance));
  });

  it.each([
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
    "NVIDIA A10-8Q",
    "GRID T4-16C",
    "GRID A100-1-5CME",
  ])("is nothing for a part of a GPU: %s", (name) => {
    expect(expectationOf({ name, emulated: false }, gen5)).toBeNull();
  });

  it.each([
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA H100 NVL",
    "NVIDIA RTX A6000",
    "Tesla V100-PCIE-16GB",
    "NVIDIA L40S",
  ])("applies to a whole GPU: %s", (name) => {
    expect(expectationOf({ name, emulated: false }, gen5)).not.toBeNull();
  });

  it("is all of the link on an emulated device, whatever it is called", () => {
    const link = { generation: 1, width: 4 };
    expect(expectationOf({ name: "NVIDIA H200", emulated: true }, link)).toMatchObject({ h2d: 1, d2h: 1 });
  });

  it.each([
    { generation: null, width: 16 },
    { generation: 5, width: null },
    { generation: 9, width: 16 },
  ])("is not known without a known link: %j", (link) => {
    expect(expectationOf({ name: "NVIDIA H200", emulated: false }, link)).toBeNull();
  });
});

describe("what a link can carry of payload", () => {
  it("is the link's limit if the payload of a packet is not known", () => {
    expect(payloadLimitGBps(5, 16, null)).toBeCloseTo(limitGBps, 2);
    expect(payloadLimitGBps(5, 16, 0)).toBeCloseTo(limitGBps, 2);
    expect(payloadLimitGBps(null, 16, 256)).toBeNull();
  });

  it("is less by header, framing and checks: 24 bytes a packet, of which flits carry but the header", () => {
    expect(payloadLimitGBps(5, 16, 256)).toBeCloseTo((limitGBps * 256) / 280, 2);
    expect(payloadLimitGBps(5, 16, 128)).toBeCloseTo((limitGBps * 128) / 152, 2);
    expect(payloadLimitGBps(6, 16, 256)! / payloadLimitGBps(6, 16, null)!).toBeCloseTo(256 / 272, 6);
  });

  it("is above what healthy machines reach, with the payload of 256 bytes that servers have", () => {
    expect(payloadLimitGBps(5, 16, 256)!).toBeGreaterThan(h200.alone.h2d * limitGBps);
  });
});

describe("a site's own reference", () => {
  const a100 = { name: "NVIDIA A100-SXM4-80GB", emulated: false };
  const gen4 = { generation: 4, width: 16 };

  it("as the documentation shows it makes an A100 a kind with a reference", async () => {
    const example = /^```json\n([\s\S]*?)^```$/m.exec(textOf("docs/doctor.md"))![1]!;
    const path = join(temporaryFolder(), "site.json");
    writeFileSync(path, example);
    const site = await readSiteReference(path);
    expect(expectationOf(a100, gen4)).toMatchObject({ isOfKind: false, tolerance: 0.2 });
    const own = expectationOf(a100, gen4, site)!;
    expect(own).toMatchObject({
      tolerance: 0.05,
      source: expect.stringContaining("this site's own recordings"),
    });
    expect(own).not.toHaveProperty("isOfKind");
    expect(own.h2d).toBeCloseTo(0.79 * 31.507, 1);
  });

  it("goes before the recorded machines, and changes nothing for other kinds", () => {
    const site = { listed: [{ ...h200, tolerance: 0.02 }] };
    const named = { name: h200.gpu, emulated: false };
    expect(expectationOf(named, gen5, site)!.tolerance).toBe(0.02);
    // Of an emulated device too, which has an expectation of its own otherwise.
    expect(expectationOf({ ...named, emulated: true }, gen5, site)!.tolerance).toBe(0.02);
    expect(expectationOf(named, gen5, site)).not.toHaveProperty("driver");
    const written = { listed: [{ ...h200, driver: "580" }] };
    expect(expectationOf(named, gen5, written)!.driver).toBe("580");
    expect(expectationOf(a100, gen4, site)).toEqual(expectationOf(a100, gen4));
  });
});

describe("the advice to run pinbench doctor", () => {
  const devices = [buildDevice({ ordinal: 0, link: null }), buildDevice({ ordinal: 1 })];
  const advice = (GBps: number, part: Parameters<typeof buildCell>[0] = {}) => {
    const cells = [
      buildCell({ sizeBytes: 64 * MiB, device: 0, GBps: 5 }),
      buildCell({ sizeBytes: 64 * MiB, device: 1, GBps, ...part }),
    ];
    return doctorAdvice(buildDocument({ devices, cells }));
  };

  it("is given for the slow one of two devices, though nothing is expected of the other", () => {
    expect(advice(20)).toBe(
      "H2D pinned copies reach 20.0 GB/s on device 1, and those of healthy machines 55.2 GB/s: pinbench doctor says why.",
    );
    expect(advice(20, { direction: "d2h" })).toMatch(/^D2H pinned copies reach 20\.0 GB\/s on device 1, /);
  });

  it("is given for a kind that was not recorded, and says so", () => {
    const l4 = buildDevice({ name: "NVIDIA L4" });
    const cells = [buildCell({ sizeBytes: 64 * MiB, GBps: 20 })];
    expect(doctorAdvice(buildDocument({ devices: [l4], cells }))).toMatch(
      /^H2D pinned copies reach 20\.0 GB\/s, and recorded GPUs over such a link 5\d\.\d GB\/s: pinbench/,
    );
  });

  it("is not given if the fastest of a device's copies are as fast as they should be", () => {
    const copies = [20, 55].map((GBps, i) => buildCell({ sizeBytes: (64 + i) * MiB, device: 1, GBps }));
    expect(doctorAdvice(buildDocument({ devices, cells: copies }))).toBeNull();
  });

  it("is given for a link that has trained down, which could do more", () => {
    const down = buildLink({ generation: 3, width: 8, maxGeneration: 5, maxWidth: 16 });
    const cells = [buildCell({ sizeBytes: 64 * MiB, GBps: 6.9 })];
    expect(doctorAdvice(buildDocument({ devices: [buildDevice({ link: down })], cells }))).toMatch(
      /^H2D pinned copies reach 6\.90 GB\/s, and those of healthy machines 55\.2 GB\/s/,
    );
  });

  it("is given for what comes after copies that are as fast as they should be", () => {
    const two = [0, 1].map((ordinal) => buildDevice({ ordinal }));
    const copies = [
      { device: 0, GBps: 55, direction: "h2d" },
      { device: 0, GBps: 55, direction: "d2h" },
      { device: 1, GBps: 55, direction: "h2d" },
      { device: 1, GBps: 20, direction: "d2h" },
    ] as const;
    const cells = copies.map((copy) => buildCell({ sizeBytes: 64 * MiB, ...copy }));
    expect(doctorAdvice(buildDocument({ devices: two, cells }))).toMatch(
      /^D2H pinned copies reach 20\.0 GB\/s on device 1, /,
    );
  });

  it.each([
    ["as fast as they should be", { GBps: 55 }],
    ["of pageable memory", { memory: "pageable" }],
    ["of several workers", { workers: 2 }],
    ["of less than 32 MiB", { sizeBytes: 16 * MiB }],
    ["one by one", { mode: "latency", latencyUs: { median: 3000, p99: 4000 } }],
    ["with a load", { beside: "host" }],
  ] as const)("is not given for copies %s", (_, part) => {
    expect(advice(20, part)).toBeNull();
  });
});
