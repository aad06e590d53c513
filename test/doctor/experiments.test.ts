import { describe, expect, it } from "vitest";
import { diagnoseMachine } from "../../src/doctor/diagnose-machine.js";
import { beginSubject, examinedDevice, type Subject } from "../../src/doctor/examined-device.js";
import { readPciPath } from "../../src/doctor/facts/pci-path.js";
import { linkLimitGBps } from "../../src/results/device-facts.js";
import { healthyHealth, rates } from "../helpers/examination.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { errorCounts, gpuNames, machineTree, pciFile } from "../helpers/machine-tree.js";
import {
  deviceFacts,
  FakeSession,
  MiB,
  nativeError,
  withStoppedClock,
  withWrongData,
} from "../measure/support.js";
import { examinedAll, type OpenSession, preparedOn, twoNodes, usualNs } from "./examined.js";

withStoppedClock();

/** Of both directions. */
const samplesOfLook = 54;

/** What an examination measures of a device in the machine of this folder. */
async function examined(openSession: OpenSession, root: string, isQuick: boolean) {
  const [subject] = (await examinedAll(openSession, root, isQuick, 1)).subjects as [Subject];
  expect(subject.failure).toBeNull();
  return subject.measured;
}

/** Of a device whose copies to it, or this way, take this many times as long as they should. */
function examinedQuickly(slowdown: (sample: number) => number, slowWay: "h2d" | "d2h" = "h2d") {
  const session = new FakeSession(
    (_, sample, direction) => usualNs * (direction === slowWay ? slowdown(sample) : 1),
  );
  return examined(async () => session, fixtureRoot(), true);
}

describe("copies of a device that are slow", () => {
  it("are measured again, and do not count as slow if they recover", async () => {
    const { firstLook, pinned, slowShare } = await examinedQuickly((sample) =>
      sample < samplesOfLook ? 3 : 1,
    );
    expect(firstLook).toMatchObject({ h2d: expect.closeTo(55 / 3), d2h: expect.closeTo(55) });
    expect(pinned).toMatchObject(rates(expect.closeTo(55), expect.closeTo(55)));
    expect(slowShare).toEqual({ h2d: 0, d2h: 0 });
  });

  it("stay slow if they are slow again", async () => {
    const { firstLook, pinned } = await examinedQuickly(() => 3);
    expect(firstLook?.h2d).toBeCloseTo(55 / 3);
    expect(pinned.h2d).toBeCloseTo(55 / 3);
  });

  it.each(["h2d", "d2h"] as const)("are measured again if only some copies of %s are slow", async (way) => {
    const { firstLook, slowShare } = await examinedQuickly(
      (sample) => (sample < samplesOfLook && sample % 5 === 0 ? 3 : 1),
      way,
    );
    expect(firstLook?.[way]).toBeCloseTo(55);
    expect(slowShare).toEqual({ h2d: 0, d2h: 0 });
  });

  it("lose no more to slow copies than in the better of two measurements", async () => {
    const shareOf = async (first: number, second: number) =>
      (await examinedQuickly((sample) => (sample % (sample < samplesOfLook ? first : second) === 0 ? 3 : 1)))
        .slowShare!.h2d!;
    const [better, worse] = [await shareOf(5, 5), await shareOf(3, 3)];
    const between = (better + worse) / 2;
    expect(worse).toBeGreaterThan(between);
    expect(await shareOf(5, 3)).toBeLessThan(between);
    expect(await shareOf(3, 5)).toBeLessThan(between);
  });

  it("are measured once if no copy is slow", async () => {
    expect((await examinedQuickly(() => 1)).firstLook).toBeUndefined();
  });
});

it("copies of a device that is not slow are measured with each NUMA node too, those without CPUs included", async () => {
  const root = fixtureRoot({ ...twoNodes, "sys/devices/system/node/node1/cpulist": "" });
  const opened: string[] = [];
  const openSession: OpenSession = async ({ cpus, numaNode }) => {
    opened.push(`node ${numaNode}, CPUs ${cpus.join()}`);
    return new FakeSession(() => usualNs);
  };
  const { nodes } = await examined(openSession, root, false);
  expect(nodes.map(({ node }) => node)).toEqual([0, 1]);
  expect(opened).toContain("node 1, CPUs 0,1");
});

it("copies with a NUMA node that fail free their memory at once, and what was wrong before that counts", async () => {
  const sessions: FakeSession[] = [];
  const openSession: OpenSession = async ({ numaNode, reportsNodes }) => {
    const session = new FakeSession(() => usualNs);
    if (!reportsNodes || numaNode !== 1) return session;
    sessions.push(session);
    session.beforeMeasure = () => {
      if (session.requests.length > 1) throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
      return withWrongData();
    };
    return session;
  };
  const { subjects, experiments } = await examinedAll(openSession, fixtureRoot(twoNodes), false, 1);
  expect(sessions.map(({ isClosed }) => isClosed)).toEqual([true]);
  expect(subjects[0]).toMatchObject({ wrongCopies: 1, failure: null });
  expect(experiments.omitted).toContainEqual(expect.stringMatching(/^copies with NUMA node 1 of device 0: /));
});

