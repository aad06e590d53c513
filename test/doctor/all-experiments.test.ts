import { describe, expect, it } from "vitest";
import { diagnoseMachine } from "../../src/doctor/diagnose-machine.js";
import type { MeasureRequest, PinningKind } from "../../src/native/contract.js";
import { healthyHealth, rates } from "../helpers/examination.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import {
  FakeSession,
  MiB,
  nativeError,
  plannedCell,
  withStoppedClock,
  withWrongData,
} from "../measure/support.js";
import { examinedAll, type OpenSession, preparedOn, twoNodes, usualNs } from "./examined.js";

/** Examinations by `pinbench doctor`: with time for all experiments, and with too little. */

withStoppedClock();

const memory: PinningKind[] = ["pinned", "pageable", "registered"];
const near = (h2d: number, d2h = h2d) => rates(expect.closeTo(h2d, 6), expect.closeTo(d2h, 6));
const timesAsLong = (times: (request: MeasureRequest, way: string) => number) =>
  new FakeSession((request, _, way) => usualNs * times(request, way));

describe("an examination of several devices", () => {
  it("measures each device's rates alone, together, both ways and from each memory, and its latencies", async () => {
    const activities: string[] = [];
    const openSession: OpenSession = async ({ device }) => {
      const ofMemory: Partial<Record<string, number>> = { pageable: 4, registered: 1.05 };
      const session = timesAsLong(({ memory: of, company, direction }, way) => {
        const disturbed = (company === undefined ? 1 : 1.5) * (direction === "bidir" ? 1.2 : 1);
        return (1 + device / 10) * (way === "d2h" ? 1.02 : 1) * (ofMemory[of] ?? 1) * disturbed;
      });
      const measure = session.measure.bind(session);
      session.measure = async (request) => {
        const { columns, ...result } = await measure(request);
        const quarter = (ns: Float64Array) => ns.map((one) => one / 4);
        const link = { ...healthyHealth.link!, width: 8 + device };
        return {
          ...result,
          link,
          columns: columns.map((one) => ({ ...one, hostNs: quarter(one.durationNs) })),
        };
      };
      session.measureFirstCopy = async (restMs = 0) => (restMs > 0 ? 30_000 : 8_000);
      return session;
    };
    const { subjects, experiments } = await examinedAll(openSession, fixtureRoot(), false, 2, undefined, {
      memory,
      onActivity: (text) => activities.push(text),
    });
    expect(experiments).toMatchObject({ together: 2, lost: null, omitted: [] });
    for (const [device, { measured, failure }] of subjects.entries()) {
      const rate = 55 / (1 + device / 10);
      const of = (times: number) => near(rate / times, rate / times / 1.02);
      expect(failure).toBeNull();
      expect(measured).toMatchObject({
        ...{ pinned: of(1), pageable: of(4), together: of(1.5), bothWays: of(1.2) },
        registered: { rates: of(1.05), refused: null },
        latency: { backToBackUs: 8, afterRestUs: 30 },
        hostShare: { h2d: 0.25, d2h: 0.25 },
      });
    }
    expect(activities).toContain("pinned copies of device 1");
    expect(activities).toContain("copies of all devices at once");
  });

  it("measures all devices together again if one is slow, and keeps the better rate of each", async () => {
    const looks = [0, 0];
    const openSession: OpenSession = async ({ device }) =>
      timesAsLong(({ company }) => {
        if (company === undefined) return 1;
        // Device 1 is slow in the first two copies, one of each direction, and device 0 in the others.
        return Math.ceil(++looks[device]! / 9) > 2 === (device === 0) ? 3 : 1.06;
      });
    const { subjects } = await examinedAll(openSession, fixtureRoot(), false, 2, undefined, {
      facts: { name: "NVIDIA H200" },
    });
    expect(subjects.map(({ measured }) => measured.together)).toEqual([near(55 / 1.06), near(55 / 1.06)]);
    expect(looks).toEqual([4 * 9, 4 * 9]);
  });

  it("leaves a failed device out of simultaneous copies, which need at least two devices", async () => {
    const openSession: OpenSession = async ({ device }) => {
      const session = timesAsLong(() => 1);
      session.beforeMeasure = () => {
        if (device === 0) throw nativeError("CUDA_ERROR_UNKNOWN");
        return {};
      };
      return session;
    };
    const { subjects, experiments } = await examinedAll(openSession, fixtureRoot(), false, 3);
    expect(experiments.together).toBe(2);
    expect(subjects.map(({ measured }) => measured.together)).toEqual([null, near(55), near(55)]);
    const alone = await examinedAll(openSession, fixtureRoot(), false, 2);
    expect(alone.experiments.together).toBe(0);
    expect(alone.subjects[1]!.measured.together).toBeNull();
  });
});

