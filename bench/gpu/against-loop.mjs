// pinbench's engine against the bare copy loop, in turns within one run: one worker, warm.
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
 * Both sides go through a few buffers that stay in the cache, and both do so in several places of memory: where a buffer
 * happens to lie changes its rate by some percent, which neither process chooses. A place of pinbench's is a session
 * with memory of its own, one of the loop's a process.
 */
const placements = 8;
const warmBuffers = (sizeBytes) => Math.min(64, Math.max(1, Math.floor((16 * MiB) / sizeBytes)));

/**
 * A buffer that the CPU has just written is copied up to 6 % faster than the same buffer some thousand small copies
 * later, when its lines have left the caches: both sides warm up until that has settled.
 */
function settlingCopies(memory, sizeBytes) {
  const settlingBytes = memory === "pinned" && sizeBytes < MiB ? 4 * GiB : GiB;
  return Math.max(2, Math.min(60_000, Math.floor(settlingBytes / sizeBytes)));
}

/** Small copies are a few microseconds each, of which the engine's own bookkeeping is a share. */
const leastRatio = (sizeBytes) => (sizeBytes < 64 * KiB ? 0.97 : 0.99);

function copiesOf(memory, timer, sizeBytes) {
  const wanted = Math.max(1, Math.min(1000, Math.floor(sampleBytes[memory] / sizeBytes)));
  return timer === "event" ? Math.min(128, wanted) : wanted;
}

export async function againstLoop({ openAnother, host, backend }) {
  const places = [];
  for (let i = 0; i < placements; ++i) {
    places.push({ session: await openAnother(), loop: new CopyLoop(backend.library) });
  }
  const coldBytes = 2 * host.lastLevelCacheBytes;
  const rows = [];
  for (const memory of ["pinned", "pageable"]) {
    for (const timer of memory === "pinned" ? ["wall", "event"] : ["wall"]) {
      for (const direction of ["h2d", "d2h"]) {
        for (const sizeBytes of sizesBytes) {
          rows.push(await compare({ places, coldBytes, memory, timer, direction, sizeBytes }));
        }
      }
    }
  }
  for (const { session, loop } of places) await Promise.all([session.close(), loop.close()]);
  print(rows);
  return rows;
}

async function compare({ places, coldBytes, memory, timer, direction, sizeBytes }) {
  const copies = copiesOf(memory, timer, sizeBytes);
  const buffers = warmBuffers(sizeBytes);
  const warm = {
    direction,
    memory,
    timer,
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
    // Fresh memory of just this size, as the loop takes it.
    await reserve(session, memory, { chunksOfWorker: [1], chunkBytes: buffers * sizeBytes });
    // Who goes first alternates, so that neither always finds what the other left behind.
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
    timer,
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

/** Rates from pageable memory differ by some percent from place to place: what that leaves open is called so. */
function verdictOf({ ratio, standardError, leastRatio: bound }) {
  if (ratio >= bound) return "ok";
  return ratio + 2 * standardError >= bound ? "within noise" : "BELOW";
}

function print(rows) {
  printTable(
    "Against the bare copy loop (1 worker, warm; GB/s, means over 8 places in memory)",
    ["memory", "timer", "direction", "KiB", "pinbench", "loop", "ratio", "±", "bound", "", "cold"],
    rows.map((row) => [
      row.memory,
      row.timer,
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
