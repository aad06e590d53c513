import { describeHistory } from "../../../src/compare/history/trends.js";
import { historyCharts } from "../../../src/compare/report/history-charts.js";
import { historyKind } from "../../../src/compare/report/history-report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { parseHistory } from "../../../src/results/files/history-file.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import { fitLevels } from "../../../src/stats/level-fit.js";
import { drawn } from "../../helpers/drawn.js";
import { buildEntry, buildTrend, type TrendPart } from "../../helpers/history.js";
import { seeded } from "../../helpers/seeded.js";
import { draws, refusalOf } from "../draws.js";

/** The figures that checks have: id without the device, and what of the cell is followed. */
const figures = [
  ["h2d/pinned/65536/w1/throughput/cold", "h2d"],
  ["h2d/pinned/1048576/w1/throughput/cold", "h2d"],
  ["h2d/pinned/16777216/w1/throughput/cold", "h2d"],
  ["bidir/pinned/1048576/w1/throughput/cold", "sum"],
  ["bidir/pinned/1048576/w1/throughput/cold", "h2d"],
  ["d2h/pageable/1048576/w2/throughput/warm", "d2h"],
  ["d2h/pageable/1048576/w2/throughput/cold", "d2h"],
  ["d2h/staged/1048576/w2/throughput/cold/process", "d2h"],
  ["h2d/host/1048576/w2/throughput/cold", "h2d"],
  ["h2d/pinned/4096/w1/latency/cold", "h2d"],
  ["nonsense", "h2d"],
] as const;

/** What becomes of a trend besides steps and noise: a factor for each check. */
const shapes: readonly ((check: number, checks: number, hour: number) => number)[] = [
  () => 1,
  () => 1,
  (_check, _checks, hour) => (hour < 6 ? 0.8 : hour < 18 ? 1 : 0.93),
  (_check, _checks, hour) => (hour >= 18 ? 0.8 : 1),
  (check) => (check % 3 === 1 ? 0.7 : 1),
  (check) => (Math.sin(check * check) > 0.2 ? 0.75 : 1),
  (check) => 1 - 0.03 * (check % 7),
  (check) => ([5, 6, 14].includes(check) ? 0.6 : 1),
  (check) => ([9, 10, 11].includes(check) ? 1.5 : 1),
  (check, checks) => (check === checks - 1 ? 0.5 : 1),
  (check, checks) => (check >= checks - 3 ? 1.4 : 1),
  (check, checks) => (check >= checks - 4 ? 0.7 : 1),
  (check, checks) => (check === checks - 1 ? 0.985 : 1),
];

const trends: readonly TrendPart[] = [
  {},
  { steps: { 9: -0.06 } },
  { steps: { 8: -0.2, 13: 0.3 }, noise: 0.03 },
  { steps: { 4: -0.04, 8: -0.04, 12: -0.04 } },
  { steps: { 5: 0.1, 15: 0.06 }, noise: 0.004 },
  { noise: 0.02 },
];

const machines = [
  { hostName: ["node-1"], gpuUuids: ["GPU-a", "GPU-b"], pciAddresses: ["0000:01:00.0"] },
  { hostName: ["node-1"], gpuUuids: ["GPU-c"], pciAddresses: [] },
  { hostName: ["node-2"], gpuUuids: [], pciAddresses: [] },
  { hostName: [], gpuUuids: [], pciAddresses: ["0000:02:00.0"] },
  { hostName: [], gpuUuids: ["GPU-d"], pciAddresses: [] },
];

