import { describe, expect, it } from "vitest";
import { courseOf } from "../../src/compare/history/course-of-points.js";
import { describeHistory } from "../../src/compare/history/courses.js";
import { cellId } from "../../src/results/cell-id.js";
import type { HistoryEntry, HistoryFigure } from "../../src/results/history-entry.js";
import { farDistances } from "../../src/stats/far-runs.js";
import { fitPieces } from "../../src/stats/piecewise-fit.js";
import { frozen } from "../helpers/frozen.js";
import { buildCourse, buildEntry, buildFigure, type CoursePart, pinnedId } from "../helpers/history.js";
import { historySchemaErrors } from "../helpers/schema-errors.js";

const plain = { device: 0, direction: "h2d", memory: "pinned", sizeBytes: 65536, workers: 1 } as const;
const idOf = (part: { direction?: "h2d" | "d2h"; memory?: "pinned" | "pageable"; workers?: number }) =>
  cellId({ ...plain, mode: "throughput", cache: "cold", ...part });

/** A history of these courses, each by the id of its cell. */
function entriesOf(
  courses: Readonly<Record<string, CoursePart>>,
  change: (day: number) => Partial<HistoryEntry> = () => ({}),
): HistoryEntry[] {
  const drawn = Object.entries(courses).map(([id, part], i) => ({
    ...{ id, factors: buildCourse({ seed: i + 1, ...part }) },
  }));
  const days = Math.max(...drawn.map(({ factors }) => factors.length));
  return Array.from({ length: days }, (_, day) => {
    const series = drawn.flatMap(({ id, factors }): HistoryFigure[] => {
      const moved = id.includes("/d2h/") ? "d2h" : "h2d";
      return day >= factors.length ? [] : [buildFigure({ id, moved, figure: 50 * factors[day]! })];
    });
    return buildEntry(day, { series, ...change(day) });
  });
}

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null, notes: string[] = []) =>
  describeHistory(frozen({ version: "0.1.0", path: "history", history: { entries, notes }, cells }));
const coursesOf = (...args: Parameters<typeof describeEntries>) => describeEntries(...args).courses;
/** The courses of cells of one group, which have these courses. */
const coursesOfGroup = (...parts: CoursePart[]) =>
  coursesOf(entriesOf(Object.fromEntries(parts.map((part, i) => [idOf({ workers: 2 ** i }), part]))));

describe("a step of a group", () => {
  const workers = [1, 2, 4, 8];
  const steps = Object.fromEntries(workers.map((w) => [idOf({ workers: w }), { steps: { 30: -0.03 } }]));

  it("is reported once, with size, place and changed facts", () => {
    const entries = entriesOf(steps, (day) => ({
      // A fact that nobody knew before, and one that nobody knows now, are no changes.
      version: day < 30 ? "0.1.0" : "0.2.0",
      fingerprint:
        day < 30 ? { driver: "570.1", kernel: "6.1", governor: null } : { driver: "580.2", governor: "x" },
      machine: {
        hostName: [day < 30 ? "node-1" : "node-2"],
        gpuUuids: ["GPU-1"],
        pciAddresses: day < 30 ? [] : ["0000:00:06.0"],
      },
    }));
    const { courses, checks } = describeEntries(entries);
    expect(checks).toHaveLength(60);
    const [startedBefore, startedAfter] = [29, 30].map((day) => entries[day]!.startedAt);
    expect(courses).toMatchObject([
      {
        ...{ name: "h2d pinned", kind: "group", ids: workers.map((w) => idOf({ workers: w })), median: null },
        ...{ drifts: [], points: { length: 60 } },
        steps: [
          {
            ...{ before: 29, after: 30, earliest: 30, latest: 30, startedBefore, startedAfter },
            change: expect.closeTo(-0.03, 2),
            differences: [
              { fact: "driver", before: "570.1", after: "580.2" },
              { fact: "pinbench", before: "0.1.0", after: "0.2.0" },
              { fact: "host name", before: "node-1", after: "node-2" },
            ],
          },
        ],
      },
    ]);
    const [{ steps: found, noise }] = courses as [(typeof courses)[0]];
    expect(found[0]!.low).toBeLessThan(found[0]!.change);
    expect(noise).toBeLessThan(0.004);
  });

  it("has what changed between the checks that may be the first after it, if noise hides the place", () => {
    const machineOf = (day: number) => ({
      hostName: [],
      gpuUuids: ["GPU-1"],
      pciAddresses: ["a", `b${day}`],
    });
    const entries = entriesOf({ [pinnedId]: { steps: { 30: -0.03 }, noise: 0.012 } }, (day) => ({
      ...{ fingerprint: { driver: `${day}` }, machine: machineOf(day) },
    }));
    const { earliest, latest, before, after, differences } = coursesOf(entries, [pinnedId])[0]!.steps[0]!;
    expect([earliest < after, after < latest, before]).toEqual([true, true, after - 1]);
    expect(differences).toEqual([
      { fact: "driver", before: `${earliest - 1}`, after: `${latest}` },
      { fact: "PCI address", before: `a, b${earliest - 1}`, after: `a, b${latest}` },
    ]);
  });

  it("is not found when cells are added or removed", () => {
    const entries = entriesOf(steps).map((entry, day) => ({
      ...entry,
      // Another plan: a cell that is ten times as slow as the others takes the place of two. Every other check lacks a cell.
      series: entry.series
        .slice(day % 2, day < 40 ? 4 : 2)
        .concat(day < 40 ? [] : [buildFigure({ id: idOf({ workers: 16 }), figure: 5 })]),
    }));
    expect(coursesOf(entries)[0]!.steps.map(({ after }) => after)).toEqual([30]);
  });
});

