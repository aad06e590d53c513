// Pageable copies by several workers: pinbench's staging against the driver's. And the time to allocate a large pinned
// buffer.
import { median } from "../../dist/stats/order-statistics.js";
import { GiB, MiB, measure } from "../lib/session.mjs";
import { fixed, printTable, verdict } from "../lib/table.mjs";

const sizeBytes = 64 * MiB;
const coldBuffers = 10;

export async function stagedCopies({ session, host }) {
  const workerCounts = [1, 2, 4, 6, 8, 12, 16].filter((count) => count <= host.cpusAllowed.length);
  const most = workerCounts.at(-1);
  const chunkBytes = 128 * MiB;
  const buffersOf = (workers) => Math.max(2, Math.ceil(coldBuffers / workers));
  const geometry = {
    chunksOfWorker: Array.from({ length: most }, (_, i) => Math.ceil(buffersOf(i + 1) / 2)),
    chunkBytes,
  };
  await session.reserveDevice(geometry, 1);
  await session.reserveHost("pageable", geometry);
  await session.reserveStaging({ workers: most, slots: 3, chunkBytes: 2 * MiB });
  const rows = [];
  for (const workers of workerCounts) {
    const row = { workers };
    for (const memory of ["pageable", "staged"]) {
      for (const direction of ["h2d", "d2h"]) {
        const buffers = buffersOf(workers);
        const rates = [];
        for (let visit = 0; visit < 5; ++visit) {
          const [durations] = await measure(session, {
            direction,
            memory,
            sizeBytes,
            workers,
            buffers,
            firstBuffer: visit % buffers,
            copiesPerSample: 2,
            samples: 4,
          });
          rates.push(...durations.map((ns) => (2 * workers * sizeBytes) / ns));
        }
        row[`${memory} ${direction}`] = { medianGBps: median(rates), samplesGBps: rates };
      }
    }
    rows.push(row);
  }
  const figure = (row, name) => fixed(row[name].medianGBps);
  printTable(
    "From and to pageable memory, 64 MiB a worker, cold (GB/s); ring of 3 x 2 MiB",
    ["workers", "driver h2d", "staged h2d", "driver d2h", "staged d2h", ""],
    rows.map((row) => [
      row.workers,
      figure(row, "pageable h2d"),
      figure(row, "staged h2d"),
      figure(row, "pageable d2h"),
      figure(row, "staged d2h"),
      row.workers === 8 ? verdict(row["staged h2d"].medianGBps >= 48) : "",
    ]),
  );
  return rows;
}

export async function registeredBuffer({ session }) {
  const rows = [];
  for (let turn = 0; turn < 5; ++turn) {
    const registered = await session.measurePinning("registered", 4 * GiB);
    rows.push({ way: "registered", ...registered });
  }
  rows.push({ way: "cuMemHostAlloc", ...(await session.measurePinning("pinned", 4 * GiB)) });
  printTable(
    "A pinned buffer of 4 GiB (ms); bound for registered: 160. The first may be slow because a virtual machine's host must provide memory first",
    ["way", "ready after", "freed in", "huge pages", ""],
    rows.map((row) => [
      row.way,
      fixed(row.allocateNs / 1e6, 1),
      fixed(row.freeNs / 1e6, 1),
      row.hugePageBytes === null ? "-" : `${Math.floor((100 * row.hugePageBytes) / (4 * GiB))} %`,
      row.way === "registered" ? verdict(row.allocateNs <= 160e6) : "",
    ]),
  );
  return rows;
}
