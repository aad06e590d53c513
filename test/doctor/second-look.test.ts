import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { beginSubject } from "../../src/doctor/examined-device.js";
import { Experiments } from "../../src/doctor/experiments.js";
import { healthyHealth, rates } from "../helpers/examination.js";
import { fixtureRoot } from "../host/support.js";
import { deviceFacts, FakeSession, MiB, plannedCell, stopTheClock } from "../measure/support.js";

beforeEach(stopTheClock);
afterEach(() => {
  vi.useRealTimers();
});

const cell = plannedCell({ sizeBytes: 64 * MiB });
const arena = { chunksOfWorker: [1], chunkBytes: 256 * MiB };
const usualNs = cell.sizeBytes / 55;

/** Of both directions. */
const samplesOfLook = 54;

/** What an examination measures of a device whose copies to it take this many times as long as they should. */
async function examined(slowdown: (sample: number) => number) {
  const session = new FakeSession(
    (_, sample, direction) => usualNs * (direction === "h2d" ? slowdown(sample) : 1),
  );
  const driver = {
    openSession: async () => session,
    readHealth: async () => healthyHealth,
    readActivity: async () => null,
  };
  const arenas = {
    host: { pinned: arena },
    ...{ device: arena, deviceCopies: 1, staging: null, gatherBytes: 0, blocks: { listed: 0, all: 0 } },
  };
  const root = fixtureRoot();
  const subject = await beginSubject(deviceFacts, null, driver as never, root);
  const experiments = new Experiments([subject], {
    prepared: {
      ...{ plan: { cells: [cell], arenas }, backend: { driver, facts: { emulated: false } } },
      build: { kernels: true },
    } as never,
    ...{ sharing: null, reference: null, root, isQuick: true, endMs: Number.POSITIVE_INFINITY },
    ...{ signal: new AbortController().signal, onActivity: () => undefined },
  });
  await experiments.measureAll();
  expect(subject.failure).toBeNull();
  return subject.measured;
}

describe("copies to a device that are slow", () => {
  it("are measured again, and are not slow if they no longer are", async () => {
    const { firstLook, pinned, slowShare } = await examined((sample) => (sample < samplesOfLook ? 3 : 1));
    expect(firstLook).toMatchObject({ h2d: expect.closeTo(55 / 3), d2h: expect.closeTo(55) });
    expect(pinned).toMatchObject(rates(expect.closeTo(55), expect.closeTo(55)));
    expect(slowShare).toEqual({ h2d: 0, d2h: 0 });
  });

  it("are as slow as before if they still are", async () => {
    const { firstLook, pinned } = await examined(() => 3);
    expect(firstLook?.h2d).toBeCloseTo(55 / 3);
    expect(pinned.h2d).toBeCloseTo(55 / 3);
  });

  it("are measured again if only some of them are", async () => {
    const { firstLook, slowShare } = await examined((sample) =>
      sample < samplesOfLook && sample % 5 === 0 ? 3 : 1,
    );
    expect(firstLook?.h2d).toBeCloseTo(55);
    expect(slowShare).toEqual({ h2d: 0, d2h: 0 });
  });

  it("are measured once if none is", async () => {
    expect((await examined(() => 1)).firstLook).toBeUndefined();
  });
});