it("figures of a node do not count if its memory lies on another one", async () => {
  const openSession: OpenSession = async ({ numaNode, reportsNodes }) => {
    const session = new FakeSession(() => usualNs);
    const reserve = session.reserveHost.bind(session);
    session.reserveHost = async () => {
      const pagesOfNode = reportsNodes && numaNode !== null ? [{ node: 0, pages: 16 }] : [];
      return { ...(await reserve()), pagesOfNode };
    };
    return session;
  };
  const { nodes, untriedNodes } = await examined(openSession, fixtureRoot(twoNodes), false);
  expect(nodes.map(({ node }) => node)).toEqual([0]);
  expect(untriedNodes).toEqual([1]);
});

it("copies of a slow device are measured from the CPUs of each NUMA node", async () => {
  const root = fixtureRoot(twoNodes);
  const opened: string[] = [];
  const openSession: OpenSession = async ({ cpus, numaNode }) => {
    opened.push(`node ${numaNode}, CPUs ${cpus.join()}`);
    return new FakeSession(() => usualNs * (numaNode === 0 ? 2 : 1));
  };
  const { nodes } = await examined(openSession, root, false);
  expect(nodes).toEqual([
    { node: 0, rates: rates(expect.closeTo(27.5), expect.closeTo(27.5)) },
    { node: 1, rates: rates(expect.closeTo(55), expect.closeTo(55)) },
  ]);
  // For the device itself, and for a first and a second look at each node.
  const each = ["node 0, CPUs 0,1", "node 1, CPUs 2,3"];
  const [own, other] = each;
  // The one that is not its own first, as the time may end.
  expect(opened.filter((where) => each.includes(where))).toEqual([own, other, own, other, own]);
});

it("the better of two measurements of a NUMA node counts", async () => {
  let looks = 0;
  const openSession: OpenSession = async ({ numaNode, reportsNodes }) => {
    const isAgain = numaNode === 1 && reportsNodes && ++looks > 1;
    return new FakeSession(() => usualNs * (numaNode === 0 ? 2 : isAgain ? 1.5 : 1));
  };
  const { nodes } = await examined(openSession, fixtureRoot(twoNodes), true);
  expect(looks).toBe(2);
  expect(nodes[1]!.rates.h2d).toBeCloseTo(55);
});

it("with --preset quick, only a slow device is measured with the other NUMA nodes", async () => {
  const openSession: OpenSession = async ({ numaNode }) =>
    new FakeSession(() => usualNs * (numaNode === 0 ? 2 : 1));
  const { nodes } = await examined(openSession, fixtureRoot(twoNodes), true);
  expect(nodes.map(({ node }) => node)).toEqual([0, 1]);
  const ofHealthy = await examined(async () => new FakeSession(() => usualNs), fixtureRoot(twoNodes), true);
  expect(ofHealthy.nodes).toEqual([]);
});

it("nodes with which a slow device could not be measured are noted, except for its own", async () => {
  let looks = 0;
  const openSession: OpenSession = async () => {
    // All that follows the two looks at the device would end too late.
    looks += 1;
    return new FakeSession(() => 2 * usualNs);
  };
  const { measured } = (
    await examinedAll(openSession, fixtureRoot(twoNodes), true, 1, () =>
      looks > 0 ? 0 : Number.POSITIVE_INFINITY,
    )
  ).subjects[0]!;
  expect(measured).toMatchObject({ nodes: [], untriedNodes: [1] });
});

describe("an error of a device", () => {
  /** Of three devices, the second of which cannot be opened. */
  async function examinedThree(isSticky: boolean) {
    const opened: number[] = [];
    const openSession: OpenSession = async ({ device }) => {
      opened.push(device);
      if (device === 1) throw nativeError("CUDA_ERROR_UNKNOWN", isSticky);
      return new FakeSession(() => usualNs);
    };
    const { subjects, experiments } = await examinedAll(openSession, fixtureRoot(), true, 3);
    return { opened, failures: subjects.map(({ failure }) => failure), lost: experiments.lost };
  }
  const failure = "it failed with CUDA_ERROR_UNKNOWN";

  it("is its own, and the others are still examined", async () => {
    const found = await examinedThree(false);
    expect(found).toEqual({ opened: [0, 1, 2], failures: [null, failure, null], lost: null });
  });

  it("that ends all contexts does not fail the other devices, which are not opened any more", async () => {
    const lost = `not measured, as the process lost its contexts: ${failure}`;
    expect(await examinedThree(true)).toEqual({ opened: [0, 1], failures: [null, failure, null], lost });
  });

  it.each([
    [true, failure],
    [false, null],
  ])(
    "in copies that its verdict does not need fails the device if all contexts end: %s",
    async (isSticky, own) => {
      const openSession: OpenSession = async ({ device }) => {
        const session = new FakeSession(() => usualNs);
        const measureFirstCopy = async () => {
          if (device === 1) throw nativeError("CUDA_ERROR_UNKNOWN", isSticky);
          return 8000;
        };
        return Object.assign(session, { measureFirstCopy });
      };
      const { subjects } = await examinedAll(openSession, fixtureRoot(), false, 2);
      expect(subjects.map(({ failure: of }) => of)).toEqual([null, own]);
    },
  );
});

