import { fileScreen } from "../../../src/draw/screen.js";
import { type FigureKind, type FleetDocument, fleetSchema } from "../../../src/fleet/fleet-document.js";
import { keyOf, type NodeFigures } from "../../../src/fleet/node-figures.js";
import { unlistedHosts } from "../../../src/fleet/report/drain-lines.js";
import { fleetCharts } from "../../../src/fleet/report/fleet-charts.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { expectationOf } from "../../../src/reference/expectation.js";
import { drawn } from "../../helpers/drawn.js";
import { judged } from "../../helpers/node-results.js";
import { facts, fleetNode } from "../../helpers/plain-nodes.js";
import { buildCell, type CellPart, KiB, MiB } from "../../helpers/result-document.js";
import { type Seeded, seeded } from "../../helpers/seeded.js";
import { draws } from "../draws.js";

/** Cells of a fleet: those that a reference covers, some beside its limits, and one of each variant. */
const cells: readonly CellPart[] = [
  { sizeBytes: 64 * MiB },
  { sizeBytes: 64 * MiB, direction: "d2h" },
  { sizeBytes: 64 * MiB, memory: "pageable" },
  { sizeBytes: 4 * KiB, mode: "latency" },
  { sizeBytes: 32 * MiB, direction: "d2h" },
  { sizeBytes: 31 * MiB },
  { sizeBytes: 64 * MiB, memory: "pageable", direction: "d2h" },
  { sizeBytes: 256 * MiB, memory: "pageable" },
  { sizeBytes: 64 * MiB, direction: "bidir" },
  { sizeBytes: 64 * KiB, mode: "latency", direction: "d2h" },
  { sizeBytes: KiB, mode: "latency" },
  { sizeBytes: 64 * MiB, together: [0, 1] },
  { sizeBytes: 64 * MiB, together: [0, 1], direction: "d2h" },
  { sizeBytes: 64 * MiB, together: [0, 1, 2] },
  { sizeBytes: 64 * MiB, memory: "device", direction: "d2d" },
  { sizeBytes: 64 * MiB, memory: "device", direction: "p2p", peer: 1, path: "read" },
  { sizeBytes: 64 * MiB, memory: "staged", workers: 4 },
  { sizeBytes: 64 * MiB, workerKind: "process", workers: 2 },
  { sizeBytes: 64 * MiB, beside: "compute" },
  { sizeBytes: 64 * MiB, chunks: 4 },
  { sizeBytes: 64 * MiB, blockBytes: 4 * KiB, blockWay: "kernel" },
  { sizeBytes: 64 * MiB, cpuNode: 0, memoryNode: 1 },
  { sizeBytes: 64 * MiB, cache: "warm" },
];
const kinds = cells.flatMap((part): (FigureKind & { level: number; memory: string })[] => {
  const { id, direction, mode, memory } = buildCell(part);
  const ways = direction === "bidir" ? (["h2d", "d2h"] as const) : [direction];
  const isTime = mode === "latency";
  const level = isTime ? 7 : ({ pinned: 55, device: 1500 }[memory as "pinned"] ?? 12);
  return ways.map((moved) => ({ cell: id.slice(3), moved, unit: isTime ? "us" : "GB/s", level, memory }));
});

type Kind = (typeof kinds)[number];

