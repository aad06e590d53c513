// pinbench's engine against the bare copy loop, in turns within one run: one worker, warm.
import { median } from "../../dist/stats/median.js";
import { CopyLoop } from "../lib/copy-loop.mjs";
import { KiB, MiB, measure } from "../lib/session.mjs";
import { fixed, printTable, ratioText, verdict } from "../lib/table.mjs";

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
const turns = 7;
const samplesPerTurn = 6;
const sampleBytes = { pinned: 256 * MiB, pageable: 64 * MiB };

/**
 * Both sides take turns through the same few buffers, which stay in the cache: where a single small buffer happens to lie in
 * memory changes its rate by some percent, and neither process can choose.
 */
const warmBuffers = (sizeBytes) => Math.min(64, Math.max(1, Math.floor((16 * MiB) / sizeBytes)));

/** Small copies are a few microseconds each, of which the engine's own bookkeeping is a share. */
const leastRatio = (sizeBytes) => (sizeBytes < 64 * KiB ? 0.97 : 0.99);

function copiesOf(memory, timer, sizeBytes) {
  const wanted = Math.max(1, Math.min(1000, Math.floor(sampleBytes[memory] / sizeBytes)));
  return timer === "event" ? Math.min(128, wanted) : wanted;
}

export async function againstLoop({ session, host, backend }) {
  const loop = new CopyLoop(backend.library);
  const coldBytes = 2 * host.lastLevelCacheBytes;
  const chunkBytes = 512 * MiB;
  const geometry = { chunksOfWorker: [Math.max(2, Math.ceil(coldBytes / chunkBytes))], chunkBytes };
  await session.reserveDevice(geometry, 1);
  const rows = [];
  for (const memory of ["pinned", "pageable"]) {
    await session.reserveHost(memory, geometry);
    for (const timer of memory === "pinned" ? ["wall", "event"] : ["wall"]) {
      for (const direction of ["h2d", "d2h"]) {
        for (const sizeBytes of sizesBytes) {
          rows.push(await compare({ session, loop, coldBytes, memory, timer, direction, sizeBytes }));
        }
      }
    }
  }
  await loop.close();
  print(rows);
  return rows;
}

async function compare({ session, loop, coldBytes, memory, timer, direction, sizeBytes }) {
  const copies = copiesOf(memory, timer, sizeBytes);
  const warm = {
    direction,
    memory,
    timer,
    sizeBytes,
    copiesPerSample: copies,
    samples: samplesPerTurn,
    buffers: warmBuffers(sizeBytes),
    warmupCopies: 64,
    warmupBytes: sizeBytes,
  };
  if (sizeBytes >= MiB) warm.warmupCopies = 2 * warm.buffers;
  const rate = (durationsNs) => (copies * sizeBytes) / median(durationsNs);
  const ratios = [];
  const ours = [];
  const theirs = [];
  for (let turn = 0; turn < turns; ++turn) {
    // Who goes first alternates, so that neither always finds what the other left behind.
    const measureOurs = async () => ours.push(rate((await measure(session, warm))[0]));
    const measureTheirs = async () =>
      theirs.push(rate(await loop.measure({ ...warm, copies, warmup: warm.warmupCopies })));
    if (turn % 2 === 0) await measureOurs();
    await measureTheirs();
    if (turn % 2 === 1) await measureOurs();
    ratios.push(ours.at(-1) / theirs.at(-1));
  }
  const buffers = Math.max(2, Math.ceil(coldBytes / Math.max(512, sizeBytes)));
  const cold = [];
  for (let visit = 0; visit < 3; ++visit) {
    const firstBuffer = (visit * samplesPerTurn * copies) % buffers;
    cold.push(rate((await measure(session, { ...warm, warmupCopies: 1, buffers, firstBuffer }))[0]));
  }
  const ratio = median(ours) / median(theirs);
  return {
    memory,
    timer,
    direction,
    sizeBytes,
    copiesPerSample: copies,
    pinbenchGBps: median(ours),
    loopGBps: median(theirs),
    ratio,
    ratioOfTurns: ratios,
    coldGBps: median(cold),
    leastRatio: leastRatio(sizeBytes),
    reached: ratio >= leastRatio(sizeBytes),
  };
}

function print(rows) {
  printTable(
    "Against the bare copy loop (1 worker, warm: up to 64 buffers and 16 MiB; GB/s, medians of turns)",
    ["memory", "timer", "direction", "KiB", "pinbench", "loop", "ratio", "bound", "", "cold"],
    rows.map((row) => [
      row.memory,
      row.timer,
      row.direction,
      row.sizeBytes / KiB,
      fixed(row.pinbenchGBps),
      fixed(row.loopGBps),
      ratioText(row.ratio),
      row.leastRatio,
      verdict(row.reached),
      fixed(row.coldGBps),
    ]),
  );
}