describe("a cell of a group with a step at check 30", () => {
  const step = { 30: -0.1 };
  it.each<[string, NonNullable<CoursePart["steps"]>, boolean]>([
    ["a step there", step, true],
    ["a step three checks later", { 33: -0.1 }, true],
    ["a step three checks earlier", { 27: -0.1 }, true],
    ["a step four checks later", { 34: -0.1 }, false],
    ["a step four checks earlier", { 26: -0.1 }, false],
    ["a step there, to higher figures", { 30: 0.1 }, false],
    ["a second step", { 30: -0.1, 45: -0.1 }, false],
    ["a second step at its end", { 30: -0.1, 58: -0.3 }, false],
    ["an outage there", { 30: -0.5, 32: 1 }, false],
    ["nothing", {}, true],
  ])("that has %s is told by its group: %s", (_, steps, isTold) => {
    const kinds = coursesOfGroup({ steps: step }, { steps: step }, { steps }).map(({ kind }) => kind);
    expect(kinds).toEqual(isTold ? ["group"] : ["group", "cell"]);
  });
});

describe("a cell of a group without a step", () => {
  const placeOf = (first: number, last: number) => {
    const [startedFirst, startedLast] = [first, last].map((day) => buildEntry(day).startedAt);
    return { first, last, startedFirst, startedLast };
  };
  const none = { steps: [], drifts: [], outages: [] };

  it.each<[string, CoursePart, object]>([
    ["a drift", { drift: [0, 60, -0.003] }, { drifts: [placeOf(0, 59)] }],
    ["an outage", { steps: { 20: -0.5, 22: 1 } }, { outages: [{ ...placeOf(20, 21), checks: 2 }] }],
    ["a step", { steps: { 20: -0.1 } }, { steps: [{ after: 20 }], median: expect.closeTo(46, -1) }],
  ])("that has %s is told by itself, unless all have", (_, part, finding) => {
    expect(coursesOfGroup({}, {}, part)).toMatchObject([
      { kind: "group", ...none },
      { kind: "cell", name: idOf({ workers: 4 }), ...finding },
    ]);
    expect(coursesOfGroup(part, part, part)).toHaveLength(1);
  });
});

it("cells asked for have courses of their own, and a pattern without any is refused", () => {
  const parts = {
    [idOf({})]: {},
    [idOf({ workers: 2 })]: {},
    [idOf({ workers: 4 })]: { steps: { 20: -0.1 } },
  };
  const found = coursesOf(entriesOf(parts), ["*/w1/*", idOf({ workers: 4 })]);
  expect(found).toMatchObject([
    { name: idOf({}), kind: "cell" },
    { name: idOf({ workers: 4 }), kind: "cell", newest: { figure: expect.closeTo(45, 0) } },
  ]);
  expect(() => describeEntries(entriesOf(parts), ["*/staged/*"])).toThrow(
    'no cell of the checks in history matches "*/staged/*".',
  );
  expect(coursesOf([], ["*/staged/*"])).toEqual([]);
});

