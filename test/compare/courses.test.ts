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
      version: day < 30 ? "0.1.0" : "0.2.0",
      fingerprint: { driver: day < 30 ? "570.1" : "580.2", kernel: "6.1", governor: day < 10 ? null : "x" },
      machine: {
        hostName: [day < 30 ? "node-1" : "node-2"],
        gpuUuids: ["GPU-1"],
        pciAddresses: day < 30 ? [] : ["0000:00:06.0"],
      },
    }));
    const { courses: told, checks } = describeEntries(entries);
    expect(checks).toHaveLength(60);
    expect(told).toMatchObject([
      { name: "h2d pinned", kind: "group", ids: workers.map((w) => idOf({ workers: w })), median: null },
    ]);
    const [{ steps, drifts, points, noise }] = told as [(typeof told)[0]];
    expect(drifts).toEqual([]);
    expect(points).toHaveLength(60);
    expect(noise).toBeLessThan(0.004);
    expect(steps).toMatchObject([
      { before: 29, after: 30, earliest: 30, latest: 30, startedAfter: entries[30]!.startedAt },
    ]);
    expect(steps[0]!.change).toBeCloseTo(-0.03, 2);
    expect(steps[0]!.low).toBeLessThan(steps[0]!.change);
    expect(steps[0]!.differences).toEqual([
      { fact: "driver", before: "570.1", after: "580.2" },
      { fact: "pinbench", before: "0.1.0", after: "0.2.0" },
      { fact: "host name", before: "node-1", after: "node-2" },
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
      // Another plan: a cell that is ten times as slow as the others takes the place of two.
      series: entry.series
        .slice(0, day < 40 ? 4 : 2)
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
  });

  it("refuses a pattern that matches no cell", () => {
    expect(() => describeEntries(entriesOf(courses), ["*/staged/*"])).toThrow(
      'no cell of the checks in history matches "*/staged/*".',
    );
    expect(describeEntries([], ["*/staged/*"]).courses).toEqual([]);
  });
});

describe("a slow drift", () => {
  it("is reported although consecutive checks differ by less than their noise", () => {
    const { courses } = describeEntries(
      entriesOf({ [pinnedId]: { checks: 200, drift: [50, 200, -0.0005], noise: 0.002 } }),
    );
    const [{ steps, drifts }] = courses as [(typeof courses)[0]];
    expect(steps).toEqual([]);
    expect(drifts).toHaveLength(1);
    const [drift] = drifts;
    expect(drift!.last).toBe(199);
    expect(Math.abs(drift!.first - 50)).toBeLessThan(15);
    expect(drift!.change).toBeCloseTo(-0.073, 1);
    expect(drift!.perCheck).toBeCloseTo(-0.0005, 4);
    expect(drift!.low).toBeLessThan(drift!.change);
    expect(drift!.high).toBeGreaterThan(drift!.change);
  });
});

/** Checks of two machines, which take turns; the second one has figures `factor` times as high. */
const inTurns = (factor: number) =>
  buildCourse({ checks: 40 }).map((noise, day) =>
    buildEntry(day, {
      machine:
        day % 2 === 0
          ? { hostName: ["node-1"], gpuUuids: ["GPU-1"], pciAddresses: [] }
          : { hostName: ["node-2"], gpuUuids: ["GPU-2"], pciAddresses: [] },
      series: [buildFigure({ figure: 50 * noise * (day % 2 === 0 ? 1 : factor) })],
    }),
  );

describe("machines that alternate in one history", () => {
  it("have separate courses, and the slower one is named with its distance", () => {
    const { courses } = describeEntries(inTurns(0.5));
    expect(courses).toMatchObject([
      { name: "h2d pinned, node-1", machine: "node-1", pattern: null, behind: null },
      { name: "h2d pinned, node-2", machine: "node-2", pattern: null, behind: { machine: "node-1" } },
    ]);
    expect(courses[1]!.behind!.change).toBeCloseTo(-0.5, 2);
    expect(courses.map(({ points }) => points.slice(0, 2).map(({ check }) => check))).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  it("are not reported for differences that machines of one kind have", () => {
    expect(describeEntries(inTurns(0.97)).courses.map(({ behind }) => behind)).toEqual([null, null]);
  });

  it("are named by their GPUs if they share a host, and not at all if there is one", () => {
    const oneHost = inTurns(1).map((entry) => ({
      ...entry,
      machine: { ...entry.machine, hostName: ["node-1"] },
    }));
    expect(describeEntries(oneHost).courses.map(({ machine }) => machine)).toEqual([
      "node-1, GPU-1",
      "node-1, GPU-2",
    ]);
    expect(describeEntries([buildEntry(0)]).courses.map(({ machine }) => machine)).toEqual([null]);
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
    expect(describeEntries([buildEntry(0)]).courses[0]!.newest).toBeNull();
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

describe("an outage of one cell", () => {
  it("is reported next to its group, but not if the whole group has it", () => {
    const outage = { checks: 40, steps: { 20: -0.5, 22: 1 } };
    const ids = [1, 2, 4].map((workers) => idOf({ workers }));
    const all = describeEntries(entriesOf(Object.fromEntries(ids.map((id) => [id, outage])))).courses;
    expect(all).toMatchObject([{ kind: "group", outages: [{ first: 20, last: 21, checks: 2 }] }]);
    const one = describeEntries(
      entriesOf({ [ids[0]!]: outage, [ids[1]!]: { checks: 40 }, [ids[2]!]: { checks: 40 } }),
    );
    expect(one.courses.map(({ name, outages }) => [name, outages.length])).toEqual([
      ["h2d pinned", 0],
      [ids[0], 1],
    ]);
  });
});

describe("what has a separate course", () => {
  it("the emulated device, modes, timers, cache states, devices and directions of a bidir cell", () => {
    const bidir = pinnedId.replace("h2d", "bidir");
    const series = [
      buildFigure(),
      buildFigure({ id: pinnedId.replace("d0", "d1") }),
      buildFigure({ id: pinnedId.replace("throughput", "latency"), unit: "us" }),
      buildFigure({ id: pinnedId.replace("wall/cold", "event/warm") }),
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
    expect(historySchemaErrors({ ...histories[0], courses: 3 })).not.toBeNull();
  });
});
