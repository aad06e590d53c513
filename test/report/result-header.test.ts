import { describe, expect, it } from "vitest";
import { briefFacts, headerAlerts, headerFacts } from "../../src/report/result-header.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { DeviceRecord, ResultDocument } from "../../src/results/schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildLink,
  type DocumentPart,
  GiB,
  MiB,
} from "../helpers/result-document.js";

const importedFrom = { tool: "nvbandwidth", version: null, file: "old.json" };
const factsOf = (part: DocumentPart = {}) => Object.fromEntries(headerFacts(buildDocument(part)));
const briefOf = (part: DocumentPart = {}) => briefFacts(buildDocument(part)).map((fact) => fact.join(": "));
const deviceWith = (part: Partial<DeviceRecord>): DocumentPart => ({ devices: [buildDevice(part)] });

describe("the head of a result", () => {
  it("has each of several devices and its link, by its number", () => {
    const devices = [
      buildDevice({ ordinal: 1 }),
      buildDevice({ ordinal: 3, name: "GPU D", linkLimitGBps: 31.5 }),
    ];
    const facts = factsOf({ devices });
    expect(facts["Device 3"]).toBe("GPU D, 139.8 GiB, 0000:00:06.0, NUMA node 0");
    expect(facts["Link 1"]).toContain("limit 63.0 GB/s each way");
    expect(facts["Link 3"]).toContain("limit 31.5 GB/s each way");
    expect(briefOf({ devices })).toEqual([
      "Device 1: NVIDIA H200, PCIe gen5 x16, limit 63.0 GB/s each way",
      "Device 3: GPU D, PCIe gen5 x16, limit 31.5 GB/s each way",
    ]);
    expect(briefOf()).toEqual(["Device: NVIDIA H200, PCIe gen5 x16, limit 63.0 GB/s each way"]);
  });

  it("says what is not known of a device and its link", () => {
    const unknown = deviceWith({
      ...{ totalMemoryBytes: null, pciBusId: null, numaNode: null },
      ...{ link: null, linkLimitGBps: null },
    });
    const facts = factsOf(unknown);
    expect(facts.Device).toBe("NVIDIA H200, memory not known, PCI bus id not known, NUMA node not known");
    expect(facts.Link).toBe("not known, so no share of it is shown");
    expect(briefOf(unknown)).toEqual(["Device: NVIDIA H200"]);
    expect(factsOf(deviceWith({ linkLimitGBps: null })).Link).toBe(
      "PCIe gen5 x16 under load, limit not known",
    );
  });

  it.each([
    ["as fast as it can be", {}, ""],
    ["of an older generation", { generation: 4 }, " (the device can do gen5 x16)"],
    ["with fewer lanes", { width: 8 }, " (the device can do gen5 x16)"],
    [
      "with fewer lanes of an unknown generation at best",
      { width: 8, maxGeneration: null },
      " (the device can do gen5 x16)",
    ],
    ["with nothing known of its best", { width: 8, maxGeneration: null, maxWidth: null }, ""],
  ])("says what a link could do: %s", (_, part, better) => {
    const link = buildLink(part);
    const name = `PCIe gen${link.generation} x${link.width}`;
    expect(factsOf(deviceWith({ link })).Link).toMatch(
      new RegExp(`^${name} under load${better.replace(/[()]/g, "\\$&")}, limit`),
    );
    expect(briefOf(deviceWith({ link }))[0]).toContain(`${name}${better}, limit`);
  });

  it("says which tool measured, and that each figure is as published", () => {
    const line = "another tool: imported from nvbandwidth (version not known), file old.json";
    expect(factsOf({ importedFrom })["Measured by"]).toBe(line);
    expect(factsOf({ importedFrom }).Timing).toMatch(/; one published figure a cell$/);
    expect(briefOf({ importedFrom })[0]).toBe(`Measured by: ${line}`);
    expect(factsOf()["Measured by"]).toBeUndefined();
  });

  it("has the labels, in brief too", () => {
    const run = { labels: { rack: "7", row: "b" } };
    expect(factsOf({ run }).Labels).toBe("rack=7; row=b");
    expect(briefOf({ run }).at(-1)).toBe("Labels: rack=7; row=b");
  });

  it("has the driver, and that a build without kernels measured", () => {
    expect(factsOf().Driver).toBe("580.159.04, CUDA 13.0");
    const tool = { name: "pinbench" as const, version: "0.1.0", compiler: null, kernels: false };
    expect(factsOf({ tool }).Driver).toBe("580.159.04, CUDA 13.0; this build has no kernels");
    expect(Object.fromEntries(headerFacts(buildEmulatedDocument())).Driver).toBe(
      "pinbench's emulated driver, CUDA 13.0",
    );
  });

  it("says of the host what is known", () => {
    expect(Object.fromEntries(headerFacts({ ...buildDocument(), host: null })).Host).toBe("not known");
    expect(factsOf({ host: { numaNodes: 2, cpuQuota: 8 } }).Host).toBe(
      "Intel(R) Xeon(R) Platinum 8480+, 16 CPUs (quota 8), 2 NUMA nodes, buffers on node 0, in kvm",
    );
    const placed = [0, 1].map((numaNode, i) =>
      buildCell({ GBps: 55, workers: i + 1, result: { placement: { numaNode, cpus: [0] } } }),
    );
    expect(factsOf({ cells: placed, host: { numaNodes: 2 } }).Host).toContain("2 NUMA nodes, in kvm");
  });
});