describe("a course's points", () => {
  it.each([
    [[50, 50], [0, 0], null],
    [[50, 50, 40], [0, 0, -0.2], expect.any(Number)],
  ])("are changes from its median: %j", (figures, changes, noise) => {
    const entries = figures.map((figure, day) => buildEntry(day, { series: [buildFigure({ figure })] }));
    const points = changes.map((change) => ({ change: expect.closeTo(change, 12) }));
    expect(coursesOf(entries)).toMatchObject([{ points, noise, newest: { deviation: null } }]);
  });

  it("and its noise, and that before its newest check, are relative", () => {
    // So noisy that a logarithm is something else.
    const values = [0, 0.9, 0.3, 0.6, 0.1, 0.8, 0.4, 0.7, 0.2, 0.5];
    const entries = values.map((_, day) => buildEntry(day));
    const points = frozen(values.map((value, check) => ({ check, value, error: null })));
    const of = (log: number) => expect.closeTo(Math.expm1(log), 10);
    expect(courseOf(points, [], entries)).toMatchObject({
      noise: of(fitPieces(points)!.deviation),
      newest: {
        ...{ check: 9, checksBefore: 9, startedAt: entries[9]!.startedAt, isBeyond: false },
        ...{ deviation: of(farDistances(values.slice(0, 9))!.deviation), change: of(0.5 - 0.4) },
      },
      points: [{}, { change: of(0.9 - 0.45) }, ...Array(8).fill({})],
    });
  });
});

it("a slow drift is reported although consecutive checks differ by less than their noise", () => {
  const [{ steps, drifts }] = coursesOf(
    entriesOf({ [pinnedId]: { checks: 200, drift: [50, 200, -0.0005] } }),
  ) as [ReturnType<typeof coursesOf>[0]];
  expect([steps.length, drifts.length]).toEqual([0, 1]);
  const { first, last, change, low, high, perCheck } = drifts[0]!;
  expect(last).toBe(199);
  expect(Math.abs(first - 50)).toBeLessThan(15);
  expect(change).toBeCloseTo((1 + perCheck) ** (199 - first) - 1, 9);
  expect(perCheck).toBeCloseTo(-0.0005, 4);
  expect([low < change, change < high]).toEqual([true, true]);
});

describe("the newest check", () => {
  it("is compared with the median of the earlier ones, with its figure if it is of one cell", () => {
    expect(coursesOf(entriesOf({ [pinnedId]: { checks: 30, steps: { 29: -0.5 } } }))).toMatchObject([
      {
        newest: {
          ...{ check: 29, checksBefore: 29, isBeyond: true },
          ...{ change: expect.closeTo(-0.5, 2), figure: expect.closeTo(25, 0) },
        },
        endStep: null,
      },
    ]);
    expect(coursesOfGroup({ checks: 10 }, { checks: 10 })[0]!.newest).toMatchObject({ figure: null });
    expect(coursesOf([buildEntry(0)])).toMatchObject([{ newest: null, machine: null }]);
  });

  it("has the changed facts of the machine if the course steps there", () => {
    const entries = entriesOf({ [pinnedId]: { checks: 30, steps: { 28: -0.5 } } }, (day) => ({
      fingerprint: { driver: day < 28 ? "570.1" : "580.2" },
    }));
    expect(coursesOf(entries)[0]!.endStep).toMatchObject({
      ...{ checks: 2, startedFirst: entries[28]!.startedAt },
      differences: [{ fact: "driver", before: "570.1", after: "580.2" }],
    });
  });

  it.each<[string, (number | null)[], boolean]>([
    ["found if its figures are certain", [0.001, 0.001, 0.001], true],
    ["found if nobody knows how certain they are", [null, null, null], true],
    ["none if the median cell may be off by as much", [0.2, 0.001, 0.2], false],
    ["none if all cells of which that is known may be", [null, 0.2, null], false],
  ])("of a group is a fall that is %s", (_, errors, isFound) => {
    const parts = errors.map((_, i) => [idOf({ workers: 2 ** i }), { checks: 30, steps: { 29: -0.2 } }]);
    const entries = entriesOf(Object.fromEntries(parts));
    const last = entries[29]!.series.map((one, i) => ({ ...one, logError: errors[i]! }));
    const [group] = coursesOf([...entries.slice(0, 29), { ...entries[29]!, series: last }]);
    expect(group!.newest!.isBeyond).toBe(isFound);
  });
});