/** What fleets of a sort are like: each takes one of each list. */
const usual = {
  counts: [1, 2, 3, 4, 5, 8, 9, 12],
  gpus: [1, 2, 3, 4, 8],
  noises: [0, 0.0005, 0.002, 0.01, 0.05],
  faults: [1, 2],
  shapes: ["GPU", "GPU", "node", "place", "part", "all"],
  by: [0.3, 0.5, 0.65, 0.74, 0.8, 0.88, 0.9, 0.93, 0.945, 0.955, 0.97, 1.15],
  where: ["all", "all", "pinned", "pageable", "one"],
  cells: [1, 2, 4, 7, kinds.length],
  models: [["NVIDIA H200"], ["NVIDIA H200"], ["NVIDIA H200", "NVIDIA H100 80GB HBM3"], ["NVIDIA A10G"]],
  /** Shares of fleets with fresh processes, and of those in which nodes differ, or lack something. */
  again: 0.5,
  unlike: 0.2,
  lacking: 0.4,
};
const sorts: Readonly<Record<string, Partial<typeof usual>>> = {
  "of any sort": {},
  "one slow": { counts: [5, 8, 12], faults: [1], shapes: ["GPU", "node"], noises: [0.0005, 0.002], again: 1 },
  "few that scatter": {
    ...{
      counts: [3, 3, 4, 5, 8],
      gpus: [1, 1, 2],
      noises: [0.03, 0.08, 0.15],
      faults: [1],
      shapes: ["GPU"],
      again: 0.7,
    },
    ...{
      by: [0.3, 0.45, 0.5, 0.55, 0.6],
      where: ["pinned", "all", "one"],
      cells: [2, 4],
      models: [["NVIDIA H200"], ["NVIDIA A10G"]],
    },
  },
  alone: {
    counts: [1, 1, 2],
    gpus: [1, 1, 2],
    faults: [1],
    shapes: ["all", "GPU", "node"],
    by: [0.8, 0.88, 0.93],
    where: ["all", "pinned"],
  },
  "of two kinds": {
    counts: [9, 16, 18],
    gpus: [1, 2],
    noises: [0, 0.002],
    unlike: 1,
    shapes: ["half", "half", "GPU"],
    lacking: 0.2,
  },
  "with places": {
    ...{
      counts: [2, 4, 5, 6, 9],
      gpus: [2, 3, 4, 8],
      shapes: ["place", "place", "some places", "GPU"],
      cells: [1, 2, 4],
    },
    ...{
      noises: [0, 0.0005, 0.002],
      by: [0.5, 0.7, 0.88, 0.93, 1.1, 1.5],
      models: [["NVIDIA H200"], ["NVIDIA A10G"]],
      again: 0.2,
    },
  },
  "with racks": {
    counts: [12, 16, 20],
    gpus: [1, 2],
    shapes: ["rack", "rack", "GPU"],
    noises: [0.0005, 0.002],
    cells: [2, 4],
  },
  "with wrong clocks": {
    shapes: ["GPU", "node", "GPU", "all"],
    by: [1.16, 1.2, 1.5, 1.19],
    cells: [1, 2, 4, 8],
  },
  "a little slow in all": {
    ...{
      counts: [4, 6, 9, 12],
      gpus: [1, 2, 4],
      noises: [0.004, 0.01, 0.02],
      faults: [1],
      shapes: ["GPU", "node"],
    },
    ...{ by: [0.88, 0.92, 0.94, 0.955], where: ["all"], cells: [8, kinds.length], again: 0.9 },
  },
  "in two parts": {
    ...{
      counts: [2, 3, 4, 6, 9],
      gpus: [1, 2],
      noises: [0, 0.002],
      faults: [1, 2],
      shapes: ["part", "part", "GPU"],
      again: 0.6,
    },
    ...{ by: [0.3, 0.5, 0.7, 0.85, 0.93], cells: [1, 2, 4], unlike: 0.4 },
  },
};

/** What is slow (or fast) in a fleet, and how much. */
function fault(sort: typeof usual, { one, below, is }: Seeded, nodes: number, gpus: number) {
  const [shape, by, where] = [one(sort.shapes), one(sort.by), one(sort.where)];
  const [first, gpu, share, cell] = [
    below(nodes),
    below(gpus),
    one([0.2, 0.3, 0.5, 0.75]),
    one(kinds.slice(0, 4)),
  ];
  const own = one([1, 1, 1, 0.8]);
  const lacks = is(0.3) ? below(nodes) : -1;
  const isAt = (node: number, device: number) =>
    ({
      GPU: node === first && device === gpu,
      node: node === first,
      place: device === gpu && node !== lacks,
      "some places": device === gpu && node < share * nodes,
      rack: Math.floor(node / 4) === Math.floor(first / 4) && device === 0,
      half: node % 2 === 0,
      part: node < share * nodes,
      all: true,
    })[shape];
  const isIn = (kind: Kind) =>
    where === "all" || (where === "one" ? kind.cell === cell.cell : kind.memory === where);
  return {
    what: `${shape} ${by} in ${where}`,
    of: (node: number, device: number, kind: Kind) =>
      isAt(node, device) && isIn(kind) ? by * (shape === "node" && device === gpu ? own : 1) : 1,
  };
}

const oddNames = [
  "all",
  "a b",
  "n1,n2",
  "login",
  "n7",
  "n08",
  "n8",
  "n9",
  "n10",
  "Ünit",
  "-x",
  "gpu-a",
  "y".repeat(60),
];
const nameOf = (style: string, i: number) =>
  style === "odd"
    ? `${oddNames[i % 13]}${i < 13 ? "" : i}`
    : `n${String(i + 1).padStart(style === "bare" ? 1 : 3, "0")}`;

