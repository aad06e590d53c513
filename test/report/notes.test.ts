import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { otherNotes, urgentNotes } from "../../src/report/cell-notes.js";
import { sentenceOf } from "../../src/report/findings/finding.js";
import { unstableFinding } from "../../src/report/findings/other-findings.js";
import { briefFacts, headerAlerts, headerFacts } from "../../src/report/result-header.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { parseResult } from "../../src/results/parse.js";
import type { DeviceRecord, LoadRecord, ResultDocument } from "../../src/results/schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildLink,
  buildMismatch,
  buildSkipped,
  type CellPart,
  type DocumentPart,
  GiB,
  MiB,
  withOverTime,
} from "../helpers/result-document.js";
import { describeSituations, type Situation } from "./situations.js";

/** Facts above and notes below the tables of a result. */

const rowsOf = (rows: readonly (readonly [string, DocumentPart])[], prefix = ""): Situation[] =>
  rows.map(([name, part]) => [prefix + name, buildDocument(part)]);

const device = (part: Partial<DeviceRecord>): DocumentPart => ({ devices: [buildDevice(part)] });
const link = (part: Parameters<typeof buildLink>[0]) => device({ link: buildLink(part) });
const pool = (totalBytes: number, lastLevelCacheBytes = 105 * MiB, part: CellPart = {}) =>
  buildCell({
    GBps: 55,
    ...part,
    result: {
      cachePool: { buffersPerWorker: 4, totalBytes, lastLevelCacheBytes, lastLevelCacheSource: "sysfs" },
    },
  });
const error = { code: "CODE", message: "the device is lost", call: null, location: null, sticky: true };

const heads: Situation[] = [
  ...rowsOf([
    [
      "two devices and their links, by their numbers",
      {
        devices: [
          buildDevice({ ordinal: 1 }),
          buildDevice({ ordinal: 3, name: "GPU D", linkLimitGBps: 31.5 }),
        ],
      },
    ],
    [
      "nothing known of a device",
      device({ totalMemoryBytes: null, pciBusId: null, numaNode: null, link: null, linkLimitGBps: null }),
    ],
    ["a link without a known limit", device({ linkLimitGBps: null })],
    ["a link of an older generation than the device can do", link({ generation: 4 })],
    ["a link with fewer lanes", link({ width: 8 })],
    ["a link with fewer lanes of an unknown generation at best", link({ width: 8, maxGeneration: null })],
    ["a link of which the best is not known", link({ width: 8, maxGeneration: null, maxWidth: null })],
    ["figures of another tool", { importedFrom: { tool: "nvbandwidth", version: null, file: "old.json" } }],
    ["labels", { run: { labels: { rack: "7", row: "b" } } }],
    [
      "a build without kernels",
      { tool: { name: "pinbench", version: "0.1.0", compiler: null, kernels: false } },
    ],
    ["a host with two nodes and a quota", { host: { numaNodes: 2, cpuQuota: 8 } }],
    [
      "buffers on both nodes",
      {
        host: { numaNodes: 2 },
        cells: [0, 1].map((numaNode, i) =>
          buildCell({ GBps: 55, workers: i + 1, result: { placement: { numaNode, cpus: [0] } } }),
        ),
      },
    ],
    ["one pool of buffers", { cells: [pool(GiB)] }],
    [
      "several pools, and warm cells beside them",
      {
        cells: [
          ...[1, 2, 0.5].map((size, i) => pool(size * GiB, undefined, { workers: i + 1 })),
          buildCell({ cache: "warm", GBps: 54 }),
        ],
      },
    ],
    ["a cache of unknown size", { cells: [pool(GiB, 0)] }],
    ["no pool", { cells: [buildCell({ GBps: 55, result: { cachePool: null } })] }],
    ["warm cells alone", { cells: [buildCell({ cache: "warm", GBps: 54 })] }],
    ["a run that was interrupted", { run: { status: "aborted" } }],
    ["a run that goes on", { run: { status: "running" } }],
    ["a run that failed, with its reason", { run: { status: "failed", error } }],
    ["a run that failed without a reason", { run: { status: "failed" } }],
  ]),
  ["an emulated device without a link", buildEmulatedDocument()],
  [
    "an emulated device with the link that its NVML reports",
    {
      ...buildEmulatedDocument(),
      devices: buildEmulatedDocument().devices.map((one) => ({ ...one, link: buildLink({ width: 4 }) })),
    },
  ],
  ["a host of which nothing is known", { ...buildDocument(), host: null }],
];

