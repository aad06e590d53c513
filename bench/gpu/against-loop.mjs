// pinbench's engine against the bare copy loop, alternating in one run: one worker, warm cache.
import { median } from "../../dist/stats/order-statistics.js";
import { CopyLoop } from "../lib/copy-loop.mjs";
import { GiB, KiB, MiB, measure } from "../lib/session.mjs";
import { fixed, printTable, ratioText } from "../lib/table.mjs";

const sizesBytes = [
  4 * KiB,
  16 * KiB,
  64 * KiB,
  256 * KiB,
  MiB,
  4 * MiB,
  16 * MiB,
  64 * MiB,
  256 * MiB,
  512 * MiB,
];
const samplesPerTurn = 6;
const sampleBytes = { pinned: 256 * MiB, pageable: 64 * MiB };

/**
 * The address of a buffer changes its rate by a few per cent, and neither program can choose it. So both sides average
 * over several addresses: a new session for pinbench, a new process for the loop. All buffers fit into the cache.
 */
const placements = 8;
const warmBuffers = (sizeBytes) => Math.min(64, Math.max(1, Math.floor((16 * MiB) / sizeBytes)));

/**
 * A buffer that the CPU has just written copies up to 6 % faster, until its lines leave the caches after some thousand
 * small copies. Both sides warm up until the rate is stable.
 */
function settlingCopies(memory, sizeBytes) {
  const settlingBytes = memory === "pinned" && sizeBytes < MiB ? 4 * GiB : GiB;
  return Math.max(2, Math.min(60_000, Math.floor(settlingBytes / sizeBytes)));
}

/** Small copies take a few µs, so the engine's overhead is a visible share. */
const leastRatio = (sizeBytes) => (sizeBytes < 64 * KiB ? 0.97 : 0.99);

const copiesOf = (memory, sizeBytes) =>
  Math.max(1, Math.min(1000, Math.floor(sampleBytes[memory] / sizeBytes)));

export async function againstLoop({ openAnother, host, backend }) {
  const places = [];
  for (let i = 0; i < placements; ++i) {
    places.push({ session: await openAnother(), loop: new CopyLoop(backend.library) });
  }
  const coldBytes = 2 * host.lastLevelCacheBytes;
  const rows = [];
  for (const memory of ["pinned", "pageable"]) {
    for (const direction of ["h2d", "d2h"]) {
      for (const sizeBytes of sizesBytes) {
        rows.push(await compare({ places, coldBytes, memory, direction, sizeBytes }));
      }
    }
  }
  for (const { session, loop } of places) await Promise.all([session.close(), loop.close()]);
  print(rows);
  return rows;
}

async function compare({ places, coldBytes, memory, direction, sizeBytes }) {
  const copies = copiesOf(memory, sizeBytes);
  const buffers = warmBuffers(sizeBytes);
  const warm = {
    direction,
    memory,
    sizeBytes,
    copiesPerSample: copies,
    samples: samplesPerTurn,
    buffers,
    warmupCopies: settlingCopies(memory, sizeBytes),
    warmupBytes: sizeBytes,
  };
  const rate = (durationsNs) => (copies * sizeBytes) / median(durationsNs);
  const ours = [];
  const theirs = [];
  for (const [turn, { session, loop }] of places.entries()) {
    // Fresh memory of exactly this size, as in the loop.
    await reserve(session, memory, { chunksOfWorker: [1], chunkBytes: buffers * sizeBytes });
    // The order alternates, so that neither always follows the other.
    const measureOurs = async () => ours.push(rate((await measure(session, warm))[0]));
    const measureTheirs = async () =>
      theirs.push(rate(await loop.measure({ ...warm, copies, warmup: warm.warmupCopies })));
    if (turn % 2 === 0) await measureOurs();
    await measureTheirs();
    if (turn % 2 === 1) await measureOurs();
  }
  const coldBuffers = Math.max(2, Math.ceil(coldBytes / Math.max(512, sizeBytes)));
  const chunkBytes = Math.max(sizeBytes, 32 * MiB);
  const chunks = Math.ceil((coldBuffers * Math.max(512, sizeBytes)) / chunkBytes);
  await reserve(places[0].session, memory, { chunksOfWorker: [chunks], chunkBytes });
  const cold = [];
  for (let visit = 0; visit < 3; ++visit) {
    const firstBuffer = (visit * samplesPerTurn * copies) % coldBuffers;
    const fields = { ...warm, cache: "cold", warmupCopies: 1, buffers: coldBuffers, firstBuffer };
    cold.push(rate((await measure(places[0].session, fields))[0]));
  }
  const ratio = mean(ours) / mean(theirs);
  return {
    memory,
    direction,
    sizeBytes,
    copiesPerSample: copies,
    pinbenchGBps: mean(ours),
    loopGBps: mean(theirs),
    ratio,
    standardError: ratio * Math.hypot(relativeError(ours), relativeError(theirs)),
    pinbenchByPlaceGBps: ours,
    loopByPlaceGBps: theirs,
    coldGBps: median(cold),
    leastRatio: leastRatio(sizeBytes),
  };
}

async function reserve(session, memory, geometry) {
  await session.reserveDevice(geometry, 1);
  await session.reserveHost(memory, geometry);
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Standard error of the mean, relative to it. */
function relativeError(values) {
  const middle = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  return Math.sqrt(variance / values.length) / middle;
}

/** Rates of pageable memory differ by a few per cent between addresses; a ratio within that noise is "open". */
function verdictOf({ ratio, standardError, leastRatio: bound }) {
  if (ratio >= bound) return "ok";
  return ratio + 2 * standardError >= bound ? "within noise" : "BELOW";
}

function print(rows) {
  printTable(
    "Against the bare copy loop (1 worker, warm; GB/s, means over 8 places in memory)",
    ["memory", "direction", "KiB", "pinbench", "loop", "ratio", "±", "bound", "", "cold"],
    rows.map((row) => [
      row.memory,
      row.direction,
      row.sizeBytes / KiB,
      fixed(row.pinbenchGBps),
      fixed(row.loopGBps),
      ratioText(row.ratio),
      fixed(row.standardError, 3),
      row.leastRatio,
      verdictOf(row),
      fixed(row.coldGBps),
    ]),
  );
}
