import { Chalk } from "chalk";
import { fileScreen, type Screen } from "../../../src/draw/screen.js";
import { differenceOf } from "../../../src/kinds/difference.js";
import type { FoundDocument } from "../../../src/kinds/document-kinds.js";
import { chartOfDocuments, pageOfDocuments } from "../../../src/kinds/draw-documents.js";
import { packageVersion } from "../../../src/package-facts.js";
import { resultPictures } from "../../../src/report/page/result-charts.js";
import { resultKind } from "../../../src/report/result-report.js";
import { parseCellId } from "../../../src/results/cell-id.js";
import type { Cell, CellResult, Distribution } from "../../../src/results/cell-schema.js";
import type { BlockCutoffs } from "../../../src/results/cutoffs/cutoff-schema.js";
import { overTimeGBps } from "../../../src/results/over-time.js";
import type { ResultDocument } from "../../../src/results/schema.js";
import { idOfAlone } from "../../../src/results/variant.js";
import type { Memory } from "../../../src/settings/choices.js";
import { drawn } from "../../helpers/drawn.js";
import { buildCell, buildDistribution, buildDocument } from "../../helpers/result-document.js";
import { upTo, varied } from "../../helpers/varied.js";
import { draws } from "../draws.js";

/*
 * All that is drawn of results which differ in everything: in their cells, in how these come out, and in all other
 * circumstances. In ids, "{a,b}" stands for some of them and "{=a,b}" for all; "<a|b>" as in `varied()`.
 */

let { one, is, between, chosen, ofText } = varied(0);

/** The texts with all of some values; if there are more than `most`, the longest lists lose some. */
function expanded(text: string, most: number): string[] {
  const lists = text.split(/[{}]/).map((part, index) => {
    if (index % 2 === 0) return [part];
    const values = part.replace("=", "").split(",");
    const some = values.filter(() => part.startsWith("=") || is(0.6));
    return some.length > 0 ? some : [one(values)];
  });
  while (lists.reduce((count, { length }) => count * length, 1) > most) {
    const longest = lists.reduce((a, b) => (b.length > a.length ? b : a));
    longest.splice(longest.indexOf(one(longest)), 1);
  }
  return lists.reduce((texts, list) => texts.flatMap((one) => list.map((value) => one + value)), [""]);
}

const mismatch = '{"direction": "<h2d|d2h>", "worker": 2, "offsetBytes": 4096, "mismatchedBytes": <512|8>}';
const units: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };
const inBytes = (text: string) =>
  text.replaceAll(/(\d+)([KMG])\b/g, (_, count, unit) => String(Number(count) * units[unit]!));

