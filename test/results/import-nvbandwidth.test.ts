import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { resultKind } from "../../src/report/result-report.js";
import { fingerprint } from "../../src/results/fingerprint.js";
import { type Imported, importNvbandwidth } from "../../src/results/import-nvbandwidth.js";
import { parseResult } from "../../src/results/parse.js";
import { drawn } from "../helpers/drawn.js";
import { buildDevice, buildHost, MiB } from "../helpers/result-document.js";
import { schemaErrors } from "../helpers/schema-errors.js";

/*
 * The fixtures have the layout of json_output.cpp of nvbandwidth 0.8, and of its first version, which lists no GPUs.
 * The rates of 0.8 are an H200's, but for all_to_host and device_local_copy, which are made up, as are those of 0.5.
 */
const fixture = (version: string) =>
  readFileSync(new URL(`../fixtures/nvbandwidth-${version}.json`, import.meta.url), "utf8");

// biome-ignore lint/suspicious/noExplicitAny: tests put anything there that a file may hold.
type Root = Record<string, any>;

/** nvbandwidth 0.8's file, changed. */
function changed(change: (root: Root) => void): string {
  const value = JSON.parse(fixture("0.8")) as { nvbandwidth: Root };
  change(value.nvbandwidth);
  return JSON.stringify(value);
}

function imported(text: string, bufferSizeBytes: number | null = null): Imported {
  return importNvbandwidth(text, {
    path: "old/old.json",
    fileName: "old.json",
    measuredAt: new Date("2026-11-20T10:00:00Z"),
    bufferSizeBytes,
    runId: "an-import",
    pinbenchVersion: "0.1.0",
  });
}

function failure(text: string, bufferSizeBytes: number | null = null): string {
  try {
    imported(text, bufferSizeBytes);
  } catch (error) {
    if (!(error instanceof PinbenchError)) throw error;
    expect(error).toMatchObject({ kind: "usage", exitCode: 2 });
    expect(error.message).toMatch(/^old\/old\.json [^\n]+\.$/);
    expect(error.hint).toMatch(/\.$/);
    return error.message;
  }
  throw new Error("it was imported");
}

describe("what is imported from nvbandwidth", () => {
  const result = imported(fixture("0.8"));
  const { document } = result;

  it("is a valid result document", () => {
    expect(parseResult(JSON.stringify(document))).toEqual(document);
    expect(schemaErrors(document)).toBeNull();
  });

  it("has the facts of each file version, and a reason for each test that is left out", async () => {
    const texts = ["0.8", "0.5"].map((version) => JSON.stringify(imported(fixture(version)), null, 1));
    await expect(`${texts.join("\n")}\n`).toMatchFileSnapshot("snapshots/imported.txt");
  });

  it("has one sample a figure, and twice nvbandwidth's rate within a device, for reads and writes", () => {
    const rates = document.cells.map(({ stats, samples }) => [
      stats[0]!.bandwidthGBps.median,
      samples[0]!.bytesPerSample / samples[0]!.durationNs[0]!,
    ]);
    expect(rates[0]).toEqual([55.4138, expect.closeTo(55.4138, 9)]);
    expect(rates[2]).toEqual([2 * 1987.25, expect.closeTo(1987.25, 9)]);
  });

  it("has the same fingerprint facts as a run of pinbench, null if unknown", () => {
    const own = fingerprint({
      backend: "cuda",
      devices: [buildDevice()],
      driverVersion: "580.159.04",
      cudaVersion: "13.0",
      host: buildHost(),
      pinbenchVersion: "0.1.0",
    });
    const known = ["backend", "gpu", "gpuCount", "driver", "cuda"];
    const expected = Object.entries(own).map(([key, value]) => [key, known.includes(key) ? value : null]);
    expect(document.fingerprint).toEqual(Object.fromEntries(expected));
  });

  it("is shown with the name of the tool that measured it", () => {
    const report = drawn(resultKind, document, "markdown");
    expect(report).toContain("imported from nvbandwidth 0.8, file old.json");
    expect(report).toContain("**Device:** NVIDIA H200, memory not known, 0000:00:06, NUMA node not known");
    expect(report).toContain("**Host:** not known");
    expect(report).toContain("one published figure a cell");
    expect(report).not.toMatch(/undefined|NaN|null|interval was still wider/);
    expect(drawn(resultKind, document, "csv").split("\n")[1]).toContain(",NVIDIA H200,h2d,pinned,536870912,");
  });
});