describe("copies both ways at once", () => {
  async function bothWays(kept: (visit: number) => number) {
    let visits = 0;
    const reserved: number[][] = [];
    const openSession: OpenSession = async () => {
      const session = timesAsLong(({ direction }, way) => {
        if (direction !== "bidir") return 1;
        if (way === "h2d") visits += 1;
        return 1 / kept(Math.ceil(visits / 3));
      });
      const lanes: number[] = [];
      reserved.push(lanes);
      const reserve = session.reserveHost.bind(session);
      const counting = async (
        ...[, { chunksOfWorker }]: [unknown, { chunksOfWorker: readonly number[] }]
      ) => {
        lanes.push(chunksOfWorker.length);
        return reserve();
      };
      const ofDevice = async ({ chunksOfWorker }: { chunksOfWorker: readonly number[] }) =>
        counting("device", { chunksOfWorker });
      return Object.assign(session, { reserveHost: counting, reserveDevice: ofDevice });
    };
    const { subjects } = await examinedAll(openSession, fixtureRoot(), false, 1, undefined, { memory });
    return { rates: subjects[0]!.measured.bothWays, visits: visits / 3, reserved };
  }

  it("need twice the memory of copies one way, on the device and on the host", async () => {
    const { rates: found, reserved } = await bothWays(() => 0.9);
    expect(found).toEqual(near(0.9 * 55));
    expect(reserved.at(-1)).toEqual([2, 2]);
  });

  it("are measured again if they are slow, and the better of two measurements counts", async () => {
    expect((await bothWays((visit) => (visit <= 3 ? 0.5 : 0.8))).rates).toEqual(near(0.8 * 55));
    expect((await bothWays((visit) => (visit <= 3 ? 0.5 : 0.4))).rates).toEqual(near(0.5 * 55));
    expect((await bothWays(() => 0.5)).visits).toBe(2 * (await bothWays(() => 0.8)).visits);
  });
});

describe("registered memory", () => {
  const refusing = (code: string, isSticky = false): OpenSession => {
    return async () => {
      const session = timesAsLong(() => 1);
      const reserve = session.reserveHost.bind(session);
      const reserveHost = async (kind: string) => {
        if (kind === "registered") throw nativeError(code, isSticky);
        return reserve();
      };
      return Object.assign(session, { reserveHost });
    };
  };
  const examined = async (openSession: OpenSession) => {
    const { subjects, experiments } = await examinedAll(openSession, fixtureRoot(), false, 1, undefined, {
      memory,
    });
    const [{ measured, failure }] = subjects as [(typeof subjects)[number]];
    return { refused: measured.registered.refused, failure, omitted: experiments.omitted };
  };
  const message = (code: string) => `it failed with ${code}`;

  it("counts as refused if the driver does not permit it, but not if memory is short or all contexts are lost", async () => {
    const [none, unknown] = ["OUT_OF_HOST_MEMORY", "CUDA_ERROR_UNKNOWN"];
    expect(await examined(refusing("CUDA_ERROR_NOT_PERMITTED"))).toEqual({
      ...{ refused: message("CUDA_ERROR_NOT_PERMITTED"), failure: null, omitted: [] },
    });
    expect(await examined(refusing(none))).toEqual({
      ...{ refused: null, failure: null, omitted: [`registered copies of device 0: ${message(none)}`] },
    });
    expect(await examined(refusing(unknown, true))).toMatchObject({
      refused: null,
      failure: message(unknown),
    });
  });

  it("is measured again if its copies are slow, and the better rate counts", async () => {
    const of = async (first: number, second: number) => {
      let samples = 0;
      const openSession: OpenSession = async () =>
        timesAsLong(({ memory: kind }) => {
          if (kind !== "registered") return 1;
          samples += 1;
          return samples <= 22 ? first : second;
        });
      const { subjects } = await examinedAll(openSession, fixtureRoot(), false, 1, undefined, { memory });
      return subjects[0]!.measured.registered.rates.h2d!;
    };
    expect(await of(2, 1)).toBeCloseTo(55, 6);
    expect(await of(2, 4)).toBeCloseTo(27.5, 6);
  });
});

describe("a device that cannot be opened", () => {
  it.each([
    ["CUDA_ERROR_OUT_OF_MEMORY", "memory"],
    ["OUT_OF_HOST_MEMORY", "memory"],
    ["CUDA_ERROR_46", "in-use"],
    ["CUDA_ERROR_UNKNOWN", "device"],
    ["CUDA_ERROR_NOT_PERMITTED", "other"],
  ])("because of %s has the failure kind %s", async (code, failureKind) => {
    const openSession: OpenSession = async () =>
      Promise.reject(Object.assign(nativeError(code), { cudaResult: Number(code.split("_").at(-1)) }));
    const { subjects } = await examinedAll(openSession, fixtureRoot(), true, 1);
    expect(subjects[0]).toMatchObject({ failure: `it failed with ${code}`, failureKind });
  });
});

