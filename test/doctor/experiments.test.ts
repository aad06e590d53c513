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

/** Samples of one measurement, both directions together. */
const samplesOfLook = 54;

/** The measurements of the only device, in the machine of this folder. */
async function examined(openSession: OpenSession, root: string, isQuick: boolean) {
  const [subject] = (await examinedAll(openSession, root, isQuick, 1)).subjects as [Subject];
  expect(subject.failure).toBeNull();
  return subject.measured;
}

/** Measurements of a device whose copies in this direction are slower by these factors. */
function examinedQuickly(slowdown: (sample: number) => number, slowWay: "h2d" | "d2h" = "h2d") {
  const session = new FakeSession(
    (_, sample, direction) => usualNs * (direction === slowWay ? slowdown(sample) : 1),
  );
  return examined(async () => session, fixtureRoot(), true);
}

describe("the copies of a device that doctor measures", () => {
  it("are measured again if slow, and do not count as slow if they recover", async () => {
    const { firstLook, pinned, slowShare } = await examinedQuickly((sample) =>
      sample < samplesOfLook ? 3 : 1,
    );
    expect(firstLook).toMatchObject({ h2d: expect.closeTo(55 / 3), d2h: expect.closeTo(55) });
    expect(pinned).toMatchObject(rates(expect.closeTo(55), expect.closeTo(55)));
    expect(slowShare).toEqual({ h2d: 0, d2h: 0 });
  });

  it("count as slow if the second measurement is slow too", async () => {
    const { firstLook, pinned } = await examinedQuickly(() => 3);
    expect(firstLook?.h2d).toBeCloseTo(55 / 3);
    expect(pinned.h2d).toBeCloseTo(55 / 3);
  });

  it.each(["h2d", "d2h"] as const)("are measured again if only some %s copies are slow", async (way) => {
    const { firstLook, slowShare } = await examinedQuickly(
      (sample) => (sample < samplesOfLook && sample % 5 === 0 ? 3 : 1),
      way,
    );
    expect(firstLook?.[way]).toBeCloseTo(55);
    expect(slowShare).toEqual({ h2d: 0, d2h: 0 });
  });

  it("have the share of slow copies of the better of two measurements", async () => {
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

it("doctor compares all NUMA nodes of a device that is not slow, even nodes without CPUs", async () => {
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

it("a failed measurement of a NUMA node frees its memory, and its wrong copies count", async () => {
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

it("a NUMA node's rates do not count if the memory lies on another node", async () => {
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
  // The device itself, then a first and a second measurement of each node.
  const each = ["node 0, CPUs 0,1", "node 1, CPUs 2,3"];
  const [own, other] = each;
  // The other node comes first, as the time may end.
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

it("doctor notes the NUMA nodes that it had no time to compare, except a slow device's own", async () => {
  let looks = 0;
  const openSession: OpenSession = async () => {
    // Nothing after the two measurements of the device can end in time.
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
  /** Examines three devices, the second of which cannot be opened. */
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

  it("does not keep the other devices from being examined", async () => {
    const found = await examinedThree(false);
    expect(found).toEqual({ opened: [0, 1, 2], failures: [null, failure, null], lost: null });
  });

  it("that ends all contexts stops the examination, without marking other devices as failed", async () => {
    const lost = `not measured, as the process lost its contexts: ${failure}`;
    expect(await examinedThree(true)).toEqual({ opened: [0, 1], failures: [null, failure, null], lost });
  });

  it.each([
    [true, failure],
    [false, null],
  ])(
    "in an optional measurement fails the device only if it ends all contexts: %s",
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

/** Arguments of examinedDevice(), for a device on which NVML reports only `told`. */
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

it("a device's other users are all processes except pinbench itself", async () => {
  const { subject, context } = await begun({
    readHealth: async () => healthyHealth,
    readProcesses: async () => [process.pid, 4712].map((pid) => ({ pid, deviceMemoryBytes: MiB })),
  });
  const { others } = await examinedDevice(subject, context);
  expect(others).toMatchObject([{ kind: "program", pid: 4712, deviceMemoryBytes: MiB }]);
  // Programs that were seen are listed, even if others may be hidden.
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

it("the second device is not reported with the first device's other users", async () => {
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

it("an examined device keeps its readings from before the copies, and counts errors corrected since", async () => {
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
])("a device that was not measured because of %s failure is marked so", async (_, failure, failureKind) => {
  const { subject, context } = await begun();
  const device = await examinedDevice({ ...subject, failure }, { ...context, lost: "all is lost" });
  expect(device).toMatchObject({ failure: failure ?? "all is lost", failureKind });
});

it("a device's bandwidth limit is its PCIe link's, and unknown for devices without PCIe", async () => {
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