/** The checks of one machine or of several, some of which have other figures than the rest. */
function entriesOf(seed: number): HistoryEntry[] {
  const { uniform, one } = seeded(seed);
  const checks = one([0, 1, 2, 5, 7, 8, 14, 20, 20, 26, 40, 40]);
  const start = Math.floor(uniform() * machines.length);
  const own = machines.slice(start, start + one([1, 1, 1, 2, 3]));
  const others = one([0, 0, 0.1]);
  const gap = one([0, 0, 0.08]);
  const common = { trend: one(trends), shape: one(shapes) };
  const hoursApart = one(common.shape.length === 3 ? [6, 7] : [24, 24, 6, 1]);
  const changesAt = one([3, 9, 99]);
  const chosen = figures.filter(() => uniform() < 0.6);
  const followed = Array.from({ length: one([1, 1, 2]) }, (_, device) =>
    chosen.map(([id, moved]) => {
      const { trend, shape } = uniform() < 0.75 ? common : { trend: one(trends), shape: one(shapes) };
      const factors = buildTrend({ noise: 0.002, ...trend, checks, seed: Math.floor(1e6 * uniform()) });
      return {
        id: id === "nonsense" ? id : `d${device}/${id}`,
        moved,
        factors,
        shape,
        level: 5 + 40 * uniform(),
      };
    }),
  ).flat();
  const entries = Array.from({ length: checks }, (_, check): HistoryEntry => {
    const at = Date.UTC(2026, 1, 27, 22, 30) + 3_600_000 * hoursApart * check;
    const machine = own[check % own.length]!;
    const isChanged = check >= changesAt;
    const slower = machine === own[1] ? 0.85 : 1;
    return buildEntry(check, {
      startedAt: new Date(at).toISOString(),
      outcome: one(["pass", "pass", "pass", "regression", "failed", "undecided", "later"]),
      backend: uniform() < others ? "emulated" : "cuda",
      ...(uniform() < others && { verify: "every" as const }),
      version: isChanged ? "0.2.0" : "0.1.0",
      fingerprint: {
        driver: isChanged ? "590.1" : "580.1",
        kernel: one(["6.1", "6.1", null]),
        gpu: "NVIDIA H200",
      },
      machine: isChanged && own.length === 1 ? { ...machine, pciAddresses: ["0000:99:00.0"] } : machine,
      series: followed.flatMap(({ id, moved, factors, shape, level }) => {
        const isLatency = id.includes("latency");
        const factor = slower * factors[check]! * shape(check, checks, new Date(at).getUTCHours());
        const unit = isLatency ? ("us" as const) : ("GB/s" as const);
        const entry = {
          id,
          moved,
          unit,
          figure: isLatency ? level / factor : level * factor,
          runs: one([1, 5]),
        };
        return uniform() < gap ? [] : [entry];
      }),
    });
  });
  return seed % 3 === 0 ? entries.toReversed() : entries;
}

const faulty = (entry: HistoryEntry | undefined): string[] => [
  "",
  "{",
  "[1]",
  '{"schemaVersion":2}',
  '{"schemaVersion":[]}',
  JSON.stringify({ ...entry, outcome: 5 }),
  JSON.stringify({ schemaVersion: 1, kind: "check" }),
  JSON.stringify({
    ...entry,
    id: "a",
    series: entry?.series.map((one) => ({ ...one, figure: 1e-6 * one.figure ** -5 })),
  }),
  JSON.stringify({ ...entry, id: "b", series: entry?.series.map((one) => ({ ...one, figure: 5000 })) }),
  JSON.stringify(entry),
];

/** All that is said of a history's file. */
export function outputsOf(seed: number) {
  const { uniform, one } = seeded(500 + seed);
  const entries = entriesOf(seed);
  const lines = entries.flatMap((entry) => [
    JSON.stringify(entry),
    ...(uniform() < 0.05 ? [one(faulty(entry))] : []),
  ]);
  const end = one(["\n", "\n", "", `\n${one(faulty(entries[0]))}`]);
  const history = parseHistory(lines.join("\n") + end, "old/history.jsonl", one([true, true, false]));
  const cells = one([null, null, null, ["*pinned*"], ["d0/*", "*latency*"], ["d0/h2d/pined/64KiB/*"]]);
  const read = { version: "0.1.0", path: "old", history, cells };
  return told(() => describeHistory(read), seed);
}

function told(describe: () => ReturnType<typeof describeHistory>, seed: number) {
  try {
    const document = { ...describe(), createdAt: "2026-11-20T10:00:00.000Z" };
    const screens = [fileScreen({ columns: 60 + 20 * (seed % 5) }), fileScreen({ showsAll: false })];
    return {
      document,
      texts: (seed < 12 ? screens : []).map((screen) => drawn(historyKind, document, "table", screen)),
      reports: screens.map((screen) => historyKind.report(document, { screen })),
      charts: historyCharts(document).map((chart) => [chart, chart.x.ticks?.map(chart.x.format)]),
    };
  } catch (error) {
    return { refusal: refusalOf(error) };
  }
}

draws(import.meta.url, () => {
  return [
    ...Array.from({ length: 80 }, (_, seed) => [`checks ${seed}`, outputsOf(seed)] as const),
    [
      "a trend of 1000 checks",
      fitLevels(buildTrend({ checks: 1000, steps: { 203: -0.02, 950: 0.01 } }).map(Math.log)),
    ],
  ];
});