const other = {
  kind: "pinbench" as const,
  pid: null,
  name: "check",
  since: "2026-11-20T09:59:58.000Z",
  deviceMemoryBytes: null,
  wasThereBefore: false,
};
const alone = { device: 0, others: [], activityBefore: null, unseen: [] };
const kernels = { computeShare: 0.41, toDeviceGBps: null, fromDeviceGBps: null };
heads.push(
  ...rowsOf([
    [
      "a device that others used, before and during the run",
      { run: { sharing: [{ ...alone, others: [other], activityBefore: kernels }] } },
    ],
    [
      "another program whose name a terminal would obey",
      {
        run: {
          sharing: [
            { ...alone, others: [{ ...other, kind: "program", pid: 5, name: "\u001b[2Jpython\u202e3" }] },
          ],
        },
      },
    ],
    ["a device that was alone", { run: { sharing: [alone] } }],
  ]),
);

/** The facts that differ from those of another result, and the alerts. */
const usual = new Set(
  [...headerFacts(buildDocument()), ...briefFacts(buildDocument())].map((fact) => fact.join(": ")),
);
const factsOf = (facts: readonly (readonly [string, string])[], sign: string) =>
  facts
    .map((fact) => fact.join(": "))
    .filter((fact) => !usual.has(fact))
    .map((fact) => `${sign} ${fact}`);
describeSituations("heads", heads, (document) => [
  ...headerAlerts(document).map(({ text, tone }) => `! [${tone}] ${text}`),
  ...factsOf(headerFacts(document), "-"),
  ...factsOf(briefFacts(document), "in brief:"),
]);

const budget = { result: { outcome: "budget" } } as const;
const unseen = [0, 1].map((ordinal) => ({ ...alone, device: ordinal, unseen: ["programs" as const] }));
const place = { direction: "d2h" as const, worker: 2, offsetBytes: 8192, mismatchedBytes: 512 };
const wrong = buildMismatch({ direction: "bidir" });
const verification = {
  checkedBytes: 1,
  mismatches: [place, { ...place, direction: "h2d" as const, worker: 3 }],
};
const checked = (copies: number | undefined, provenCopies: number, part: CellPart = {}) =>
  buildCell({
    GBps: 50,
    ...part,
    result: {
      verification: {
        checkedBytes: 64,
        mismatches: [],
        ...(copies === undefined ? {} : { copies, provenCopies }),
      },
    },
  });
const warm = { cache: "warm" } as const;
const every = { plan: { verify: "every" as const } };
const idle: LoadRecord = {
  stealShare: 0,
  otherCpuShare: 0,
  cpuPressureShare: 0,
  memoryPressureShare: 0,
  ioPressureShare: 0,
};
const notes = rowsOf([
  ["wrong data in two places", { cells: [{ ...wrong, verification }] }],
  ["wrong data of which no place is known", { cells: [{ ...wrong, verification: null }] }],
  ["a failure that says its code", { cells: [buildFailed({}, "CODE_A", "out of memory (CODE_A).")] }],
  [
    "two failures of one code, which is said once",
    {
      cells: [
        buildFailed({ workers: 2 }, "CODE_B", "it is lost."),
        buildFailed({ workers: 4 }, "CODE_B", "it is lost."),
      ],
    },
  ],
  [
    "what the cells came to",
    {
      cells: [
        ...[
          buildCell({ GBps: 55 }),
          buildCell({ GBps: 55, workers: 2 }),
          buildCell({ GBps: 50, workers: 4, ...budget }),
          buildSkipped({ memory: "mapped" }, "no kernels"),
          buildSkipped({ memory: "mapped", workers: 2 }, "no kernels"),
        ],
        ...[
          buildFailed({ memory: "staged" }, "CODE", "out of memory"),
          buildMismatch({ memory: "pageable" }),
          buildCell({ memory: "host", result: { outcome: null } }),
        ],
      ],
    },
  ],
  ["cells of which the time is not known", { run: { wallNs: null } }],
  ["no cells", { cells: [] }],
  [
    "what the plan noted, and what cannot be seen of devices",
    { plan: { notes: ["256 MiB is left out.", "b"] }, run: { sharing: unseen } },
  ],
  [
    "3 % of the warm copies checked, and half of the cold ones",
    { cells: [checked(200, 6, warm), checked(8, 4)] },
  ],
  [
    "3 % of the warm copies checked, and 40 % of the cold ones",
    { cells: [checked(200, 6, warm), checked(200, 6, { ...warm, workers: 2 }), checked(10, 4)] },
  ],
  ["none of the warm copies checked", { cells: [checked(6, 0, warm)] }],
  ["copies checked, but their number not recorded", { cells: [checked(undefined, 0, warm)] }],
  ["no copies checked", { cells: [buildCell({ GBps: 55, result: { verification: null } })], ...every }],
  ["every copy checked", { cells: [checked(6, 6, warm)], ...every }],
  [
    "every copy checked but of the host",
    { cells: [checked(6, 6), checked(6, 0, { memory: "host" })], ...every },
  ],
  [
    "every copy checked but one of 10",
    { cells: [checked(10, 10), checked(10, 9, { workers: 2 })], ...every },
  ],
  ["other programs used 34 % of the CPUs", { run: { load: { ...idle, otherCpuShare: 0.347 } } }],
  ["the hypervisor took 3.4 % of the CPUs", { run: { load: { ...idle, stealShare: 0.034 } } }],
  ["both took CPUs", { run: { load: { ...idle, otherCpuShare: 0.5, stealShare: 0.2 } } }],
  [
    "next to nothing took CPUs",
    { run: { load: { ...idle, otherCpuShare: 0.1, stealShare: 0.01, cpuPressureShare: 0.9 } } },
  ],
  [
    "the kernel does not report who took CPUs",
    { run: { load: { ...idle, otherCpuShare: null, stealShare: null } } },
  ],
  ["it is not yet known who took CPUs", { run: { load: null } }],
]);