describe("the GPUs of an nvbandwidth file", () => {
  it("have no cells for tests that were waived", () => {
    const waived = changed(({ testcases }) => Object.assign(testcases[1], { status: "Waived" }));
    expect(imported(waived).leftOut).toContainEqual({
      ...{ what: "device_to_host_memcpy_ce", reason: "it was not run (Waived)" },
    });
  });

  it("are counted even if the file does not list them", () => {
    const { document } = imported(fixture("0.5"));
    expect(document.devices).toEqual([]);
    expect(document.fingerprint).toMatchObject({ gpu: null, gpuCount: "2" });
    // Version 0.9 can write this (github.com/NVIDIA/nvbandwidth issue 66).
    const nulled = changed((root) => Object.assign(root, { "GPU Device list": null }));
    expect(imported(nulled).document.devices).toEqual([]);
    const unlisted = changed((root) => {
      delete root["GPU Device list"];
      const rows: Record<string, string[]> = {
        host_to_device_memcpy_ce: ["55", "55", "55"],
        device_to_host_memcpy_ce: ["55"],
      };
      for (const test of root.testcases) {
        const row = rows[test.name];
        if (row !== undefined) test.bandwidth_matrix = [row];
      }
      root.testcases = root.testcases.filter(({ name }: Root) => name in rows);
    });
    expect(imported(unlisted).document.fingerprint.gpuCount).toBe("3");
    const list = ["0: NVIDIA L4", "1: NVIDIA L4"];
    const listed = changed((root) => Object.assign(root, { "GPU Device list": list }));
    expect(imported(listed).document.fingerprint.gpuCount).toBe("2");
  });

  it.each([
    ["without a bus id or a host", "3: NVIDIA L40S", { ordinal: 3, name: "NVIDIA L40S", pciBusId: null }],
    [
      "in a PCI domain of their own",
      "1: NVIDIA GB200 (00000008:06:0A): (node-2)",
      { ordinal: 1, name: "NVIDIA GB200", pciBusId: "0008:06:0a" },
    ],
    [
      "in a domain of four digits",
      "0: NVIDIA L4 (0000:00:06)",
      { ordinal: 0, name: "NVIDIA L4", pciBusId: "0000:00:06" },
    ],
    [
      "with brackets in the name",
      "0: GRID (x) (00000000:00:06)",
      { ordinal: 0, name: "GRID (x)", pciBusId: "0000:00:06" },
    ],
  ])("are recognized %s", (_, entry, device) => {
    const { document } = imported(changed((root) => Object.assign(root, { "GPU Device list": [entry] })));
    expect(document.devices).toEqual([expect.objectContaining(device)]);
  });

  it("are all left out of the list of devices if one is listed in an unknown form", () => {
    const list = ["0: NVIDIA GB200", "Process 0 (node-1): device 0: NVIDIA GB200 (00000008:06:00)"];
    const { document } = imported(changed((root) => Object.assign(root, { "GPU Device list": list })));
    expect(document.devices).toEqual([]);
  });
});

describe("the host in an nvbandwidth file", () => {
  const labelsOf = (...list: string[]) =>
    imported(changed((root) => Object.assign(root, { "GPU Device list": list }))).document.run.labels;

  it("becomes the node's name if all GPUs have the same", () => {
    const [first, second] = ["n7", "n8"].map((host, i) => `${i}: NVIDIA H200 (00000000:0${i}:00): (${host})`);
    expect(labelsOf(first!)).toEqual({ node: "n7" });
    expect(labelsOf(first!, second!)).toBeUndefined();
    expect(labelsOf("0: NVIDIA H200 (00000000:00:06)")).toBeUndefined();
    expect(labelsOf("0: GRID (x)")).toBeUndefined();
  });
});

describe("an imported cell whose GPU is in no list", () => {
  const unlisted = changed((root) => {
    delete root["GPU Device list"];
    for (const test of root.testcases)
      if (test.name === "host_to_device_memcpy_ce") test.bandwidth_matrix = [["55.1", "54.2"]];
  });

  it.each(["table", "markdown", "html"] as const)("is shown as %s, with the number of its GPU", (format) => {
    const text = drawn(resultKind, imported(unlisted).document, format).replaceAll("\u00a0", " ");
    for (const one of ["Device 0: host to device", "55.1", "Device 1: host to device", "54.2"])
      expect(text.toLowerCase()).toContain(one.toLowerCase());
  });
});

describe("an nvbandwidth file", () => {
  const json = fixture("0.8");

  it("with another program's text before its JSON is refused with that reason", () => {
    expect(failure(`WARNING: Open MPI failed to\nregister memory.\n${json}`)).toBe(
      "old/old.json has text of another program before its JSON.",
    );
    expect(imported(`\n  ${json}`).document.cells.length).toBeGreaterThan(0);
  });

  const message = " Invalid value when checking the pattern at 0x735f80000000";
  it.each([
    ["before the JSON", `${message}\n Current offset : 200064\n${json}`],
    ["instead of JSON", `Running host_to_device_memcpy_ce.\n${message}\n`],
    [
      "as a test's error",
      changed(({ testcases }) => Object.assign(testcases[0], { status: "Error", error: message })),
    ],
    ["as the error of the whole file", changed((root) => Object.assign(root, { error: message }))],
  ])("that reports wrong data %s ends the import with exit code 7", (_, text) => {
    expect(() => imported(text)).toThrow(
      expect.objectContaining({
        exitCode: 7,
        message: "old/old.json records that nvbandwidth's copies came back with wrong data.",
      }),
    );
  });
});