/** Ids of cells. The size of one in blocks is the number of blocks. */
const families: Readonly<Record<string, string>> = {
  "plain copies":
    "d<0|0|{0,1}>/{h2d,d2h,bidir}/{<=pinned,pageable|=pinned,pageable|=pinned,pageable,staged,host|registered,write-combined,mapped,system,pinned,host|staged,host,pinned,pageable>}/{3000,4K,64K,1M,16M,64M,256M,1G}/w<1|{1,2}|{1,4,16}>/<throughput|throughput|throughput|{throughput,latency}>/<cold|cold|{cold,warm}> d0/d2d/device/{1M,64M}/w{1,2}/<throughput|latency>/cold",
  "copies of one size":
    "d<0|{0,1}>/{h2d,d2h,bidir}/{=pinned,pageable,host}/<64M|3000>/w<1|{1,4}|{1,2,16}>/<throughput|throughput|latency>/cold<||{,/process}|/process>",
  "small copies": "d0/{h2d,d2h,bidir}/{=pinned,pageable}/<4K|{4K,64K,1M}>/w<1|{1,2}>/latency/<cold|warm>",
  "all devices at once":
    "d{=<0,1|0,1,2|0,1,2,3>}/{h2d,d2h,bidir}/{pageable,pinned}/{1M,64M}/w{1,4}/<throughput|throughput|latency>/cold<||{,/process}>/together-0-1",
  "copies beside loads":
    "d<0|{0,1}>/{h2d,d2h,bidir}/{pageable,staged,pinned,registered}/<64M|{1M,64M}>/w<1|{1,2}>/<throughput|throughput|latency>/cold/beside-{compute,memory,host}",
  "copies in chunks":
    "d0/h2d/{pageable,pinned,registered}/{4M,64M}/w1/throughput/<cold|warm>/chunks-{=<1,4|1,2,8|4|16,1>}",
  "scattered blocks":
    "d<0|0|{0,1}>/{h2d,d2h,bidir}/{pinned,pageable}/<256|{64,4096}|{=64,4096}>/w<1|2|{1,2}>/throughput/cold/blocks-{4K,16K,64K,1M}-{=loop,batch,kernel,gather}",
  "blocks beside loads":
    "d0/{h2d,d2h,bidir}/{pinned,pageable}/256/w<1|2>/throughput/cold/beside-{compute,memory,host}/blocks-{4K,64K}-{=loop,batch,kernel}",
  "a search for cut-offs":
    "d<0|{=0,1}>/{h2d,d2h}/{pinned,pageable}/{1,64,4096}/w<1|{=1,2}>/throughput/cold/blocks-4K-loop",
  "copies between devices":
    "d{=<0,1|0,1,2|0,1,2,3>}/p2p/device/<64M|{4K,64M,1G}>/w<1|{1,2}>/<throughput|latency|{throughput,latency}>/<cold|{cold,warm}>/to-{=0,1,2,3}/{write,read,through-host,kernel-write,kernel-read}",
  "NUMA nodes":
    "d<0|{=0,1}>/<h2d|d2h|{h2d,bidir}>/{<=pinned|=pinned,pageable|pageable,staged>}/64M/w<1|{1,2}>/throughput/cold<||{,/together-0-1}>/cpus-{=<0,1|0,1|0,1,2>}-memory-{=<0,1|0,1|0,1,2|0,1,2,3,5>}",
};

const error =
  '{"code": "CUDA_X", "message": "<lost.|CUDA_X: out of memory>", "call": null, "location": null, "sticky": false}';

/** What differs from cell to cell, besides figures. */
const aboutCell = ({ memoryNode = 0 }: Cell, outcome: CellResult["outcome"]) => `{
  "skipReason": ${outcome === "skipped" ? '<null|"no room for 4 GiB."|"took 2 s">' : "null"},
  "error": ${outcome === "failed" ? `<null|${error}>` : "null"},
  "warnings": <[]|[]|[]|[]|["slow."]|["slow.", "a,\\"b\\" *c*"]>,
  "placement": <null|{"numaNode": ${node}, "cpus": [0]}|{"numaNode": ${node}, "cpus": [0]}>,
  "cachePool": ${pool}, "computeNs": <null|2500000|900000>, "verification": {"checkedBytes": 4096, "mismatches": [
    ${outcome === "mismatch" ? `<|${mismatch}|${mismatch}, ${mismatch}>` : ""}]<|, "copies": 100, "provenCopies": <0|30|50|100>>},
  "pages": {"kind": "base", "arenaBytes": 1, "hugePageBytes": null, "ofNodes": <[]${`|[{"node": ${memoryNode}, "pages": 10}]`.repeat(9)}
    |[{"node": <0|1|2>, "pages": 380}, {"node": ${memoryNode}, "pages": <19|20|21>}]>}
}`;

const other = `{"kind": "<program|pinbench>", "pid": <null|4711>, "name": <null|"python3">, "since": null,
  "deviceMemoryBytes": <null|512>, "wasThereBefore": <true|false>}`;
const [shared, alsoShared] = [0, 1].map(
  (device) => `{"device": ${device}, "others": [<|${other}>],
  "unseen": [<||"pinbench", "programs">], "activityBefore":
  <null|{"computeShare": <0.05|0.41>, "toDeviceGBps": <0.1|3>, "fromDeviceGBps": null}>}`,
);
const [node0, node1, node2, node9] = [0, 1, 2, 9].map(
  (node) => `{"node": ${node}, "cpus": <[]|[1]|[1, 2]>,
  "hasMemory": <true|true|true|false>, "isAllowed": <true|true|${node < 9}|false>, "distances": []}`,
);

