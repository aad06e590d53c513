import { describe, expect, it } from "vitest";
import { matchesPattern } from "../../src/compare/history/cell-patterns.js";
import { historySchema } from "../../src/compare/history/history-document.js";
import { describeHistory } from "../../src/compare/history/trends.js";
import { cellId } from "../../src/results/cell-id.js";
import type { HistoryEntry } from "../../src/results/history-entry.js";
import { frozen } from "../helpers/frozen.js";
import { buildEntry, buildFigure, buildTrend, pinnedId, type TrendPart } from "../helpers/history.js";
import { historySchemaErrors } from "../helpers/schema-errors.js";

const plain = { device: 0, direction: "h2d", memory: "pinned", sizeBytes: 65536, workers: 1 } as const;
const idOf = (workers: number) => cellId({ ...plain, workers, mode: "throughput", cache: "cold" });

/** Entries of a history with these trends, by cell id. */
function entriesOf(
  trends: Readonly<Record<string, TrendPart>>,
  change: (day: number) => Partial<HistoryEntry> = () => ({}),
): HistoryEntry[] {
  const drawn = Object.entries(trends).map(([id, part], i) => ({
    ...{ id, factors: buildTrend({ seed: i + 1, ...part }) },
  }));
  const days = Math.max(...drawn.map(({ factors }) => factors.length));
  return Array.from({ length: days }, (_, day) => {
    const series = drawn.map(({ id, factors }) => buildFigure({ id, figure: 50 * factors[day]! }));
    return buildEntry(day, { series, ...change(day) });
  });
}

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null, notes: string[] = []) =>
  describeHistory(frozen({ version: "0.1.0", path: "history", history: { entries, notes }, cells }));
const trendsOf = (...args: Parameters<typeof describeEntries>) => describeEntries(...args).trends;
/** The trends of a group whose cells have these parts. */
const trendsOfGroup = (...parts: TrendPart[]) =>
  trendsOf(entriesOf(Object.fromEntries(parts.map((part, i) => [idOf(2 ** i), part]))));

describe("a step of a group", () => {
  const workers = [1, 2, 4, 8];
  const steps = Object.fromEntries(workers.map((w) => [idOf(w), { steps: { 30: -0.03 } }]));

  it("is reported once, with size, place and changed facts", () => {
    const entries = entriesOf(steps, (day) => ({
      // A fact that is unknown before or after is no change.
      version: day < 30 ? "0.1.0" : "0.2.0",
      verify: day < 30 ? "last" : "every",
      fingerprint:
        day < 30 ? { driver: "570.1", kernel: "6.1", governor: null } : { driver: "580.2", governor: "x" },
      machine: {
        hostName: [day < 30 ? "node-1" : "node-2"],
        gpuUuids: ["GPU-1"],
        pciAddresses: day < 30 ? [] : ["0000:00:06.0"],
      },
    }));
    const { trends, checks } = describeEntries(entries);
    expect(checks).toHaveLength(60);
    expect(trends).toMatchObject([
      {
        ...{ name: "h2d pinned", kind: "group", ids: workers.map(idOf), median: null, machine: null },
        ...{ gpuUuids: ["GPU-1"], outages: [], points: { length: 60 } },
        steps: [
          {
            ...{ before: 29, after: 30, earliest: 30, latest: 30, change: expect.closeTo(-0.03, 2) },
            differences: [
              { fact: "driver", before: "570.1", after: "580.2" },
              { fact: "pinbench", before: "0.1.0", after: "0.2.0" },
              { fact: "host name", before: "node-1", after: "node-2" },
              { fact: "--verify", before: "last", after: "every" },
            ],
          },
        ],
        newest: { check: 59, figure: null, checksBefore: 29, isFar: false },
      },
    ]);
    const { low, high, change } = trends[0]!.steps[0]!;
    expect([low < change, change < high]).toEqual([true, true]);
    expect(trends[0]!.noise).toBeLessThan(0.004);
  });

  it("has all facts that changed between the earliest and the latest check where it may be", () => {
    const entries = entriesOf({ [pinnedId]: { steps: { 30: -0.03 }, noise: 0.012 } }, (day) => ({
      fingerprint: { driver: `${day}` },
    }));
    const { earliest, latest, before, after, differences } = trendsOf(entries, [pinnedId])[0]!.steps[0]!;
    expect([earliest < after || after < latest, before]).toEqual([true, after - 1]);
    expect(differences).toEqual([{ fact: "driver", before: `${earliest - 1}`, after: `${latest}` }]);
  });

  it("is the only step of more than 1 % when cells are added or removed", () => {
    const entries = entriesOf(steps).map((entry, day) => ({
      ...entry,
      // Another plan: a cell that is ten times as slow replaces two others. Every other check lacks a cell.
      series: entry.series
        .slice(day % 2, day < 40 ? 4 : 2)
        .concat(day < 40 ? [] : [buildFigure({ id: idOf(16), figure: 5 })]),
    }));
    const large = trendsOf(entries)[0]!.steps.filter(({ change }) => Math.abs(change) > 0.01);
    expect(large.map(({ after }) => after)).toEqual([30]);
  });
});