describe("the buffer size of an nvbandwidth file", () => {
  const smaller =
    "NOTE: You have chosen a buffer size that is smaller than the default buffer size. It is suggested";
  const warned = changed((root) => Object.assign(root, { warning: smaller }));
  const ofVersion = (version: string | undefined) => changed((root) => Object.assign(root, { version }));

  it.each([
    ["v0.5", 64],
    ["v0.6", 64],
    ["v0.7", 512],
    ["0.10", 512],
    [undefined, 512],
  ])("is by default that of nvbandwidth %s: %i MiB", (version, mebibytes) => {
    const { document, ...size } = imported(ofVersion(version));
    expect(size).toMatchObject({ bufferSizeBytes: mebibytes * MiB, isBufferSizeAssumed: true });
    expect(document.cells[0]).toMatchObject({
      sizeBytes: mebibytes * MiB,
      warnings: expect.arrayContaining([expect.stringContaining("default")]),
    });
  });

  it("is the requested one, if the user gives it", () => {
    const { document, ...size } = imported(warned, 32 * MiB);
    expect(size).toMatchObject({ bufferSizeBytes: 32 * MiB, isBufferSizeAssumed: false });
    expect(document.cells[0]?.id).toBe("d0/h2d/pinned/33554432/w1/throughput/warm");
    expect(document.cells[0]?.warnings.join()).not.toContain("default");
  });

  it("must be requested if the file warns that it was not the default", () => {
    expect(failure(warned)).toContain("smaller than the default");
    expect(failure(changed((root) => Object.assign(root, { warning: [smaller, "other"] })))).toContain(
      "smaller",
    );
  });
});

describe("a file that is no usable nvbandwidth result", () => {
  const cell = (value: unknown) =>
    changed(({ testcases }) => Object.assign(testcases[0], { bandwidth_matrix: [[value]] }));
  const h2d = { name: "host_to_device_memcpy_ce" };

  const files: [what: string, text: string][] = [
    ["is empty", " \n"],
    ["is cut off", fixture("0.8").slice(0, 300)],
    ["is the plain text output", "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8"],
    ["is other JSON", '{"results": []}'],
    ["is a list", "[]"],
    ["is pinbench's own", '{"schemaVersion": 1}'],
    ["has tests that are none", '{"nvbandwidth": {"testcases": [1]}}'],
    ["has no tests", '{"nvbandwidth": {"version": "v0.8"}}'],
    ["failed as a whole", changed((root) => Object.assign(root, { error: "CUDA\n999." }))],
    [
      "has no test with a counterpart",
      changed((root) => Object.assign(root, { testcases: root.testcases.slice(2, 8) })),
    ],
    ["ran nothing", changed((root) => Object.assign(root, { testcases: [{ ...h2d, status: "Waived" }] }))],
    [
      "has a failed test, which nvbandwidth lists twice",
      changed(({ testcases }) =>
        testcases.splice(0, 1, { ...h2d, status: "Running" }, { ...h2d, status: "Error" }),
      ),
    ],
    [
      "has two failed tests, of which the one with an error is named",
      changed(({ testcases }) =>
        testcases.splice(0, 2, { ...h2d, status: "Running" }, { ...testcases[1], status: "Error" }),
      ),
    ],
    [
      "has an error before a test that never ended",
      changed(({ testcases }) =>
        testcases.splice(0, 2, { ...h2d, status: "Error" }, { ...testcases[1], status: "Running" }),
      ),
    ],
    [
      "has a test that never ended",
      changed(({ testcases }) => testcases.splice(0, 1, { ...h2d, status: "Running", error: "a mismatch" })),
    ],
    ["has a test twice", changed(({ testcases }) => testcases.push(testcases[0]))],
    ["has no matrix", changed(({ testcases }) => delete testcases[0].bandwidth_matrix)],
    ["has more rows than hosts", changed(({ testcases }) => testcases[0].bandwidth_matrix.push(["1"]))],
    ["has a negative rate", cell("-1")],
    ["has a rate of zero", cell("0")],
    ["has a rate that is no number", cell("nan")],
    ["has an infinite rate", cell("1e999")],
    ["has a rate that no link has", cell("5e7")],
    ["has an empty rate", cell("")],
    ["has null for a rate", cell(null)],
  ];

  it("is refused with the reason", async () => {
    const texts = files.map(
      ([what, text]) => `one that ${what}: ${failure(text).replace(/JSON \(.*\)/, "JSON")}\n`,
    );
    await expect(texts.join("")).toMatchFileSnapshot("snapshots/not-imported.txt");
  });
});
