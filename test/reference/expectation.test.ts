import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { doctorAdvice } from "../../src/reference/doctor-advice.js";
import {
  expectationOf,
  isPartOfGpu,
  linkOfSlot,
  readSiteReference,
  recordedLink,
  usualShares,
} from "../../src/reference/expectation.js";
import { recordedKinds } from "../../src/reference/recorded-kinds.js";
import { linkLimitGBps } from "../../src/results/device-facts.js";
import { parseResult } from "../../src/results/parse.js";
import { buildCell, buildDevice, buildDocument, buildLink, MiB } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), "utf8");
const gen5 = { generation: 5, width: 16 };
const limitGBps = 63.015;
const kindOf = (name: string) => recordedKinds.find(({ gpu, by }) => gpu === name && by === "pinbench")!;
const h200 = kindOf("NVIDIA H200");
const shareOf = ({ alone }: typeof h200, way: "h2d" | "d2h") => alone[way] / limitGBps;

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

describe("the recorded reference rates", () => {
  it("have one entry for each model and link, below the link's limit", () => {
    const names = recordedKinds.map(({ gpu, link }) => `${gpu} ${link.generation} ${link.width}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { gpu, link, alone, together, tolerance } of recordedKinds) {
      const limit = linkLimitGBps(link.generation, link.width)!;
      for (const rate of [alone.h2d, alone.d2h, together?.h2d ?? 1, together?.d2h ?? 1]) {
        expect(rate, gpu).toBeLessThan(limit);
      }
      expect(tolerance).toBeGreaterThanOrEqual(0.05);
      expect(isPartOfGpu(gpu)).toBe(false);
    }
  });

  it.each(["h2d", "d2h"] as const)("match the recorded H200 results, %s", (direction) => {
    const shares = recordedShares("results/nvidia-h200/pinned.json", direction);
    expect(shares).toHaveLength(1);
    expect(shareOf(h200, direction)).toBeCloseTo(shares[0]!, 2);
    const { cells } = JSON.parse(textOf("results/nvidia-h200/noise.json")) as {
      cells: { id: string; mediansGBps: number[] }[];
    };
    const ofNoise = cells.find(({ id }) => id === `d0/${direction}/pinned/67108864/w1/throughput/cold`)!;
    for (const rate of ofNoise.mediansGBps) {
      expect(Math.abs(rate / limitGBps - shareOf(h200, direction))).toBeLessThan(0.005);
    }
  });

  it.each(["h2d", "d2h"] as const)("call none of the recorded H200s slow, %s", (direction) => {
    const least = shareOf(h200, direction) * (1 - h200.tolerance);
    const files = ["default", "quick", "pinned", "at-once-together"];
    const shares = files.flatMap((name) => recordedShares(`results/nvidia-h200/${name}.json`, direction));
    expect(shares.length).toBeGreaterThanOrEqual(4);
    // The docs state that the range of all recordings is a sixth of the tolerance.
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(0.008);
    for (const share of shares) expect(share).toBeGreaterThan(least);
  });

  it("match the recorded H100 shares, which the text prints in per cent", () => {
    const text = textOf("results/nvidia-h100/before-and-after.txt");
    const h100 = kindOf("NVIDIA H100 80GB HBM3");
    expect(text).toContain(h100.gpu);
    for (const way of ["h2d", "d2h"] as const) {
      expect(text).toContain(`${(shareOf(h100, way) * 100).toFixed(1)} %`);
    }
  });

  it.each(["h2d", "d2h"] as const)(
    "call no healthy H100 slow, though tenants disturb its host, %s",
    (direction) => {
      const { alone, tolerance } = kindOf("NVIDIA H100 80GB HBM3");
      const rows = [
        ...textOf("results/nvidia-h100/doctor.txt").matchAll(/^ +healthy .* ([\d.]+), ([\d.]+) +[\d.]+ /gm),
      ];
      const rates = rows.map(([, h2d, d2h]) => Number(direction === "h2d" ? h2d : d2h));
      expect(rates.length).toBeGreaterThanOrEqual(20);
      const least = alone[direction] * (1 - tolerance);
      for (const rate of rates) expect(rate).toBeGreaterThan(1.02 * least);
    },
  );
});

describe("the rate that a GPU should reach", () => {
  const over = (name: string, generation: number, width: number) =>
    expectationOf({ name, emulated: false }, { generation, width });

  it("is the recorded rate of its GPU model over the same link, and unknown over other links", () => {
    expect(over("NVIDIA H200", 5, 16)).toEqual({
      ...{ h2d: 55.26, d2h: 55.14, tolerance: 0.05, together: { devices: 2, h2d: 52.3, d2h: 51.67 } },
      source: "recordings of 5 machines with the NVIDIA H200, PCIe gen5 x16",
    });
    expect(over("NVIDIA H200", 4, 16)).toBeNull();
    expect(over("NVIDIA L4", 4, 8)).toMatchObject({
      h2d: 13.47,
      source: "Spare Cores' records of 2026-08-22 of 13 machines with the NVIDIA L4, PCIe gen4 x8",
    });
    expect(over("NVIDIA L4", 3, 16)).toMatchObject({ h2d: 12.35 });
  });

  it.each(["Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 4090"])(
    "is unknown for a GPU model without recordings that agree: %s",
    (name) => {
      for (const generation of [3, 4]) expect(over(name, generation, 16)).toBeNull();
    },
  );

  it("is for a slot's number of lanes if the model was recorded with it", () => {
    const gen4 = { generation: 4, width: 16 };
    expect(linkOfSlot("NVIDIA L4", gen4, { width: 8 })).toEqual({ generation: 4, width: 8 });
    expect(linkOfSlot("NVIDIA A100 80GB PCIe", gen4, { width: 8 })).toEqual(gen4);
    expect(linkOfSlot("NVIDIA L4", gen4, { width: null })).toEqual(gen4);
    expect([recordedLink("NVIDIA H200"), recordedLink("NVIDIA L4"), recordedLink("x")]).toEqual([
      gen5,
      null,
      null,
    ]);
  });

  it("has a usual range, as a share of the link, for each recorded generation", () => {
    for (const generation of [3, 4, 5]) {
      const { low, high } = usualShares(generation)!;
      expect(low).toBeGreaterThan(0.5);
      expect(high).toBeGreaterThan(low);
      expect(high).toBeLessThan(0.95);
    }
    expect([usualShares(1), usualShares(null)]).toEqual([null, null]);
  });

  it.each([
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
    "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb",
    "GRID T4-2B4",
    "NVIDIA A10-8Q",
    "GRID T4-16C",
    "GRID A100-1-5CME",
  ])("is unknown for a part of a GPU: %s", (name) => {
    expect(isPartOfGpu(name)).toBe(true);
    const site = {
      listed: [{ gpu: name, alone: { h2d: 1, d2h: 1 }, together: null, tolerance: 0.1, sources: ["x"] }],
    };
    expect(expectationOf({ name, emulated: false }, gen5, site)).toBeNull();
  });

  it.each([
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA H100 NVL",
    "NVIDIA RTX A6000",
    "Tesla V100-PCIE-16GB",
    "NVIDIA L40S",
  ])("applies to a whole GPU: %s", (name) => {
    expect(isPartOfGpu(name)).toBe(false);
  });

  it("is the full limit of an emulated link, whatever the device is called", () => {
    const link = { generation: 1, width: 4 };
    expect(expectationOf({ name: "NVIDIA H200", emulated: true }, link)).toMatchObject({ h2d: 1, d2h: 1 });
  });

  it.each([
    { generation: null, width: 16 },
    { generation: 5, width: null },
    { generation: 9, width: 16 },
  ])("is unknown if the link is unknown: %j", (link) => {
    expect(expectationOf({ name: "NVIDIA H200", emulated: false }, link)).toBeNull();
  });
});

describe("a site's own reference", () => {
  const a100 = { name: "NVIDIA A100-SXM4-80GB", emulated: false };
  const gen4 = { generation: 4, width: 16 };

  it("as in docs/doctor.md gives an A100 an expected rate", async () => {
    const example = /^```json\n([\s\S]*?)^```$/m.exec(textOf("docs/doctor.md"))![1]!;
    const path = join(temporaryFolder(), "site.json");
    writeFileSync(path, example);
    const site = await readSiteReference(path);
    expect(expectationOf(a100, gen4)).toBeNull();
    const own = expectationOf(a100, gen4, site)!;
    expect(own).toMatchObject({
      tolerance: 0.05,
      source: expect.stringContaining("this site's own recordings"),
    });
    expect(own.h2d).toBeCloseTo(0.79 * 31.507, 1);
  });

  it("may have the rates of two GPUs that copy at the same time", async () => {
    const together = { devices: 2, h2d: 0.75, d2h: 0.75 };
    const alone = { h2d: 0.79, d2h: 0.79 };
    const path = join(temporaryFolder(), "site.json");
    const listed = [{ gpu: a100.name, alone, together, tolerance: 0.05, sources: ["x"] }];
    writeFileSync(path, JSON.stringify({ listed }));
    expect((await readSiteReference(path)).listed[0]!.together).toEqual(together);
  });

  it("takes precedence over pinbench's recordings, for its own model only", () => {
    const listed = { gpu: h200.gpu, alone: { h2d: 0.87, d2h: 0.87 }, together: null, sources: ["x"] };
    const site = { listed: [{ ...listed, tolerance: 0.02 }] };
    const named = { name: h200.gpu, emulated: false };
    expect(expectationOf(named, gen5, site)!.tolerance).toBe(0.02);
    // A site's reference replaces the emulated device's own too.
    expect(expectationOf({ ...named, emulated: true }, gen5, site)!.tolerance).toBe(0.02);
    expect(expectationOf(named, gen5, site)).not.toHaveProperty("driver");
    const written = { listed: [{ ...listed, tolerance: 0.1, driver: "580" }] };
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

  it("is given for slow copies listed after copies of the expected speed", () => {
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
    ["timed one by one", { mode: "latency", latencyUs: { median: 3000, p99: 4000 } }],
    ["with a load", { beside: "host" }],
  ] as const)("is not given for copies %s", (_, part) => {
    expect(advice(20, part)).toBeNull();
  });
});
