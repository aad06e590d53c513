// Example pages of each kind, from results recorded on a GPU and copies of them with known changes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareResults } from "../../dist/compare/compare-results.js";
import { describeHistory } from "../../dist/compare/history/courses.js";
import { runFigures } from "../../dist/compare/result-set.js";
import { judgeFleet } from "../../dist/fleet/judge-fleet.js";
import { readFleet } from "../../dist/fleet/read-fleet.js";
import { differenceOf } from "../../dist/kinds/difference.js";
import { pageOfDocuments } from "../../dist/kinds/draw-documents.js";
import { readDocuments } from "../../dist/kinds/read-documents.js";
import { defaultThresholds } from "../../dist/settings/thresholds.js";
import { usualRule } from "../fleet/fleet-rates.mjs";
import { writeDocuments } from "../fleet/write-documents.mjs";
import { seededRandom } from "../lib/random.mjs";

const folder = new URL("../../results/nvidia-h200/", import.meta.url).pathname;
const createdAt = "2026-11-24T00:00:00.000Z";

/** Documents by the page's name, each as `pinbench report` would read it. */
export async function examplePages() {
  const recorded = async (name) =>
    (await readDocuments(join(folder, `${name}.json`))).map((one) => ({ ...one, path: `${name}.json` }));
  const [{ document: sweep }] = await recorded("default");
  const later = slowed({
    ...sweep,
    run: { ...sweep.run, id: "later", startedAt: "2026-11-22T08:31:05.005Z" },
  });
  const documents = {
    result: await recorded("default"),
    results: [
      { kind: "result", document: sweep, path: "before.json" },
      { kind: "result", document: later, path: "after.json" },
    ],
    comparison: [{ kind: "comparison", document: comparison(sweep, later), path: "comparison.json" }],
    history: [{ kind: "history", document: history(), path: "history" }],
    fleet: [{ kind: "fleet", document: await fleet(), path: "fleet.json" }],
    beside: await recorded("at-once-beside"),
    together: await recorded("at-once-together"),
    blocks: await recorded("blocks"),
    doctor: await recorded("doctor"),
    explain: await recorded("explain"),
  };
  return Promise.all(
    Object.entries(documents).map(async ([name, found]) => {
      return { name, html: await pageOfDocuments(found, await differenceOf(found)) };
    }),
  );
}

/** The same run; pinned copies of 16 MiB and more from the device are 10 % slower. */
function slowed(document) {
  const isSlow = ({ direction, memory, sizeBytes }) =>
    direction === "d2h" && memory === "pinned" && sizeBytes >= 2 ** 24;
  return { ...document, cells: document.cells.map((cell) => (isSlow(cell) ? scaled(cell, 0.9) : cell)) };
}

function scaled(cell, factor) {
  const rates = (all) =>
    Object.fromEntries(Object.entries(all).map(([k, v]) => [k, Number.isFinite(v) ? v * factor : v]));
  return {
    ...cell,
    samples: cell.samples.map((one) => ({ ...one, durationNs: one.durationNs.map((ns) => ns / factor) })),
    stats: cell.stats.map((one) => ({ ...one, bandwidthGBps: rates(one.bandwidthGBps) })),
  };
}

function comparison(before, after) {
  const random = seededRandom(1);
  const runs = (document) =>
    Array.from({ length: 5 }, (_, run) => ({
      ...document,
      run: { ...document.run, id: `run-${run}`, startedAt: `2026-11-20T10:${10 + run}:00.000Z` },
      cells: document.cells.map((cell) => scaled(cell, 1 + 0.004 * (random() - 0.5))),
    }));
  const set = (path, document) => ({ path, runs: runs(document).map((one) => runFigures(one, path)) });
  return compareResults({
    version: "0.1.0",
    command: "compare",
    baseline: set("before", before),
    candidate: set("after", after),
    fresh: [],
    suspects: [],
    rule: { significance: 0.003, thresholds: defaultThresholds, allowMismatch: false, strict: false },
  });
}

/** 90 checks, the last 30 of them 5 % slower with another driver. */
function history() {
  const random = seededRandom(2);
  const fingerprint = { backend: "cuda", gpu: "NVIDIA H200", kernel: "6.1.0-28-amd64" };
  const entries = Array.from({ length: 90 }, (_, day) => ({
    schemaVersion: 1,
    kind: "check",
    id: `check-${day}`,
    startedAt: new Date(Date.UTC(2026, 0, 1 + day, 5)).toISOString(),
    version: "0.1.0",
    outcome: day === 60 ? "regression" : "pass",
    backend: "cuda",
    fingerprint: { ...fingerprint, driver: day < 60 ? "570.1" : "580.2" },
    machine: { hostName: ["node-1"], gpuUuids: ["GPU-6f1c2a54"], pciAddresses: ["0000:00:06.0"] },
    series: ["h2d", "d2h"].map((moved) => ({
      id: `d0/${moved}/pinned/16777216/w1/throughput/wall/cold`,
      ...{ moved, unit: "GB/s", runs: 5, logError: 0.001 },
      figure: 55 * (day < 60 || moved === "d2h" ? 1 : 0.95) * (1 + 0.008 * (random() - 0.5)),
    })),
  }));
  return describeHistory({ version: "0.1.0", path: "history", history: { entries, notes: [] }, cells: null });
}

/** 12 nodes; on one of them a GPU copies at half the speed. */
async function fleet() {
  const nodes = mkdtempSync(join(tmpdir(), "pinbench-nodes-"));
  try {
    writeDocuments(nodes, 12);
    const read = await readFleet([nodes]);
    return judgeFleet({ version: "0.1.0", createdAt, ...read, rule: usualRule, referenceOf: null });
  } finally {
    rmSync(nodes, { recursive: true, force: true });
  }
}
