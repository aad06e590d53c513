import { describe, expect, it } from "vitest";
import { describeHistory } from "../../src/compare/history/courses.js";
import { cellId } from "../../src/results/cell-id.js";
import type { HistoryEntry, HistoryFigure } from "../../src/results/history-entry.js";
import { buildCourse, buildEntry, buildFigure, type CoursePart, pinnedId } from "../helpers/history.js";
import { historySchemaErrors } from "../helpers/schema-errors.js";

const idOf = (part: { direction?: "h2d" | "d2h"; memory?: "pinned" | "pageable"; workers?: number }) =>
  cellId({
    device: 0,
    direction: "h2d",
    memory: "pinned",
    sizeBytes: 65536,
    workers: 1,
    mode: "throughput",
    timer: "wall",
    cache: "cold",
    ...part,
  });

/** A history of these courses, each by the id of its cell. */
function entriesOf(
  courses: Readonly<Record<string, CoursePart>>,
  change: (day: number) => Partial<HistoryEntry> = () => ({}),
): HistoryEntry[] {
  const drawn = Object.entries(courses).map(([id, part], i) => ({
    id,
    factors: buildCourse({ seed: i + 1, ...part }),
  }));
  const days = Math.max(...drawn.map(({ factors }) => factors.length));
  return Array.from({ length: days }, (_, day) => {
    const series = drawn.flatMap(({ id, factors }): HistoryFigure[] =>
      day >= factors.length
        ? []
        : [buildFigure({ id, moved: id.includes("/d2h/") ? "d2h" : "h2d", figure: 50 * factors[day]! })],
    );
    return buildEntry(day, { series, ...change(day) });
  });
}

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null, notes: string[] = []) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes }, cells });