/** All circumstances of a document. */
const aboutAll = `{
  "backend": "<cuda|cuda|cuda|emulated>", "driverVersion": <null|"580.1"|"580.1">, "cudaVersion": <null|"13.0">,
  "tool": {"name": "pinbench", "version": "0.1.0", "compiler": null, "kernels": <true|true|false|null>},
  "importedFrom": <null${"|null".repeat(12)}|{"tool": "nvbandwidth", "version": <null|"0.8">, "file": "a.json"}>,
  "run": {"status": "<complete|complete|complete|aborted|failed|running>", "wallNs": <8.4e9|75e9|4e12|null>,
    "finishedAt": <null|"2026-11-21T12:31:00.000Z">, "runs": PROCESSES,
    "error": <null|${error}>, "labels": <null|null|{"rack": "7", "d.c": "A b"}>,
    "load": <null|{"stealShare": <0|0.01|0.011|0.2|null>, "otherCpuShare": <0.02|0.1|0.11|0.5|null>}>,
    "sharing": <null|null|[${shared}]|[${shared}, ${alsoShared}]>},
  "plan": {"preset": <"quick"|null>, "precision": <0.005|0.01|0.01|0.03|0.2>, "verify": <"last"|"last"|"last"|"every">,
    "samplesPerCell": <null|null|1|20>, "notes": <[]|[]|["mapped memory is left out."]>},
  "host": {"cpuQuota": <null|7.5>, "cpusAllowed": <[1]|[0, 1, 2]>, "numaNodes": <1|2>,
    "virtualization": <null|"kvm">, "container": <null|"docker">},
  "numaNodes": <[${node0}]|[${node0}, ${node1}]|[${node0}, ${node1}]|[${node0}, ${node1}, ${node2}, ${node9}]>
}`;

const link = `{"generation": <4|5|5|null>, "width": <8|16|16|null>, "maxGeneration": <5|null>, "maxWidth": <16|null>,
  "smClockMHz": null, "memoryClockMHz": null}`;
const aboutDevice = (device: number, path: string) => `{
  "ordinal": ${device}, "name": "<NVIDIA H200|NVIDIA H200|odd \\u202e>", "uuid": <null|"GPU-${device}">,
  "pciBusId": <null|"0${device}:00.0">, "totalMemoryBytes": <null|${80 + device}e9>, "numaNode": <0|${device % 2}|1|null>,
  "link": <null|${link}|${link}>, "linkLimitGBps": <63.01|63.01|31.5|50|null>,
  "upstreamPath": <null${`|[${path} "b${device >> 1}", "d${device}"]`.repeat(5)}>
}`;

const cost = '{"allocateNs": <4.1e4|9.3e5|2.2e7|6.1e8>, "freeNs": <3e3|8e5|7e7>, "hugePageBytes": null}';
const copies = '{"h2d": <null|0|1|2|MOST>, "d2h": <null|0|1|3|MOST>}';
const costOf = (sizeBytes: string) => `{"sizeBytes": ${inBytes(sizeBytes)}, "repetitions": 3,
  "pageable": <null${`|${cost}`.repeat(6)}>, "pinned": <null${`|${cost}`.repeat(6)}>, "registered": <null|${cost}|${cost}>,
  "payOff": <null${`|{"pinned": ${copies}, "registered": ${copies}}`.repeat(6)}>,
  "refusals": <null|null|{"registered": "not allowed.", "pinned": "too much"}>}`;
const aboutStart = (device: number) => `{"device": ${device}, "initNs": 62e6, "contextNs": <7e7|4e8|3e9>,
  "firstCopyNs": <41000|900>, "pinning": [<|${costOf("64M")}|${costOf("64M")}, ${costOf("4K")}, ${costOf("1M")}>]}`;

const way = '"<WAYS>"';
const cutoff = (least: string, most: string) =>
  inBytes(`{"leastBytes": ${least}, "mostBytes": ${most}, "bytes": ${least},
  "below": ${way}, "above": ${way}}`);
const sizes = ["4K", "5K", "16K", "24K", "64K", "1M"].map(
  (size) => `{"blockBytes": ${inBytes(size)},
  "fastest": ${way}, "isCertain": <true|CERTAIN>}`,
);
const aboutColumn = `{"cutoffs": [<|${cutoff("4K", "5K")}|${cutoff("5K", "16K")}, ${cutoff("24K", "64K")}>],
  "sizes": [${sizes[0]}, <|${sizes[1]}, >${sizes[2]}, <|${sizes[3]}, >${sizes[4]}, ${sizes[5]}]}`;