it.each<[string, TrendPart["steps"], boolean]>([
  ["the same step", { 30: -0.1 }, true],
  ["a step three checks later", { 33: -0.1 }, true],
  ["a step four checks earlier", { 26: -0.1 }, false],
  ["a step to higher figures", { 30: 0.1 }, false],
  ["a second step", { 30: -0.1, 45: -0.1 }, false],
  ["an outage elsewhere", { 30: -0.1, 50: -0.5, 52: 1 }, false],
  ["no step", {}, true],
])("a cell with %s (%j) is shown by its group's step at check 30: %s", (_, steps, isShown) => {
  const step = { steps: { 30: -0.1 } };
  const kinds = trendsOfGroup(step, step, { steps: steps! }).map(({ kind }) => kind);
  expect(kinds).toEqual(isShown ? ["group"] : ["group", "cell"]);
});

it("requested cells have their own trends, with their figures", () => {
  const parts = { [idOf(1)]: {}, [idOf(2)]: {}, [idOf(4)]: { steps: { 20: -0.1 } } };
  expect(trendsOf(entriesOf(parts), ["*/w1/*", idOf(4)])).toMatchObject([
    { name: idOf(1), kind: "cell", median: expect.closeTo(50, 0) },
    { name: idOf(4), kind: "cell", newest: { figure: expect.closeTo(45, 0) } },
  ]);
  expect(() => describeEntries(entriesOf(parts), ["*/w1/*", "*/staged/*"])).toThrow(
    'no cell of the checks in history matches "*/staged/*".',
  );
  expect(trendsOf([], ["*/staged/*"])).toEqual([]);
});

it.each([
  ["*", true],
  [pinnedId, true],
  ["d0/h2d/pinned/*", true],
  ["*/pinned/*/w1/*", true],
  ["**/cold", true],
  ["h2d/pinned/*", false],
  ["d0/h2d/pinned", false],
  ["*/staged/*", false],
  ["D0/*", false],
  ["d./*", false],
  ["*/cold*/cold", false],
  ["d0*/cold*d", false],
])("the pattern %s matches a pinned cell: %s", (pattern, expected) => {
  expect(matchesPattern(pinnedId, pattern)).toBe(expected);
});

it.each([
  [[50, 50], [0, 0], null],
  [[50, 50, 40], [0, 0, -0.2], expect.any(Number)],
])("a trend's points are changes from its median: %j", (figures, changes, noise) => {
  const entries = figures.map((figure, day) => buildEntry(day, { series: [buildFigure({ figure })] }));
  const points = changes.map((change) => ({ change: expect.closeTo(change, 12) }));
  expect(trendsOf(entries)).toMatchObject([{ points, noise, steps: [], newest: { isFar: false } }]);
});