describe("a step of a group", () => {
  const workers = [1, 2, 4, 8];
  const courses = Object.fromEntries(
    workers.map((w) => [idOf({ workers: w }), { steps: { 30: -0.03 }, noise: 0.002 }]),
  );

  it("is reported once, with size, place and changed facts", () => {
    const entries = entriesOf(courses, (day) => ({
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
    const { courses: told, checks } = describeEntries(entries);
    expect(told).toMatchObject([
      { name: "h2d pinned", kind: "group", ids: workers.map((w) => idOf({ workers: w })), median: null },
    ]);
    const [{ steps, drifts, points, noise }] = told as [(typeof told)[0]];
    expect([drifts.length, points.length, checks.length]).toEqual([0, 60, 60]);
    expect(noise).toBeLessThan(0.004);
    const [startedBefore, startedAfter] = [29, 30].map((day) => entries[day]!.startedAt);
    const place = { before: 29, after: 30, earliest: 30, latest: 30, startedBefore, startedAfter };
    expect(steps).toMatchObject([place]);
    expect(steps[0]!.change).toBeCloseTo(-0.03, 2);
    expect(steps[0]!.low).toBeLessThan(steps[0]!.change);
    expect(steps[0]!.differences).toEqual([
      { fact: "driver", before: "570.1", after: "580.2" },
      { fact: "pinbench", before: "0.1.0", after: "0.2.0" },
      { fact: "host name", before: "node-1", after: "node-2" },
    ]);
  });

  it("has what changed between the checks that may be the first after it, if noise hides the place", () => {
    const part = { steps: { 30: -0.03 }, noise: 0.012 };
    const machineOf = (day: number) => ({
      hostName: [],
      gpuUuids: ["GPU-1"],
      pciAddresses: ["a", `b${day}`],
    });
    const entries = entriesOf({ [pinnedId]: part }, (day) => ({
      ...{ fingerprint: { driver: `${day}` }, machine: machineOf(day) },
    }));
    const [step] = describeEntries(entries, [pinnedId]).courses[0]!.steps;
    const { earliest, latest, before, after } = step!;
    expect([earliest < after, after < latest, before]).toEqual([true, true, after - 1]);
    expect(step!.differences).toEqual([
      { fact: "driver", before: `${earliest - 1}`, after: `${latest}` },
      { fact: "PCI address", before: `a, b${earliest - 1}`, after: `a, b${latest}` },
    ]);
  });

  it("is no step of the other groups", () => {
    const { courses: told } = describeEntries(
      entriesOf({ ...courses, [idOf({ direction: "d2h" })]: {}, [idOf({ memory: "pageable" })]: {} }),
    );
    expect(told.map(({ name, steps }) => [name, steps.length])).toEqual([
      ["h2d pinned", 1],
      ["d2h pinned", 0],
      ["h2d pageable", 0],
    ]);
  });

  it("is not found when cells are added or removed", () => {
    const slow = 0.1;
    const entries = entriesOf(courses).map((entry, day) => ({
      ...entry,
      // Another plan: a cell that is ten times as slow as the others takes the place of two. Every other check lacks a cell.
      series: entry.series
        .slice(day % 2, day < 40 ? 4 : 2)
        .concat(day < 40 ? [] : [buildFigure({ id: idOf({ workers: 16 }), figure: 50 * slow })]),
    }));
    const [group] = describeEntries(entries).courses;
    expect(group!.steps.map(({ after }) => after)).toEqual([30]);
  });
});

describe("a cell that has a step of its own", () => {
  const own = idOf({ workers: 4 });
  const courses = {
    [idOf({ workers: 1 })]: {},
    [idOf({ workers: 2 })]: {},
    [own]: { steps: { 20: -0.1 } },
  };

  it("is reported next to its group", () => {
    const { courses: told } = describeEntries(entriesOf(courses));
    expect(told.map(({ name, kind, steps }) => [name, kind, steps.map(({ after }) => after)])).toEqual([
      ["h2d pinned", "group", []],
      [own, "cell", [20]],
    ]);
    expect(told[1]!.median).toBeGreaterThan(40);
  });

  it("reports any requested cell by itself", () => {
    const { courses: told } = describeEntries(entriesOf(courses), ["*/w1/*", own]);
    expect(told.map(({ name, kind }) => [name, kind])).toEqual([
      [idOf({ workers: 1 }), "cell"],
      [own, "cell"],
    ]);
    expect(told[1]!.newest!.figure).toBeCloseTo(45, 0);
  });

  it("refuses a pattern that matches no cell", () => {
    expect(() => describeEntries(entriesOf(courses), ["*/staged/*"])).toThrow(
      'no cell of the checks in history matches "*/staged/*".',
    );
    expect(describeEntries([], ["*/staged/*"]).courses).toEqual([]);
  });
});

/** The steps of a course that has these levels again and again. */
const repeating = (...levels: number[]): NonNullable<CoursePart["steps"]> =>
  Object.fromEntries(
    Array.from({ length: 59 }, (_, i) => [
      i + 1,
      levels[(i + 1) % levels.length]! / levels[i % levels.length]! - 1,
    ]),
  );

describe("a cell of a group with a step at check 30", () => {
  const step = { 30: -0.1 };
  const pair = [idOf({ workers: 1 }), idOf({ workers: 2 })];
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
    ["two levels", repeating(1, 0.9), false],
    ["nothing", {}, true],
  ])("that has %s is told by its group: %s", (_, steps, isTold) => {
    const cells = [...pair.map((id) => [id, { steps: step }]), [idOf({ workers: 4 }), { steps }]];
    const { courses } = describeEntries(entriesOf(Object.fromEntries(cells)));
    expect(courses.map(({ kind }) => kind)).toEqual(isTold ? ["group"] : ["group", "cell"]);
  });
});

describe("a cell of a group without a step", () => {
  const placeOf = (first: number, last: number) => {
    const [startedFirst, startedLast] = [first, last].map((day) => buildEntry(day).startedAt);
    return { first, last, startedFirst, startedLast };
  };
  it.each<[string, CoursePart, object]>([
    ["a drift", { drift: [0, 60, -0.003] }, { drifts: [placeOf(0, 59)] }],
    ["an outage", { steps: { 20: -0.5, 22: 1 } }, { outages: [{ ...placeOf(20, 21), checks: 2 }] }],
  ])("that has %s is told by itself, unless all have", (_, part, finding) => {
    const coursesOf = (...parts: CoursePart[]) =>
      describeEntries(entriesOf(Object.fromEntries(parts.map((one, i) => [idOf({ workers: 2 ** i }), one]))))
        .courses;
    const none = { steps: [], drifts: [], outages: [] };
    expect(coursesOf({}, {}, part)).toMatchObject([
      { kind: "group", ...none },
      { kind: "cell", ...finding },
    ]);
    expect(coursesOf(part, part, part)).toMatchObject([{ kind: "group", ...none, ...finding }]);
  });
});

describe("a repeating pattern", () => {
  it.each([
    ["alternation", repeating(1, 0.85), { checksLow: 30 }],
    ["cycle", repeating(1, 0.96, 0.92, 0.88, 0.85), { period: 5 }],
  ])("is told once of a group, from its highest level to the lowest: %s", (kind, steps, more) => {
    const ids = [1, 2, 4].map((workers) => idOf({ workers }));
    const { courses } = describeEntries(entriesOf(Object.fromEntries(ids.map((id) => [id, { steps }]))));
    expect(courses).toMatchObject([{ kind: "group", pattern: { kind, ...more }, steps: [], outages: [] }]);
    expect(courses[0]!.pattern!.change).toBeCloseTo(-0.15, 2);
  });
});

it("a cell that repeats itself in another way than its group is told too", () => {
  const [turns, cycle] = [repeating(1, 0.85), repeating(1, 0.8, 0.6)];
  const steps = [turns, turns, cycle].map((one, i) => [idOf({ workers: i + 1 }), { steps: one }]);
  expect(describeEntries(entriesOf(Object.fromEntries(steps))).courses).toMatchObject([
    { kind: "group", pattern: { kind: "alternation" } },
    { kind: "cell", pattern: { kind: "cycle", period: 3 } },
  ]);
});

describe("the points of a course", () => {
  it.each([
    [[50, 50], [0, 0], null],
    [[50, 50, 40], [0, 0, -0.2], expect.any(Number)],
  ])("are changes from its median: %j", (figures, changes, noise) => {
    const entries = figures.map((figure, day) => buildEntry(day, { series: [buildFigure({ figure })] }));
    const [course] = describeEntries(entries).courses;
    for (const [i, { change }] of course!.points.entries()) expect(change).toBeCloseTo(changes[i]!, 12);
    expect(course).toMatchObject({ noise, newest: { deviation: null } });
  });
});

describe("a fall of a group at its end", () => {
  it.each<[string, (number | null)[], boolean]>([
    ["is found if its figures are certain", [0.001, 0.001, 0.001], true],
    ["is found if nobody knows how certain they are", [null, null, null], true],
    ["is none if the median cell may be off by as much", [0.2, 0.001, 0.2], false],
    ["is none if all cells of which that is known may be", [null, 0.2, null], false],
  ])("%s", (_, errors, isFound) => {
    const courses = errors.map((_, i) => [idOf({ workers: 2 ** i }), { checks: 30, steps: { 29: -0.2 } }]);
    const entries = entriesOf(Object.fromEntries(courses));
    const last = entries[29]!.series.map((one, i) => ({ ...one, logError: errors[i]! }));
    const [group] = describeEntries([...entries.slice(0, 29), { ...entries[29]!, series: last }]).courses;
    expect([group!.endStep !== null, group!.newest!.isBeyond]).toEqual([isFound, isFound]);
  });
});

describe("a slow drift", () => {
  it("is reported although consecutive checks differ by less than their noise", () => {
    const { courses } = describeEntries(
      entriesOf({ [pinnedId]: { checks: 200, drift: [50, 200, -0.0005], noise: 0.002 } }),
    );
    const [{ steps, drifts }] = courses as [(typeof courses)[0]];
    expect([steps.length, drifts.length]).toEqual([0, 1]);
    const [drift] = drifts;
    expect(drift!.last).toBe(199);
    expect(Math.abs(drift!.first - 50)).toBeLessThan(15);
    expect(drift!.change).toBeCloseTo((1 + drift!.perCheck) ** (199 - drift!.first) - 1, 9);
    expect(drift!.perCheck).toBeCloseTo(-0.0005, 4);
    expect(drift!.low).toBeLessThan(drift!.change);
    expect(drift!.high).toBeGreaterThan(drift!.change);
  });
});

describe("the newest check", () => {
  it("is compared with the median of the earlier ones, with its figure if it is of one cell", () => {
    const { courses } = describeEntries(entriesOf({ [pinnedId]: { checks: 30, steps: { 29: -0.5 } } }));
    const [{ newest, endStep }] = courses as [(typeof courses)[0]];
    expect(newest).toMatchObject({ check: 29, checksBefore: 29, isBeyond: true });
    expect(newest!.change).toBeCloseTo(-0.5, 2);
    expect(newest!.figure).toBeCloseTo(25, 0);
    expect(endStep).toMatchObject({ first: 29, last: 29, checks: 1 });
  });

  it("has no figure in a group of several cells, and no comparison if it is the first", () => {
    const two = { [idOf({})]: { checks: 10 }, [idOf({ workers: 2 })]: { checks: 10 } };
    expect(describeEntries(entriesOf(two)).courses[0]!.newest).toMatchObject({ figure: null });
    expect(describeEntries([buildEntry(0)]).courses).toMatchObject([{ newest: null, machine: null }]);
  });

  it("names the changed facts of the machine if the course steps there", () => {
    const entries = entriesOf({ [pinnedId]: { checks: 30, steps: { 28: -0.5 } } }, (day) => ({
      fingerprint: { driver: day < 28 ? "570.1" : "580.2" },
    }));
    expect(describeEntries(entries).courses[0]!.endStep).toMatchObject({
      checks: 2,
      startedFirst: entries[28]!.startedAt,
      differences: [{ fact: "driver", before: "570.1", after: "580.2" }],
    });
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
    const alone = describeEntries(entries, [pinnedId]).courses;
    const [{ steps, drifts, outages, endStep }] = alone as [(typeof alone)[0]];
    expect(steps.length + drifts.length + outages.length + Number(endStep !== null)).toBeGreaterThan(0);
    expect(describeEntries([...others, ...entries], [pinnedId]).courses).toEqual(
      JSON.parse(JSON.stringify(alone), later),
    );
  });
});

describe("what has a separate course", () => {
  it("the emulated device, modes, timers, cache states, devices, variants and directions of a bidir cell", () => {
    const bidir = pinnedId.replace("h2d", "bidir");
    const series = [
      buildFigure(),
      buildFigure({ id: pinnedId.replace("d0", "d1") }),
      buildFigure({ id: pinnedId.replace("throughput", "latency"), unit: "us" }),
      buildFigure({ id: pinnedId.replace("wall/cold", "event/warm") }),
      buildFigure({ id: `${pinnedId}/beside-compute` }),
      buildFigure({ id: bidir }),
      buildFigure({ id: bidir, moved: "sum" }),
    ];
    const entries = [
      buildEntry(0, { series }),
      buildEntry(1, { series: [buildFigure()], backend: "emulated" }),
    ];
    const { courses, notice } = describeEntries(entries);
    expect(courses.map(({ name }) => name)).toEqual([
      "h2d pinned, device 0, cuda",
      "h2d pinned, device 1, cuda",
      "h2d pinned latency, device 0, cuda",
      "h2d pinned, event timer, warm, device 0, cuda",
      "h2d pinned, beside compute, device 0, cuda",
      "bidir h2d pinned, device 0, cuda",
      "bidir sum pinned, device 0, cuda",
      "h2d pinned, device 0, emulated",
    ]);
    expect(notice).toContain("emulated device");
    expect(describeEntries(entries, ["*/bidir/*"]).courses.map(({ name }) => name)).toEqual([
      `${bidir} (h2d)`,
      `${bidir} (sum)`,
    ]);
  });

  it("checks that compared every copy: setting out to do so is no step", () => {
    const verifyOf = (check: number) => (check < 20 ? true : "every");
    const course = buildCourse({ checks: 40, steps: { 20: -0.3 } });
    const entries = course.map((factor, check) =>
      buildEntry(check, { verify: verifyOf(check), series: [buildFigure({ figure: 50 * factor })] }),
    );
    const { courses } = describeEntries(entries);
    expect(courses).toMatchObject([
      { name: "h2d pinned", comparesEveryCopy: false, steps: [] },
      { name: "h2d pinned, every copy compared", comparesEveryCopy: true, steps: [] },
    ]);
    expect(courses.map(({ points }) => points.length)).toEqual([20, 20]);
    expect(describeEntries(entries, [pinnedId]).courses.map(({ name }) => name)).toEqual([
      pinnedId,
      `${pinnedId} (every copy compared)`,
    ]);
  });

  it("a cell whose id this pinbench does not know, which is left out", () => {
    const series = [buildFigure({ id: "d0/h2d/hologram/1/w1/throughput/wall/cold" }), buildFigure()];
    expect(describeEntries([buildEntry(0, { series })]).courses).toHaveLength(1);
  });
});

describe("schema/history-v1.json", () => {
  it("accepts histories with findings, without and without checks", () => {
    const histories = [
      describeEntries(entriesOf({ [pinnedId]: { steps: { 30: -0.05 } } }), null, ["a note"]),
      describeEntries([buildEntry(0)]),
      describeEntries([]),
    ];
    for (const history of histories) expect(historySchemaErrors(history)).toBeNull();
    expect(histories[0]).toMatchObject({ path: "history", notes: ["a note"], tool: { version: "0.1.0" } });
    expect(historySchemaErrors({ ...histories[0], courses: 3 })).not.toBeNull();
  });
});
