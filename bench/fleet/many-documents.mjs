// `node bench/fleet/many-documents.mjs FOLDER`: reads and judges the results in a folder, and prints the time and memory as JSON.
import { judgeFleet } from "../../dist/fleet/judge-fleet.js";
import { readFleet } from "../../dist/fleet/read-fleet.js";

const start = performance.now();
const { nodes, fresh } = await readFleet([process.argv[2]]);
const read = performance.now();
const createdAt = new Date().toISOString();
const { outliers } = judgeFleet({
  version: "0",
  createdAt,
  nodes,
  fresh,
  notes: [],
  rule: { threshold: null },
  referenceOf: null,
});
const judged = performance.now();
console.log(
  JSON.stringify({
    results: nodes.length,
    readSeconds: (read - start) / 1e3,
    judgeSeconds: (judged - read) / 1e3,
    cpuSeconds: (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    // maxRSS is in KiB on Linux.
    peakGB: (process.resourceUsage().maxRSS * 1024) / 1e9,
    outliers: outliers.map(({ host, device }) => [host, device]),
  }),
);