it.each([
  ["no finding if it is like those before", -0.002, false],
  ["a finding if it is far from the median of those before", -0.5, true],
])("the newest check is %s", (_, change, isFar) => {
  expect(trendsOf(entriesOf({ [pinnedId]: { checks: 30, steps: { 29: change } } }))).toMatchObject([
    { newest: { check: 29, checksBefore: 29, isFar, change: expect.closeTo(change, 2) }, steps: [] },
  ]);
});

it.each<[string, TrendPart]>([
  ["a step", { steps: { 30: -0.05 } }],
  ["an outage", { steps: { 30: -0.5, 32: 1 } }],
  ["a newest check far from the trend", { steps: { 59: -0.5 } }],
])("%s is found at the same check even if the first checks lack the figure", (_, part) => {
  const lacking = 5;
  const entries = entriesOf({ [pinnedId]: part }, (day) => ({ fingerprint: { driver: `${day}` } }));
  const others = Array.from({ length: lacking }, (_, i) =>
    buildEntry(i - lacking, { series: [buildFigure({ id: idOf(2), moved: "h2d" })] }),
  );
  const checkKeys = ["check", "first", "last", "before", "after", "earliest", "latest"];
  const later = (key: string, value: unknown) =>
    checkKeys.includes(key) && typeof value === "number" ? value + lacking : value;
  const alone = trendsOf(entries, [pinnedId]);
  const [{ steps, outages, newest }] = alone as [(typeof alone)[0]];
  expect(steps.length + outages.length + Number(newest!.isFar)).toBe(1);
  expect(trendsOf([...others, ...entries], [pinnedId])).toEqual(JSON.parse(JSON.stringify(alone), later));
});

it("devices, backends, modes, cache states, directions and variants have separate trends", () => {
  const bidir = pinnedId.replace("h2d", "bidir");
  const ends = ["process", "together-0-1", "beside-compute", "chunks-8", "blocks-4096-loop"];
  const series = [
    buildFigure({ id: "d0/h2d/hologram/1/w1/throughput/cold" }),
    buildFigure(),
    buildFigure({ id: pinnedId.replace("d0", "d1") }),
    buildFigure({ id: pinnedId.replace("throughput", "latency"), unit: "us" }),
    buildFigure({ id: pinnedId.replace("cold", "warm") }),
    buildFigure({ id: bidir }),
    buildFigure({ id: bidir, moved: "sum" }),
    ...ends.map((end) => buildFigure({ id: `${pinnedId}/${end}` })),
  ];
  const emulated = buildEntry(1, { series: [buildFigure()], backend: "emulated" });
  const { trends, notice } = describeEntries([buildEntry(0, { series }), emulated]);
  expect(trends.map(({ name }) => name)).toEqual([
    "h2d pinned, device 0, cuda",
    "h2d pinned, device 1, cuda",
    "h2d pinned latency, device 0, cuda",
    "h2d pinned, warm, device 0, cuda",
    "bidir h2d pinned, device 0, cuda",
    "bidir sum pinned, device 0, cuda",
    ...["process", "together", "beside compute", "pipeline", "blocks loop"].map(
      (variant) => `h2d pinned, ${variant}, device 0, cuda`,
    ),
    "h2d pinned, device 0, emulated",
  ]);
  expect(notice).toContain("emulated device");
  const names = trendsOf([buildEntry(0, { series })], ["*/bidir/*"]).map(({ name }) => name);
  expect(names).toEqual([`${bidir}, h2d`, `${bidir}, sum`]);
});