const at = (days: number, minute = 0) => new Date(Date.UTC(2026, 10, 20 + days, 9, minute)).toISOString();

/** A fleet's nodes, and fresh processes on some of them. */
function fleet(seed: number) {
  const chosen = seeded(seed);
  const { one, is, below, list, normal, some } = chosen;
  const names = Object.keys(sorts);
  const name = names[seed % names.length]!;
  const sort = { ...usual, ...sorts[name] };
  const [count, gpus, noise, style] = [
    one(sort.counts),
    one(sort.gpus),
    one(sort.noises),
    one(["wide", "wide", "bare", "odd"]),
  ];
  const faults = list(one(sort.faults), () => fault(sort, chosen, count, gpus));
  const used = kinds.slice(0, count * gpus > 40 ? 4 : one(sort.cells)).filter(() => !is(0.05));
  const [models, generation, addresses] = [
    one(sort.models),
    one([5, 5, 5, 4, null]),
    one(["like", "like", "like", "own", "none"]),
  ];
  const capability = generation === null ? null : { generation, width: 16 };
  const [hasUuids, isAgain, unlike, isLacking] = [is(0.8), is(sort.again), is(sort.unlike), is(sort.lacking)];
  const backend = is(0.05) ? "emulated" : "cuda";
  const apart = one(["driver", "driver", "gpuCount", "linkCapability", "cpu"]);
  const rare = (share: number) => isLacking && is(share);
  const nodeOf = (node: number, left: number, days: number): NodeFigures => {
    const host = nameOf(style, node);
    const lost =
      (gpus > 1 && rare(0.06)) || (unlike && apart === "gpuCount" && gpus > 1 && node % 2 === 0)
        ? one([0, 0, below(gpus)])
        : gpus;
    const places = list(gpus, (gpu) => gpu).filter((gpu) => gpu !== lost);
    const isOther = unlike && node % 2 === 0;
    const isDown = faults.some(({ of }) => of(node, 0, kinds[0]!) < 0.7) && is(0.5);
    const best =
      capability && (isOther && apart === "linkCapability" ? { ...capability, width: 8 } : capability);
    const own = {
      ...{ ...facts, backend, gpu: models.join(", "), gpuCount: String(places.length), numaNodes: "2" },
      ...{ linkCapability: best === null || is(0.03) ? null : `gen${best.generation} x${best.width}` },
      ...{ driver: isOther && apart === "driver" ? "570" : "580", kernel: rare(0.15) ? "6.8" : "6.1" },
      ...{
        governor: rare(0.2) ? null : rare(0.1) ? "powersave" : "performance",
        cpu: isOther && apart === "cpu" ? "EPYC" : "Xeon",
      },
    };
    const figuresOf = (gpu: number) =>
      new Map(
        used.flatMap((kind) => {
          const factor = faults.reduce((product, { of }) => product * of(node, gpu, kind), 1) ** left;
          const noisy = factor * Math.exp(noise * (kind.memory === "pinned" ? 1 : 2) * normal());
          const model =
            (models[gpu % models.length] === "NVIDIA A10G" ? 0.95 : 1) * (generation === 4 ? 0.5 : 1);
          const isLost = left !== 1 && is(0.05);
          const figure = isLost
            ? kind.level / 100
            : kind.level * (kind.unit === "us" ? 1 / noisy : noisy * model);
          return rare(0.03)
            ? []
            : [[keyOf({ cell: kind.cell, moved: kind.moved, unit: kind.unit }), figure] as const];
        }),
      );
    return fleetNode(
      host,
      places.map(() => ({})),
      {
        ...{ facts: own, runId: `run-${host}-${days}`, startedAt: at(days, node), file: `r/${host}.json` },
        labels: is(0.9) ? { rack: `r${Math.floor(node / 4)}`, ...(is(0.5) && { room: "a" }) } : {},
        notice: backend === "emulated" ? "These devices are emulated." : null,
        notes: rare(0.1) ? ["it has a note", `and ${one(["one", "two"])} more`] : [],
        ...(rare(0.05) && { choseDevices: true }),
      },
      (index) => {
        const gpu = places[index]!;
        const failed = some(kinds.slice(0, 3), isLacking ? 0.05 : 0);
        const pci = addresses === "own" ? `0000:${node + 10}:0${gpu}.0` : `0000:${gpu + 1}0:00.0`;
        return {
          failures: new Map(failed.map(({ cell }) => [cell, `error ${below(3)}`])),
          ...{
            ordinal: index,
            name: models[gpu % models.length]!,
            linkCapability: best,
            figures: figuresOf(gpu),
          },
          link:
            best && !rare(0.1) ? { ...best, ...(isDown && one([{ width: 4 }, { generation: 3 }])) } : null,
          ...{
            uuid: hasUuids ? `GPU-${rare(0.03) ? "twice" : host}-${gpu}` : null,
            pciBusId: addresses === "none" ? null : pci,
          },
        };
      },
    );
  };
  const nodes = list(count, (node): NodeFigures => {
    const days = rare(0.1) ? one([-29, -31, -45, 1]) : 0;
    const whole = nodeOf(node, 1, days);
    const earlier = list(isAgain ? one([0, 1, 3]) : 0, (i) =>
      nodeOf(node, i < 1 ? one([1, 0.4]) : 0, days - 1 - i),
    );
    const state = rare(0.15) ? one(["failed", "wrong data", "late", "missing", "unreadable"] as const) : null;
    if (state === null) return { ...whole, earlier };
    const ill = { ...whole, state, reason: `it is ${state}, ${one(["once", "twice"])}` };
    if (is(0.4) || state === "wrong data") return ill;
    return { ...ill, devices: [], startedAt: null, runId: null, wallNs: null, file: null };
  });
  const fresh = nodes.flatMap((_, node): NodeFigures[] => {
    const isSlow = list(gpus, (gpu) =>
      faults.some(({ of }) => kinds.some((kind) => of(node, gpu, kind) < 1)),
    ).includes(true);
    if (!isAgain || !is(isSlow ? 0.9 : 0.2)) return [];
    const again = nodeOf(node, one([1, 1, 1.01, 0.6, 0.45, 0]), 0);
    return [rare(0.1) ? { ...again, state: "wrong data", reason: "copies came back wrong" } : again];
  });
  const told = [
    ...faults.map((one) => one.what),
    ...(fresh.length > 0 ? ["measured again"] : []),
    ...(isLacking ? ["some lacking"] : []),
  ];
  const what = `${name}: ${count} nodes of ${gpus} GPUs, noise ${noise}, ${told.join(", ")}`;
  return { nodes: is(0.3) ? nodes.toReversed() : nodes, fresh, what, chosen };
}