const usual: Readonly<Record<Memory, number>> = {
  ...{ pageable: 10.6, staged: 20.3, host: 12.4, pinned: 55.4, registered: 54.2, "write-combined": 50 },
  ...{ mapped: 41, system: 3.2, file: 8.1, "file-registered": 55.1, device: 1480 },
};
/** What the cells of one document have in common, and factors of their speeds by what they are for. */
let widths: readonly (number | null)[] = [];
let [processes, isTidy, pool, node] = [0, false, "", ""];
let factors = new Map<string, number>();
function factorOf(key: string, values: readonly number[]): number {
  if (!factors.has(key)) factors.set(key, one(values));
  return factors.get(key)!;
}
const shareOf = (key: string) => factorOf(`${key} share`, [1.02, 1, 0.97, 0.6, 0.6, 0.58, 0.3]);

function rateOf(cell: Cell): number {
  const {
    device,
    direction,
    memory,
    workers,
    beside,
    chunks,
    blockWay,
    blockBytes = 0,
    path,
    memoryNode,
  } = cell;
  const kind = blockWay ?? memory;
  let rate =
    usual[memory] * between(0.998, 1.002) * workers ** factorOf(`${memory} workers`, [-0.2, 0, 0, 0.3]);
  rate *=
    factorOf(memory, [1, 1, 1, usual.pinned / usual[memory]]) *
    factorOf(memory + direction, [0.9, 1, 1, 1.1]);
  if (memory === "pageable") rate *= factorOf(`${cell.sizeBytes}`, [1, 1, 1, 5.2, 6]);
  if (cell.workerKind) rate *= 0.8;
  if (cell.together) rate *= shareOf(`${device} ${factorOf("ways", [0, 1]) && direction}`);
  if (beside) rate *= shareOf(beside + kind);
  if (chunks) rate *= chunks === 1 ? 0.6 : shareOf(memory + chunks);
  if (blockWay === "loop") rate *= Math.min(1, blockBytes / 2 ** 20);
  if (blockWay) rate *= factorOf(kind, [1, 1, 3, 20]);
  if (path) rate *= shareOf(factorOf("by pair", [0, 1]) ? `${device} ${cell.peer}` : path) / 5;
  if (path === "through-host") rate /= 10;
  if (memoryNode !== factorOf(`near ${device}`, [0, 0, 1])) rate *= factorOf("far", [1, 0.8, 0.6]);
  return cell.cpuNode === memoryNode ? rate : rate * 0.8;
}

/** Lopsided, with the medians of processes if there are several. */
function spread<D extends Distribution>(one: D): D {
  const { median, low, high } = one;
  const lopsided = { ...one, low: low && median - (median - low) * 0.8, high: high && high + median * 1e-4 };
  if (processes === 0) return lopsided;
  const processMedians = upTo(processes).map(() => median * between(0.98, 1.02));
  return { ...lopsided, processMedians, ...(processes < 3 && { low: null, high: null }) };
}

function samplesOf(samples: CellResult["samples"][number]): CellResult["samples"] {
  return upTo(processes || 1).map((process) => {
    const round = upTo(one([1, 4, 9, 14]));
    const startNs = round.map((at) => 1e6 * (((at * 7) % round.length) + process) + 123_456);
    const durationNs = round.map(() => samples.durationNs[0]! * (is(0.04) ? 6 : between(0.98, 1.03)));
    return { ...samples, round, startNs, durationNs, ...(processes > 0 && { process }) };
  });
}