/** A cell whose first `slow` samples take `times` as long as the others. */
function uneven(part: CellPart, { of = 6, slow = 1, times = 8 } = {}): CellResult {
  const cell = buildCell({ GBps: 4, ...part });
  const samples = cell.samples.map((one) => {
    const usualNs = one.bytesPerSample / cell.stats[0]!.bandwidthGBps.median;
    const durationNs = Array.from({ length: of }, (_, i) => usualNs * (i < slow ? times : 1));
    return { ...one, durationNs, startNs: durationNs.map(() => 0), round: durationNs.map(() => 0) };
  });
  return withOverTime({ ...cell, samples });
}
const latency = { mode: "latency", latencyUs: { median: 8, p99: 160 } } as const;
const both = (sum?: number) =>
  ({ direction: "bidir", GBps: { h2d: 4, d2h: 4, ...(sum === undefined ? {} : { sum }) } }) as const;
const slowCopies = rowsOf(
  (
    [
      ["of pinned memory", [uneven({})]],
      [
        "of the cell with most of them, and 2 others",
        [2, 4].map((workers) => uneven({ workers }, { times: 3 })).concat(uneven({})),
      ],
      ["of one direction of both", [uneven(both())]],
      [
        "of both directions of another cell, counted once and not for their sum",
        [uneven({}), uneven({ ...both(12), workers: 2 }, { times: 3 })],
      ],
      ["of both directions, not of their sum", [uneven({ ...both(12), workers: 2 }, { times: 3 })]],
      ["not of the host's memory, which nobody asked for", [uneven({ memory: "host" })]],
      ["of a single sample, as it is a rate", [uneven({}, { of: 300, times: 100 })]],
      ["of pageable memory, whose copies vary by nature", [uneven({ memory: "pageable" })]],
      ["not of latencies, whose p99 shows them", [uneven(latency, { of: 300, slow: 3, times: 20 })]],
      ["not below 5 % of the time", [uneven({}, { times: 1.2 })]],
      ["not of wrong data", [uneven({ result: { outcome: "mismatch" } })]],
      ["not of all of the time, as an average of 0 is no rate", [uneven({}, { times: 1e20 })]],
    ] as [string, CellResult[]][]
  ).map(([name, cells]) => [name, { cells }] as const),
  "slow copies ",
);

/** All notes, the urgent ones with a sign, and the finding on slow copies. */
describeSituations("notes", [...notes, ...slowCopies], (document) => [
  ...urgentNotes(document).map(({ text, tone }) => `* [${tone}] ${text}`),
  ...otherNotes(document).map(({ text, tone }) => `- [${tone}] ${text}`),
  ...[true, false].flatMap((isOfSteady) => {
    const found = unstableFinding(document, isOfSteady);
    return found === null ? [] : [`${isOfSteady ? "=>" : "->"} ${sentenceOf(found)}`];
  }),
]);

it.each([
  "default",
  "quick",
  "pinned",
  "fresh-process",
  "at-once-together",
  "at-once-beside",
  "blocks",
  "every-copy",
])("pinned memory had no slow copies in what was recorded on a healthy H200: %s.json", (name) => {
  const document: ResultDocument = parseResult(readFileSync(`results/nvidia-h200/${name}.json`, "utf8"));
  expect(unstableFinding(document, true)).toBeNull();
});