/** All that is made of a fleet's document; of its figures as many digits as every Node agrees about. */
function textsOf(exact: FleetDocument) {
  const digits = (_key: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? +value.toPrecision(9) : value;
  const document = JSON.parse(JSON.stringify(exact, digits)) as FleetDocument;
  const kind = fleetKind;
  const show = { screen: fileScreen() };
  return {
    faults: fleetSchema.safeParse(document).error?.issues,
    document,
    report: kind.report(document, show),
    ...Object.fromEntries(
      ["csv", "nodelist", "drain", "openmetrics"].map((name) => [name, drawn(kind, document, name)]),
    ),
    unlisted: unlistedHosts(document),
    charts: fleetCharts(document),
  };
}

const site = {
  listed: ["NVIDIA H200", "NVIDIA A10G"].map((gpu, i) => ({
    ...{
      gpu,
      alone: { h2d: 0.8 - i / 3, d2h: 0.86 - i / 3 },
      tolerance: 0.03 + i / 10,
      sources: [`rack ${i}`, "more"],
    },
    ...{ together: i === 0 ? { devices: 2, h2d: 0.7, d2h: 0.75 } : null, driver: i === 0 ? "570" : null },
  })),
};

export function judgedFleet(seed: number) {
  const { nodes, fresh, what, chosen } = fleet(seed);
  const { one, is } = chosen;
  const own = one([null, site, undefined]);
  const rule = { threshold: one([0.05, 0.05, 0.03, 0.1]) };
  const referenceOf =
    own === undefined
      ? null
      : (...[device, link]: Parameters<typeof expectationOf>) => expectationOf(device, link, own);
  const notes = is(0.2) ? ["A note of the caller's."] : [];
  return { what, document: judged([], { nodes, fresh, rule, referenceOf, notes }) };
}

function* fleets(): Generator<[string, unknown]> {
  for (let seed = 1; seed <= 130; ++seed) {
    const { what, document } = judgedFleet(seed);
    yield [`${seed}: ${what}`, textsOf(document)];
  }
}

draws(import.meta.url, fleets);