describe("a course that the first checks lack", () => {
  const lacking = 5;
  const checkKeys = ["check", "first", "last", "before", "after", "earliest", "latest"];
  const later = (key: string, value: unknown) =>
    checkKeys.includes(key) && typeof value === "number" ? value + lacking : value;

  it.each<[string, CoursePart]>([
    ["a step", { steps: { 30: -0.05 } }],
    ["a drift", { drift: [20, 50, -0.004] }],
    ["an outage", { steps: { 30: -0.5, 32: 1 } }],
    ["a step at the end", { steps: { 58: -0.5 } }],
  ])("has %s at the same checks, whatever their numbers are", (_, part) => {
    // Each check has its own driver, so that differences say between which two of them they are.
    const entries = entriesOf({ [pinnedId]: part }, (day) => ({ fingerprint: { driver: `${day}` } }));
    const others = Array.from({ length: lacking }, (_, i) =>
      buildEntry(i - lacking, { series: [buildFigure({ id: idOf({ direction: "d2h" }), moved: "d2h" })] }),
    );
    const alone = coursesOf(entries, [pinnedId]);
    const [{ steps, drifts, outages, endStep }] = alone as [(typeof alone)[0]];
    expect(steps.length + drifts.length + outages.length + Number(endStep !== null)).toBeGreaterThan(0);
    expect(coursesOf([...others, ...entries], [pinnedId])).toEqual(JSON.parse(JSON.stringify(alone), later));
  });
});