function cellOf(place: Cell): CellResult {
  const { device, direction, mode, path, peer, beside, blockWay, workers } = place;
  const isBarred =
    path && path !== "through-host" && factorOf(`${device} ${peer}`, [0, 0, 0, factorOf("bars", [0, 1])]);
  const other = one(["budget", "budget", "budget", "skipped", "failed", "mismatch", null] as const);
  const outcome = isBarred ? "skipped" : isTidy || is(0.6) ? "converged" : other;
  const rate = rateOf(place);
  const us = (place.sizeBytes / rate + 2000) / 1e3;
  const both = { h2d: rate, d2h: rate * 0.83, ...(mode !== "latency" && { sum: rate * 1.83 }) };
  const figures = { GBps: direction === "bidir" ? both : rate, relativeHalfWidth: one(widths) };
  const ofLatency = mode === "latency" && { latencyUs: { median: us, p99: us * between(1.1, 4) } };
  const hasFigures = outcome !== "skipped" && (outcome !== "failed" || is(0.5));
  const cell = buildCell({ ...place, ...(hasFigures && { ...figures, ...ofLatency }) });
  const of = (median: number) => spread(buildDistribution(median, one(widths)));
  const kept = factorOf(`${beside} ${blockWay} kept`, [0, 0.3, 0.7, 0.98, 1, 1]);
  const load = { unit: "GB/s" as const, alone: of(4200), during: of(4200 * kept), keptShare: of(kept) };
  const hostNsPerBlock = of(factorOf(`${blockWay} host`, [0, 2.5, 24, 1400, 2900]));
  const stats = cell.stats.map(({ bandwidthGBps, latencyUs, ...others }) => {
    const { median } = bandwidthGBps;
    const tails = is(0.5) ? { p10: median * between(0.6, 0.9), p90: median * between(1, 1.3) } : {};
    const overTime = is(0.3) ? median * one([0.99, 0.96, 0.94, 0.7]) : null;
    const latency = latencyUs && { ...latencyUs, ...spread(latencyUs) };
    return {
      ...others,
      overTimeGBps: overTime,
      samples: 24 - workers,
      bandwidthGBps: { ...spread(bandwidthGBps), ...tails },
      latencyUs: latency,
    };
  });
  const more = ofText<Partial<CellResult>>(aboutCell(place, outcome));
  const ofVariant = {
    ...(beside && is(0.95) && { load }),
    ...(blockWay && is(0.95) && { hostNsPerBlock }),
  };
  const counted = { copiesPerSample: stats.length * (4 + workers), samples: cell.samples.flatMap(samplesOf) };
  const timed = stats.map((one) => ({
    ...one,
    overTimeGBps: one.overTimeGBps ?? overTimeGBps({ ...cell, ...counted }, one.direction),
  }));
  return { ...cell, outcome, stats: timed, ...counted, ...more, ...ofVariant };
}

const ofProcess = '{"id": "p", "startedAt": "2026-11-20T10:00:00.000Z", "wallNs": 1e9}';