describe("what caches did", () => {
  const cacheOf = (...cells: CellResult[]) => factsOf({ cells }).Cache;
  const pool = (totalBytes: number, lastLevelCacheBytes = 105 * MiB): Partial<CellResult> => ({
    cachePool: { buffersPerWorker: 4, totalBytes, lastLevelCacheBytes, lastLevelCacheSource: "sysfs" },
  });
  const warm = "warm: each worker copies one buffer again and again";

  it.each<[string, string, CellResult[]]>([
    [
      "one pool",
      "cold: buffers rotated through 1 GiB (last-level cache 105 MiB, from sysfs)",
      [buildCell({ result: pool(GiB) })],
    ],
    [
      "several pools, and warm cells beside them",
      `cold: buffers rotated through 512 MiB to 2 GiB (last-level cache 105 MiB, from sysfs); ${warm}`,
      [GiB, 2 * GiB, 512 * MiB]
        .map((bytes, i) => buildCell({ workers: i + 1, result: pool(bytes) }))
        .concat(buildCell({ cache: "warm" })),
    ],
    [
      "a cache of unknown size",
      "cold: buffers rotated through 1 GiB (the cache's size is not known)",
      [buildCell({ result: pool(GiB, 0) })],
    ],
    ["no pool", "cold: buffers are rotated", [buildCell({ result: { cachePool: null } })]],
    ["warm cells alone", warm, [buildCell({ cache: "warm" })]],
  ])("is told: %s", (_, text, cells) => {
    expect(cacheOf(...cells)).toBe(text);
  });
});

describe("what a reader has to know before any figure", () => {
  const alertsOf = (run: Partial<ResultDocument["run"]>) =>
    headerAlerts(buildDocument({ run })).map(({ text, tone }) => `${tone}: ${text}`);
  const error = { code: "CODE", message: "the device is lost", call: null, location: null, sticky: true };

  it.each<[Partial<ResultDocument["run"]>, string[]]>([
    [{ status: "complete" }, []],
    [{ status: "aborted" }, ["warning: interrupted: these figures were measured before that"]],
    [{ status: "running" }, ["warning: unfinished: these figures are from the rounds so far"]],
    [{ status: "failed" }, ["failure: the run failed: these figures were measured before that"]],
    [
      { status: "failed", error },
      ["failure: the run failed (the device is lost): these figures were measured before that"],
    ],
  ])("a run that is %j", (run, alerts) => {
    expect(alertsOf(run)).toEqual(alerts);
  });
});