describe("a history recognizes a GPU by its UUID,", () => {
  const rates: Readonly<Record<string, number>> = { "GPU-a": 50, "GPU-b": 25 };
  /** A check of these GPUs, whose first device has this number. */
  const checkOf = (day: number, gpuUuids: readonly string[], first = 0) =>
    buildEntry(day, {
      machine: { hostName: ["node-1"], gpuUuids: [...gpuUuids], pciAddresses: [] },
      series: gpuUuids.flatMap((uuid, i) => {
        const id = pinnedId.replace("d0", `d${first + i}`);
        const figure = rates[uuid]! * (1 + 0.001 * (day % 3));
        const p2p = `${id.replace("h2d/pinned", "p2p/device")}/to-${first + 1 - i}/read`;
        return [
          buildFigure({ id, figure }),
          ...(gpuUuids.length === 1 ? [] : [buildFigure({ id: p2p, moved: "p2p", figure: figure * 8 })]),
        ];
      }),
    });

  it.each<[string, (day: number) => HistoryEntry, number]>([
    ["swap numbers", (day) => checkOf(day, day % 2 === 0 ? ["GPU-a", "GPU-b"] : ["GPU-b", "GPU-a"]), 4],
    ["get other numbers", (day) => checkOf(day, ["GPU-a", "GPU-b"], day < 10 ? 0 : 2), 4],
    ["are one with two numbers", (day) => checkOf(day, ["GPU-a"], day % 2), 1],
    ["sometimes lack the first", (day) => checkOf(day, day % 2 ? ["GPU-a", "GPU-b"] : ["GPU-b"]), 4],
    ["are measured by turns", (day) => checkOf(day, [day % 2 ? "GPU-a" : "GPU-b"]), 2],
  ])("with one trend for each cell if GPUs %s", (_, checkAt, count) => {
    const trends = trendsOf(
      Array.from({ length: 20 }, (_, day) => checkAt(day)),
      ["*"],
    );
    expect(trends).toHaveLength(count);
    expect(new Set(trends.map(({ name }) => name)).size).toBe(count);
    for (const { machine, steps, outages, points, median, memory, gpuUuids } of trends) {
      expect({ machine, steps, outages }).toEqual({ machine: null, steps: [], outages: [] });
      const changes = points.map(({ change }) => change);
      expect(Math.max(...changes) - Math.min(...changes)).toBeLessThan(0.01);
      expect(median! / rates[gpuUuids[0]!]!).toBeCloseTo(memory === "device" ? 8 : 1, 1);
    }
  });

  it("or, without a UUID, by its host's name and its number", () => {
    const entries = Array.from({ length: 40 }, (_, day) =>
      buildEntry(day, {
        machine: { hostName: [["node-1"], ["node-2"], []][day % 3]!, gpuUuids: [], pciAddresses: [] },
        series: [buildFigure({ figure: 50 - 10 * (day % 3) })],
      } as Partial<HistoryEntry>),
    );
    expect(trendsOf(entries)).toMatchObject([
      { name: "h2d pinned, node-1", machine: "node-1", steps: [], gpuUuids: [] },
      { name: "h2d pinned, node-2", machine: "node-2", steps: [] },
      { name: "h2d pinned, unknown host", machine: "unknown host", steps: [] },
    ]);
  });
});

it("only the newest 1000 checks of a long history are shown, and a note says so", () => {
  const entries = Array.from({ length: 1003 }, (_, day) => buildEntry(day));
  const { checks, notes } = describeEntries(entries, null, ["a note"]);
  expect([checks.length, checks[0]!.id]).toEqual([1000, "check-3"]);
  expect(notes).toEqual(["the oldest 3 checks are left out", "a note"]);
});

it("histories with findings, with one check and without checks match schema/history-v1.json", () => {
  const histories = [
    describeEntries(entriesOf({ [pinnedId]: { steps: { 30: -0.05 } } }), null, ["a note"]),
    describeEntries([buildEntry(0)]),
    describeEntries([]),
  ];
  for (const history of histories) expect(historySchemaErrors(history)).toBeNull();
  expect(historySchemaErrors({ ...histories[0], trends: 3 })).not.toBeNull();
});

it("a history whose trend has a check that the document lacks is refused", () => {
  const history = describeEntries(entriesOf({ [pinnedId]: { steps: { 30: -0.05 } } }));
  expect(historySchema.safeParse(history).success).toBe(true);
  const { error } = historySchema.safeParse({ ...history, checks: history.checks.slice(1) });
  expect(error?.issues).toMatchObject([{ message: "a trend has a check that the document lacks" }]);
});