/** A document of the family that is another one with each number. */
export function documentOf(family: string, number: number): ResultDocument {
  ({ one, is, between, chosen, ofText } = varied(1000 * Object.keys(families).indexOf(family) + number));
  factors = new Map();
  widths = ofText(
    "<[5e-4, 2e-3]|[1e-3, 4e-3]|[4e-3, 0.03]|[0.02, 0.08]|[0.05, 0.3, null]|[1e-3, 0.01, 1.2]>",
  );
  processes = one([0, 0, 0, 0, 0, 1, 2, 3, 5, 5, 10]);
  isTidy = is(0.5);
  const llc = one([0, 105e6]);
  pool = `<null|{"buffersPerWorker": 4, "totalBytes": ${one(["0", "<420|421|500>000000"])}, "lastLevelCacheBytes": ${llc},
    "lastLevelCacheSource": "sysfs"}>`;
  node = one(["0", "<0|1>", "<0|null>"]);
  const ids = chosen(families[family]!)
    .split(" ")
    .flatMap((id) => expanded(inBytes(id), one([6, 12, 18])));
  const places = ids.map(parseCellId).filter(({ device, peer }) => device !== peer);
  const devices = [...new Set(places.map(({ device }) => device))];
  const wanted = places.flatMap((place) => {
    const sizeBytes = place.sizeBytes * (place.blockBytes ?? 1);
    const one = { ...place, sizeBytes, ...(place.together && { together: devices }) };
    return [parseCellId(idOfAlone(one)), one];
  });
  const all = wanted.map(cellOf).filter(() => is(0.98));
  const cells = [...new Map(all.map((cell) => [cell.id, cell])).values()];
  if (is(0.3)) cells.reverse();
  const known = `[${upTo(processes).map(() => ofProcess)}]`;
  const more = ofText<ResultDocument>(aboutAll.replace("PROCESSES", processes === 0 ? "null" : known));
  const [ways, isCertain] = [
    one(["kernel", "batch", "gather", "kernel|batch", "kernel|loop|gather"]),
    is(0.5),
  ];
  const column = aboutColumn.replaceAll("WAYS", ways).replaceAll("CERTAIN", String(isCertain));
  const blockCutoffs = cells.flatMap(({ device, direction, memory, workers, sizeBytes, blockBytes }) =>
    blockBytes
      ? { device, direction, memory, workers, blockCount: sizeBytes / blockBytes, ...ofText<object>(column) }
      : [],
  ) as BlockCutoffs[];
  const path = one(["", "", '"pci",', '"pci", "port",', '"pci", "port", "up", "down",']);
  const { settings } = buildDocument().plan!;
  const asked = one([{}, {}, { memory: ["host" as const] }, { cells: [cells[0]?.id ?? ""] }]);
  const most = one(["0", "1", "60"]);
  const document = buildDocument({
    ...{ ...more, cells, host: more.host!, plan: { ...more.plan, settings: { ...settings, ...asked } } },
    devices: devices.map((device) => ofText(aboutDevice(device, path))),
    coldStart: devices
      .filter(() => is(0.5))
      .map((device) => ofText(aboutStart(device).replaceAll("MOST", most))),
  });
  const without = { ...(is(0.07) && { plan: null }), ...(is(0.07) && { host: null }) };
  const isSearch = family === "a search for cut-offs";
  const isOfNodes = family === "NUMA nodes";
  return {
    ...{ ...document, ...without, ...(isSearch && { blockCutoffs: is(0.9) ? blockCutoffs : [] }) },
    ...(isOfNodes && { numaNodes: more.numaNodes!, ...(is(0.1) && { cells: [] }) }),
  };
}

/** Without what is not of documents: styles and scripts, and the version of this pinbench. */
const bare = (html: string) =>
  html
    .replaceAll(/(<style>|<script type="module">)[\s\S]*?(?=<\/)/g, "$1")
    .replaceAll(/'sha256-[^']*'/g, "'sha256'")
    .replaceAll(packageVersion(), "VERSION");

const kind = "result";
const found = (document: ResultDocument, path: string | null): FoundDocument => ({ kind, document, path });

const screens: readonly Partial<Screen>[] = [
  { columns: 80, showsAll: false, chalk: new Chalk({ level: 1 }) },
  { columns: 60, showsAll: false, isAscii: true },
  { columns: 100 },
];

async function drawings(document: ResultDocument, number: number): Promise<string> {
  const names = resultPictures(document).charts.map(({ name }) => name);
  const texts =
    number % 2 === 0
      ? [drawn(resultKind, document, "table", fileScreen(screens[(number / 2) % screens.length]))]
      : ["markdown", "csv"].map((format) => drawn(resultKind, document, format));
  const page = bare(await pageOfDocuments([found(document, one([null, "a.json"]))]));
  const chart =
    names.length > 0 && number % 4 === 1 && (await chartOfDocuments([found(document, null)], one(names)));
  return [...texts, page, chart].join("\n");
}

draws(import.meta.url, async () => {
  const outputs: [input: string, output: string][] = [];
  for (const number of upTo(14)) {
    for (const family of number < 6 ? Object.keys(families) : ["plain copies", "NUMA nodes"]) {
      const text = await drawings(documentOf(family, number), number);
      outputs.push([`${family}, variation ${number + 1}`, text]);
    }
  }
  for (const number of upTo(4)) {
    const [one, other] = ["old", "new"].map((id, later) => {
      const document = documentOf("plain copies", number + (number % 2) * later);
      return found({ ...document, run: { ...document.run, id } }, `${id}.json`);
    }) as [FoundDocument, FoundDocument];
    const shown = number < 2 ? [one, other] : [one, other, found(documentOf("NUMA nodes", number), null)];
    const html = await pageOfDocuments(shown, await differenceOf(shown));
    outputs.push([`page of ${shown.length} results, variation ${number + 1}`, bare(html)]);
  }
  return outputs;
});