/** A device whose examination has begun, and what else examinedDevice() takes; NVML tells only what `told` does. */
async function begun(told: object = {}) {
  const silent = {
    readHealth: async () => null,
    readActivity: async () => null,
    readProcesses: async () => null,
  };
  const driver = { ...silent, ...told };
  const root = fixtureRoot();
  const subject = await beginSubject(deviceFacts, null, driver as never, root);
  const backend = { driver, facts: { emulated: false } } as never;
  return { subject, context: { backend, sharing: null, root, lost: null, together: 0 } };
}

it("other users of a device are all processes but this one", async () => {
  const { subject, context } = await begun({
    readHealth: async () => healthyHealth,
    readProcesses: async () => [process.pid, 4712].map((pid) => ({ pid, deviceMemoryBytes: MiB })),
  });
  const { others } = await examinedDevice(subject, context);
  expect(others).toMatchObject([{ kind: "program", pid: 4712, deviceMemoryBytes: MiB }]);
  // Those that were seen count, though there may be more.
  const sharing = (seen: readonly object[]) => ({
    look: async () => undefined,
    records: [{ device: 0, others: seen, unseen: ["programs"] }],
  });
  const othersOf = async (seen: readonly object[]) =>
    (await examinedDevice(subject, { ...context, sharing: sharing(seen) as never })).others;
  expect(await othersOf([{ pid: 4713 }])).toEqual([{ pid: 4713 }]);
  expect(await othersOf([])).toBeNull();
  expect((await examinedDevice(subject, (await begun()).context)).others).toBeNull();
});

it("other users of the second device are not those of the first", async () => {
  const { subject, context } = await begun();
  const looked: number[] = [];
  const sharing = {
    look: async (devices: readonly number[]) => void looked.push(...devices),
    records: [0, 1].map((device) => ({ device, others: [{ pid: 4712 + device }], unseen: [] })),
  };
  const second = { ...subject, facts: { ...subject.facts, ordinal: 1 } };
  const { others } = await examinedDevice(second, { ...context, sharing: sharing as never });
  expect({ others, looked }).toEqual({ others: [{ pid: 4713 }], looked: [1] });
});

it("a device's examination has the readings before the copies, and the errors that were corrected since", async () => {
  const [pciBusId] = gpuNames;
  const counted = (count: number) => ({
    [pciFile(pciBusId, "aer_dev_correctable")]: errorCounts("COR", count),
  });
  const before = readPciPath(pciBusId, machineTree(counted(7)));
  const { subject, context } = await begun();
  const activityBefore = { computePercent: 5, toDeviceBytesPerSecond: 1, fromDeviceBytesPerSecond: 2 };
  const copied = { made: 5, proven: 4, provenH2d: 3, provenD2h: 1, bytes: 6 };
  const own = { facts: { ...subject.facts, pciBusId }, path: { before, underLoad: null } };
  const examination = await examinedDevice(
    { ...subject, ...own, activityBefore, copied, wrongCopies: 2, failureKind: "memory" },
    { ...context, root: machineTree(counted(19)) },
  );
  expect(examination).toMatchObject({
    correctableErrors: 12,
    activityBefore,
    copied,
    wrongCopies: 2,
    failureKind: "memory",
  });
});

it.each([
  ["its own", "it broke", "other"],
  ["another's", null, "another"],
])(
  "a device whose examination ended with %s failure is distinguished from the others",
  async (_, failure, failureKind) => {
    const { subject, context } = await begun();
    const device = await examinedDevice({ ...subject, failure }, { ...context, lost: "all is lost" });
    expect(device).toMatchObject({ failure: failure ?? "all is lost", failureKind });
  },
);

it("a device's limit is that of its link, as in a run, and unknown for links other than PCIe", async () => {
  const { subject, context } = await begun();
  const limitOf = async (facts: object) => {
    const own = {
      ...subject,
      facts: { ...subject.facts, ...facts },
      health: { ...subject.health, underLoad: healthyHealth },
    };
    return (await examinedDevice(own as never, context)).limitGBps;
  };
  expect(await limitOf({})).toBe(linkLimitGBps(5, 16));
  for (const past of [{ integrated: true }, { coherent: true }]) expect(await limitOf(past)).toBeNull();
});

describe("a diagnosis", () => {
  it("compares what a device reports before and after the copies", async () => {
    let reads = 0;
    const driver = {
      openSession: async () => new FakeSession(() => usualNs),
      readHealth: async () => ({ ...healthyHealth, replays: 1000 * reads++ }),
      readActivity: async () => null,
      readProcesses: async () => null,
    };
    const { findings } = await diagnoseMachine({
      prepared: preparedOn(driver),
      ...{ sharing: null, reference: null, isQuick: true, labels: {}, startedAt: new Date(0), startedMs: 0 },
      ...{ countedFromMs: Number.POSITIVE_INFINITY, signal: new AbortController().signal },
      onActivity: () => undefined,
    });
    expect(findings).toMatchObject([{ cause: "link-errors", device: 0 }]);
  });
});