describe("what has a separate course", () => {
  it("devices, backends, modes, cache states, directions and variants, but no unknown cell", () => {
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
    const { courses, notice } = describeEntries([buildEntry(0, { series }), emulated]);
    expect(courses.map(({ name }) => name)).toEqual([
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
    const names = coursesOf([buildEntry(0, { series })], ["*/bidir/*"]).map(({ name }) => name);
    expect(names).toEqual([`${bidir} (h2d)`, `${bidir} (sum)`]);
  });

  it("checks that compared every copy: setting out to do so is no step", () => {
    const entries = buildCourse({ checks: 40, steps: { 20: -0.3 } }).map((factor, check) =>
      buildEntry(check, {
        ...{
          verify: check < 20 ? ("last" as const) : ("every" as const),
          series: [buildFigure({ figure: 50 * factor })],
        },
      }),
    );
    expect(coursesOf(entries)).toMatchObject([
      { name: "h2d pinned", comparesEveryCopy: false, steps: [], points: { length: 20 } },
      { name: "h2d pinned, every copy compared", comparesEveryCopy: true, steps: [], points: { length: 20 } },
    ]);
    const names = coursesOf(entries, [pinnedId]).map(({ name }) => name);
    expect(names).toEqual([pinnedId, `${pinnedId} (every copy compared)`]);
  });
});

/** Checks of machines that take turns; each machine multiplies its figures by a factor of its own. */
const ofMachines = (factors: readonly number[], part: Partial<HistoryFigure> = {}, noise = 0.002) =>
  buildCourse({ checks: 20 * factors.length, noise }).map((drawn, day) => {
    const i = day % factors.length;
    return buildEntry(day, {
      machine: { hostName: [`node-${i + 1}`], gpuUuids: [`GPU-${i + 1}`], pciAddresses: [] },
      series: [buildFigure({ figure: 50 * drawn * factors[i]!, ...part })],
    });
  });

describe("one machine whose GPUs are counted in two orders", () => {
  const rates: Readonly<Record<string, number>> = { "GPU-a": 50, "GPU-b": 25 };
  /** A check of these GPUs, whose first device has this number. */
  const checkOf = (day: number, gpuUuids: readonly string[], first = 0) =>
    buildEntry(day, {
      machine: { hostName: ["node-1"], gpuUuids: [...gpuUuids], pciAddresses: [] },
      series: gpuUuids.flatMap((uuid, i) => {
        const plainId = pinnedId.replace("d0", `d${first + i}`);
        const figure = rates[uuid]! * (1 + 0.001 * (day % 3));
        const peer = first + (i === 0 ? 1 : 0);
        const p2p = `${plainId.replace("h2d/pinned", "p2p/device")}/to-${peer}/read`;
        return [
          buildFigure({ id: plainId, figure }),
          ...(gpuUuids.length === 1 ? [] : [buildFigure({ id: p2p, moved: "p2p", figure: figure * 8 })]),
        ];
      }),
    });

  it.each<[string, (day: number) => HistoryEntry, number, object]>([
    ["in turn", (day) => checkOf(day, day % 2 === 0 ? ["GPU-a", "GPU-b"] : ["GPU-b", "GPU-a"]), 4, {}],
    ["with other numbers", (day) => checkOf(day, ["GPU-a", "GPU-b"], day < 10 ? 0 : 2), 4, {}],
    ["one alone", (day) => checkOf(day, ["GPU-a"], day % 2), 1, {}],
  ])("has one course for each GPU, %s", (_, checkAt, count) => {
    const courses = coursesOf(
      Array.from({ length: 20 }, (_, day) => checkAt(day)),
      ["*"],
    );
    expect(courses).toHaveLength(count);
    for (const course of courses) {
      expect(course).toMatchObject({ machine: null, behind: null, steps: [], outages: [] });
      const isHalf = course.device === 1;
      const all = course.points.map(({ change }) => change);
      expect(Math.max(...all) - Math.min(...all)).toBeLessThan(0.01);
      expect(course.median).toBeCloseTo((course.ids[0]!.includes("p2p") ? 8 : 1) * (isHalf ? 25 : 50), -0.5);
    }
  });
});

describe("machines that alternate in one history", () => {
  const latency = { id: pinnedId.replace("throughput", "latency"), unit: "us" } as const;

  it("have separate courses, and the slower one is named with its distance", () => {
    const courses = coursesOf(ofMachines([1, 0.5]));
    const change = expect.closeTo(-0.5, 2);
    expect(courses).toMatchObject([
      { name: "h2d pinned, node-1", machine: "node-1", behind: null },
      { name: "h2d pinned, node-2", machine: "node-2", behind: { machine: "node-1", change } },
    ]);
    const checks = courses.map(({ points }) => points.slice(0, 2).map(({ check }) => check));
    expect(checks.flat()).toEqual([0, 2, 1, 3]);
    const names = coursesOf(ofMachines([1, 0.97]), [pinnedId]).map(({ name }) => name);
    expect(names).toEqual([`${pinnedId} (node-1)`, `${pinnedId} (node-2)`]);
  });

  it.each<[string, number[], Partial<HistoryFigure>, number, (string | undefined)[]]>([
    ["compared with the fastest", [0.5, 0.7, 1, 0.8], {}, 0.002, ["node-3", "node-3", undefined, "node-3"]],
    ["slower with more time", [1, 2], latency, 0.002, [undefined, "node-1"]],
    ["not told for what machines of one kind differ by", [1, 0.97], {}, 0.002, [undefined, undefined]],
    ["not told within the noise of their checks", [1, 0.92], {}, 0.03, [undefined, undefined]],
    ["told beyond it", [1, 0.8], {}, 0.03, [undefined, "node-1"]],
  ])("are %s", (_, factors, part, noise, behind) => {
    expect(coursesOf(ofMachines(factors, part, noise)).map((one) => one.behind?.machine)).toEqual(behind);
  });

  it.each<[string, (entry: HistoryEntry) => HistoryEntry]>([
    ["device", (entry) => ({ ...entry, backend: "emulated" })],
    ["direction", (entry) => ({ ...entry, series: entry.series.map((one) => ({ ...one, moved: "sum" })) })],
    ["way of comparing copies", (entry) => ({ ...entry, verify: "every" })],
  ])("are not compared with those of another %s", (_, other) => {
    const entries = ofMachines([0.5, 1], { id: pinnedId.replace("h2d", "bidir") });
    expect(coursesOf(entries)[0]!.behind).not.toBeNull();
    const unlike = entries.map((entry, day) => (day % 2 === 0 ? entry : other(entry)));
    expect(coursesOf(unlike).map(({ behind }) => behind)).toEqual([null, null]);
  });

  it.each([
    ["GPU too if they share a host", [["a"], ["G1"]], [["a"], ["G2"]], ["a, G1", "a, G2"]],
    ["GPU if no host is known", [[], ["G1"]], [["b"], ["G2"]], ["G1", "b"]],
    ["host if no GPU is known", [["a"], []], [["b"], []], ["a", "b"]],
    ["nothing if nothing is known", [[], []], [["b"], ["G2"]], ["unknown machine", "b"]],
  ])("are named by %s, as in their last checks", (_, first, second, names) => {
    const entries = ofMachines([1, 1]).map((entry, day) => {
      const [hostName, gpuUuids] = (day % 2 === 0 ? first : second) as [string[], string[]];
      const isOld = day < 2 && gpuUuids.length > 0;
      return { ...entry, machine: { hostName: isOld ? ["old"] : hostName, gpuUuids, pciAddresses: [] } };
    });
    expect(coursesOf(entries).map(({ machine }) => machine)).toEqual(names);
  });
});

it("histories with findings, and without checks, keep schema/history-v1.json", () => {
  const histories = [
    describeEntries(entriesOf({ [pinnedId]: { steps: { 30: -0.05 } } }), null, ["a note"]),
    describeEntries([buildEntry(0)]),
    describeEntries([]),
  ];
  for (const history of histories) expect(historySchemaErrors(history)).toBeNull();
  expect(histories[0]).toMatchObject({ path: "history", notes: ["a note"], tool: { version: "0.1.0" } });
  expect(historySchemaErrors({ ...histories[0], courses: 3 })).not.toBeNull();
});