it("doctor leaves out copies that would end too late at the pace of the slowest device so far", async () => {
  const opened: number[] = [];
  let [startMs, firstMs] = [performance.now(), 0];
  const openSession: OpenSession = async ({ device }) => {
    if (device === 1) firstMs = performance.now() - startMs;
    opened.push(device);
    return timesAsLong(() => (device === 0 ? 100 : 1));
  };
  const { experiments } = await examinedAll(openSession, fixtureRoot(), true, 3, () =>
    opened.length < 2 ? Number.POSITIVE_INFINITY : performance.now() + firstMs / 2,
  );
  expect(opened).toEqual([0, 1]);
  expect(experiments.omitted).toContain("copies of device 2: no time was left");
});

it("doctor reports from which device on there was no time to compare NUMA nodes", async () => {
  let opened = 0;
  const openSession: OpenSession = async () => {
    opened += 1;
    return timesAsLong(() => 1);
  };
  const { experiments } = await examinedAll(openSession, fixtureRoot(twoNodes), false, 2, () =>
    opened < 2 ? Number.POSITIVE_INFINITY : performance.now(),
  );
  expect(experiments.omitted.filter((line) => line.includes("NUMA"))).toEqual([
    "copies with each NUMA node from device 0 on (pinbench run --numa all): no time was left",
  ]);
});

it("doctor uses the copy size of the plan's pinned cell that was not skipped", async () => {
  const session = timesAsLong(() => 1);
  const cells = [
    plannedCell({ memory: "pageable", sizeBytes: 8 * MiB }),
    plannedCell({ sizeBytes: 128 * MiB, skipReason: "too large" }),
    plannedCell({ sizeBytes: 32 * MiB }),
  ];
  await examinedAll(async () => session, fixtureRoot(), true, 1, undefined, { cells });
  expect(new Set(session.requests.map(({ sizeBytes }) => sizeBytes))).toEqual(new Set([32 * MiB]));
});

it("doctor counts wrong and verified copies over all sessions that it opened on a device", async () => {
  const sessions: FakeSession[] = [];
  const openSession: OpenSession = async () => {
    const session = timesAsLong(() => 1);
    sessions.push(session);
    session.beforeMeasure = () =>
      session.requests.length === 3
        ? withWrongData(5, 2)
        : { verification: { checkedBytes: 1, mismatches: [], copies: 5, provenCopies: 2 } };
    return session;
  };
  const { subjects } = await examinedAll(openSession, fixtureRoot(twoNodes), false, 1);
  expect(sessions).toHaveLength(3);
  const counted = sessions.flatMap(({ requests }) =>
    requests.filter(({ readLink, samples }) => !readLink || samples === 2),
  );
  expect(subjects[0]).toMatchObject({
    wrongCopies: 3,
    copied: { made: 5 * counted.length, proven: 2 * counted.length },
  });
});

describe("a diagnosis", () => {
  const diagnosisWith = (
    openSession: OpenSession,
    more: Partial<Parameters<typeof diagnoseMachine>[0]> = {},
    root = fixtureRoot(),
  ) => {
    const readActivity = () => Promise.reject(new Error("NVML does not tell"));
    const silent = { readActivity, readProcesses: async () => null };
    const driver = { openSession, readHealth: async () => null, ...silent };
    return diagnoseMachine({
      prepared: preparedOn(driver, { root }),
      ...{ sharing: null, reference: null, isQuick: true, labels: { rack: "7" }, startedAt: new Date(0) },
      ...{ startedMs: performance.now() - 500, countedFromMs: Number.POSITIVE_INFINITY },
      ...{ signal: new AbortController().signal, onActivity: () => undefined },
      ...more,
    });
  };

  it("records copy size, labels, start and duration, and what was not examined", async () => {
    const startMs = performance.now();
    const session = timesAsLong(() => 1);
    const diagnosis = await diagnosisWith(async () => session);
    expect(diagnosis).toMatchObject({
      ...{ createdAt: "1970-01-01T00:00:00.000Z", sizeBytes: 64 * MiB, labels: { rack: "7" } },
      wallNs: (performance.now() - startMs + 500) * 1e6,
    });
    expect(diagnosis.unseen).toContainEqual(expect.stringMatching(/: --preset quick$/));
    // The machine's activity was read, as far as its kernel counts it.
    expect(diagnosis.unseen).toContain("waiting for memory: the kernel does not count it (PSI)");
  });

  it("starts no copies if its time budget is already used up", async () => {
    const session = timesAsLong(() => 1);
    const diagnosis = await diagnosisWith(async () => session, { countedFromMs: performance.now() - 60_000 });
    expect(session.requests).toEqual([]);
    expect(diagnosis.unseen).toContain("copies of device 0: no time was left");
  });

  it("that is interrupted ends the copy in flight, frees the memory, and returns no document", async () => {
    const controller = new AbortController();
    const session = timesAsLong(() => 1);
    session.beforeMeasure = () => {
      if (session.requests.length === 4) controller.abort(new Error("enough"));
      return {};
    };
    await expect(diagnosisWith(async () => session, { signal: controller.signal })).rejects.toThrow("enough");
    expect(session).toMatchObject({ isAborted: true, isClosed: true });
    expect(session.requests).toHaveLength(4);
  });
});
