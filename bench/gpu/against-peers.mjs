// Pinned, bidirectional and mapped copies of one buffer, compared with nvbandwidth's figures (peers.mjs). nvbandwidth
// times with events on the GPU, pinbench by the wall clock. For such large copies these differ by less than 0.5 %
// (results/nvidia-h200/wall-clock.txt).
import { median } from "../../dist/stats/order-statistics.js";
import { GiB, MiB, measure } from "../lib/session.mjs";
import { fixed, printTable, ratioText, verdict } from "../lib/table.mjs";
import { nvbandwidth } from "./peers.mjs";

export async function againstPeers({ session }) {
  const geometry = { chunksOfWorker: [1, 1], chunkBytes: 512 * MiB };
  await session.reserveDevice(geometry, 1);
  await session.reserveHost("pinned", geometry);
  const rates = async (fields) => {
    const copies = Math.max(2, Math.floor((2 * GiB) / fields.sizeBytes));
    const columns = await measure(session, { ...fields, copiesPerSample: copies, samples: 9 });
    return columns.map((durationsNs) => (copies * fields.sizeBytes) / median(durationsNs));
  };
  const rows = [];
  const compare = (name, rateGBps, peerGBps, leastRatio) => {
    const ratio = rateGBps / peerGBps;
    rows.push({ name, rateGBps, peerGBps, ratio, leastRatio, reached: ratio >= leastRatio });
  };
  for (const sizeBytes of [32 * MiB, 512 * MiB]) {
    for (const direction of ["h2d", "d2h"]) {
      const name = `${direction} ${sizeBytes / MiB} MiB`;
      const [rate] = await rates({ direction, memory: "pinned", sizeBytes });
      compare(`pinned ${name}`, rate, nvbandwidth[name], 0.995);
    }
  }
  const both = await rates({ direction: "bidir", memory: "pinned", sizeBytes: 512 * MiB });
  compare("pinned bidir sum 512 MiB", both[0] + both[1], nvbandwidth.bidirSum, 0.98);
  for (const direction of ["h2d", "d2h"]) {
    const [rate] = await rates({ direction, memory: "mapped", sizeBytes: 512 * MiB });
    compare(`mapped ${direction} 512 MiB`, rate, nvbandwidth[`mapped ${direction} 512 MiB`], 0.99);
  }
  printTable(
    `Against nvbandwidth ${nvbandwidth.version} (recorded figures of one H200; GB/s)`,
    ["figure", "pinbench", "peer", "ratio", "bound", ""],
    rows.map((row) => [
      row.name,
      fixed(row.rateGBps),
      fixed(row.peerGBps),
      ratioText(row.ratio),
      row.leastRatio,
      verdict(row.reached),
    ]),
  );
  return rows;
}
