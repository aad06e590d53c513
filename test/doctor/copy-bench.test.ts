import { describe, expect, it } from "vitest";
import { CopyBench } from "../../src/doctor/copy-bench.js";
import type { MeasureRequest, MeasureResult, NativeRendezvous } from "../../src/native/contract.js";
import type { DeviceHealth } from "../../src/native/device-contract.js";
import type { Verifying } from "../../src/settings/choices.js";
import { healthyHealth } from "../helpers/examination.js";
import { FakeSession, MiB, nativeError, withStoppedClock, withWrongData } from "../measure/support.js";

withStoppedClock();

const sizeBytes = 64 * MiB;
const arena = { chunksOfWorker: [1], chunkBytes: 256 * MiB };

/** A bench whose copies take as long as the session determines. */
const benchOn = (session: FakeSession) => openBench(session, "last");

async function openBench(
  session: FakeSession,
  verify: Verifying,
  { reportsNodes, asked = [] }: { reportsNodes?: boolean; asked?: unknown[] } = {},
) {
  const counts = { wrongCopies: 0, copied: { made: 0, proven: 0, provenH2d: 0, provenD2h: 0, bytes: 0 } };
  const openSession = async (request: unknown) => {
    asked.push(request);
    return session;
  };
  const bench = await CopyBench.open({
    counts,
    driver: { openSession },
    device: 3,
    placement: { cpus: [0], threads: 1, numaNode: 0 } as never,
    arenas: {
      host: { pinned: arena, pageable: { ...arena, chunkBytes: 128 * MiB } },
      ...{ device: arena, deviceCopies: 1, staging: null, gatherBytes: 0, blocks: { listed: 0, all: 0 } },
    },
    cell: { sizeBytes, cache: "cold", buffersPerWorker: 4 },
    verify,
    ...(reportsNodes !== undefined && { reportsNodes }),
  });
  return Object.assign(bench, { counts });
}

/** Makes copies last until these readings were taken; returns the function that takes them. */
function whileRead(session: FakeSession, readings: DeviceHealth[], link: DeviceHealth["link"]) {
  let finish: () => void = () => undefined;
  const lastRead = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const measure = session.measure.bind(session);
  session.measure = async (request) => {
    await lastRead;
    return { ...(await measure(request)), link };
  };
  return async () => {
    const reading = readings.shift() ?? null;
    if (readings.length === 0) finish();
    return reading;
  };
}

/** Resolves `cancelled` once it is cancelled. */
class Rendezvous implements Pick<NativeRendezvous, "reset" | "cancel"> {
  readonly resets: number[][] = [];
  readonly cancelled: Promise<void>;
  cancel: () => void = () => undefined;

  constructor() {
    this.cancelled = new Promise((resolve) => {
      this.cancel = resolve;
    });
  }

  reset(flows: readonly number[]): void {
    this.resets.push([...flows]);
  }
}

/** Copies with other devices only after the rendezvous is cancelled. */
class WaitingSession extends FakeSession {
  constructor(readonly rendezvous: Rendezvous) {
    super();
  }

  override async measure(request: MeasureRequest): Promise<MeasureResult> {
    if (request.company !== undefined) {
      await this.rendezvous.cancelled;
      this.isAborted = true;
    }
    return super.measure(request);
  }
}

const together = (benches: readonly CopyBench[], rendezvous: Rendezvous) =>
  CopyBench.together(benches, "h2d", rendezvous as never);

describe("devices that copy together", () => {
  it("have a rate each, from flows of their own and the same number of samples", async () => {
    const sessions = [new FakeSession(() => 2e6), new FakeSession(() => 4e6)];
    const rendezvous = new Rendezvous();
    const rates = await together(await Promise.all(sessions.map((session) => benchOn(session))), rendezvous);
    expect(rates).toEqual([sizeBytes / 2e6, sizeBytes / 4e6]);
    expect(rendezvous.resets).toEqual([[1, 1]]);
    const requests = sessions.map(({ requests }) => requests.at(-1)!);
    expect(requests.map(({ company }) => company?.flow)).toEqual([0, 1]);
    expect(new Set(requests.map(({ samples }) => samples)).size).toBe(1);
  });

  it("take as many samples as the device that needs most", async () => {
    // Copies of more than 20 ms are measured one by one.
    const sessions = [new FakeSession(() => 30e6), new FakeSession(() => 2e6)];
    await together(await Promise.all(sessions.map((session) => benchOn(session))), new Rendezvous());
    expect(sessions.map(({ requests }) => requests.at(-1)!.samples)).toEqual([9, 9]);
  });

  it("do not wait for a device that fails, and report its error", async () => {
    const rendezvous = new Rendezvous();
    const failing = new FakeSession();
    failing.beforeMeasure = ({ company }) => {
      if (company !== undefined) throw nativeError("CUDA_ERROR_LAUNCH_FAILED");
      return {};
    };
    const benches = await Promise.all(
      [new WaitingSession(rendezvous), failing].map((session) => benchOn(session)),
    );
    const done = together(benches, rendezvous);
    const overdue = new Promise((resolve) => setTimeout(resolve, 2000, "it waits"));
    await expect(Promise.race([done, overdue])).rejects.toMatchObject({ code: "CUDA_ERROR_LAUNCH_FAILED" });
  });

  it("have no rate for a device whose data came back wrong", async () => {
    const wrong = new FakeSession();
    wrong.beforeMeasure = ({ company }) => (company === undefined ? {} : withWrongData());
    const benches = await Promise.all([wrong, new FakeSession(() => 2e6)].map((session) => benchOn(session)));
    expect(await together(benches, new Rendezvous())).toEqual([null, sizeBytes / 2e6]);
    expect(benches.map(({ counts }) => counts.wrongCopies)).toEqual([1, 0]);
  });
});

describe("a device that doctor measures alone", () => {
  it("has a rate for each direction, measured by turns through all buffers", async () => {
    const session = new FakeSession(({ direction }) => (direction === "h2d" ? 2e6 : 3e6));
    const bench = await benchOn(session);
    expect(await bench.rates("pinned")).toEqual({ h2d: sizeBytes / 2e6, d2h: sizeBytes / 3e6 });
    const visits = session.requests.filter(({ readLink }) => !readLink);
    expect(visits.map(({ direction }) => direction)).toEqual(["h2d", "d2h", "h2d", "d2h", "h2d", "d2h"]);
    for (const [i, { firstBuffer, copiesPerSample, samples }] of visits.slice(0, -1).entries()) {
      expect(visits[i + 1]!.firstBuffer).toBe((firstBuffer + copiesPerSample * samples) % 4);
    }
  });

  it("has two-way rates that leave out measurements whose data came back wrong", async () => {
    let copyNs = 2e6;
    const session = new FakeSession((_request, _before, of) => (of === "h2d" ? copyNs : 2 * copyNs));
    const bench = await benchOn(session);
    await bench.rates("pinned");
    const before = bench.counts.copied.bytes;
    // Two of the three measurements have wrong data and short durations.
    let visits = 0;
    session.beforeMeasure = () => {
      const isWrong = ++visits < 3;
      copyNs = isWrong ? 1e6 : 2e6;
      return isWrong ? withWrongData() : {};
    };
    const { h2d, d2h } = await bench.bothWays();
    expect([h2d, d2h]).toEqual([sizeBytes / 2e6, sizeBytes / 4e6]);
    expect(visits).toBe(3);
    // The bytes of both directions count.
    const [{ copiesPerSample, samples, warmupCopies, warmupBytes }] = session.requests.slice(-1) as [
      MeasureRequest,
    ];
    const ofVisit = copiesPerSample * samples * sizeBytes + warmupCopies * warmupBytes;
    expect(bench.counts.copied.bytes - before).toBe(3 * 2 * ofVisit);
  });

  it("has the median of NVML's readings during copies, and all reasons for lower clocks", async () => {
    const session = new FakeSession(() => 2e6);
    const bench = await benchOn(session);
    await bench.rates("pinned");
    const readings = [40, 50, 60].map((temperatureC, i) => ({
      ...healthyHealth,
      ...{ temperatureC, clockReasons: [["sw-power-cap"], [], ["hw-slowdown", "sw-power-cap"]][i]! },
    }));
    const { bytes, ...counts } = bench.counts.copied;
    const health = await bench.underLoad(whileRead(session, readings, { ...healthyHealth.link!, width: 8 }));
    expect(health).toMatchObject({ temperatureC: 50, link: { width: 8 } });
    expect(health!.clockReasons!.toSorted()).toEqual(["hw-slowdown", "sw-power-cap"]);
    expect(bench.link).toMatchObject({ width: 8 });
    // The rates of these copies do not count.
    expect(bench.counts.copied).toMatchObject(counts);
    expect(bench.counts.copied.bytes).toBeGreaterThan(bytes);
  });

  it("has NVML's reading under load, and even with --verify every compares only its last copy", async () => {
    const session = new FakeSession(() => 2e6);
    const bench = await openBench(session, "every");
    await bench.rates("pinned");
    // Null if NVML reports no reasons, empty if nothing lowers the clocks.
    for (const clockReasons of [null, []]) {
      const reading = { ...healthyHealth, clockReasons };
      expect(await bench.underLoad(whileRead(session, [reading], null))).toEqual(reading);
    }
    // Comparing each copy of the load would leave the link idle.
    expect(session.requests.at(-1)).toMatchObject({ verify: "last", readLink: true });
  });

  it("allocates each kind of memory once, in the planned size, and records its NUMA nodes", async () => {
    const session = new FakeSession(() => 2e6);
    const reserved: [string, number][] = [];
    const report = { ...(await session.reserveHost()), pagesOfNode: [{ node: 1, pages: 2 }] };
    const reserveHost = async (kind: string, { chunkBytes }: typeof arena) => {
      reserved.push([kind, chunkBytes / MiB]);
      return report;
    };
    const reserveDevice = async (geometry: typeof arena) => reserveHost("device", geometry);
    const bench = await benchOn(Object.assign(session, { reserveHost, reserveDevice }));
    for (const memory of ["pinned", "pageable", "pinned", "pageable"] as const) await bench.rates(memory);
    expect(reserved).toEqual([
      ["device", 256],
      ["pinned", 256],
      ["pageable", 128],
    ]);
    expect(bench.pagesOfNode).toEqual(report.pagesOfNode);
  });

  it("counts all copies, the verified ones by direction, and the wrong ones", async () => {
    const session = new FakeSession(() => 2e6);
    session.beforeMeasure = ({ direction }) => withWrongData(5, direction === "h2d" ? 3 : 2);
    const bench = await benchOn(session);
    expect(await bench.rates("pinned")).toMatchObject({ h2d: null, d2h: null });
    // Three of each direction, and one of each to time a copy.
    expect(bench.counts.copied).toMatchObject({
      made: 8 * 5,
      proven: 4 * 5,
      provenH2d: 4 * 3,
      provenD2h: 4 * 2,
    });
    expect(bench.counts.wrongCopies).toBe(8);
  });

  it("sizes its samples by the faster of its first two copies, and by its buffers if every copy is verified", async () => {
    const samplesOf = async (copyNs: (sample: number) => number, verify: Verifying = "last") => {
      const session = new FakeSession((_, sample) => copyNs(sample));
      await (await openBench(session, verify)).rates("pinned");
      const { samples, copiesPerSample } = session.requests.at(-1)!;
      return [samples, copiesPerSample];
    };
    expect(await samplesOf((sample) => (sample === 0 ? 30e6 : 2e6))).toEqual([3, expect.any(Number)]);
    expect(await samplesOf(() => 20e3, "every")).toEqual([3, 4]);
    expect((await samplesOf(() => 20e3))[1]).toBeGreaterThan(4);
  });

  it("records the share of a copy's time that its call takes, for pinned copies only", async () => {
    const session = new FakeSession((_, sample) => 2e6 * (1 + (sample % 5)));
    const measure = session.measure.bind(session);
    session.measure = async (request) => {
      const result = await measure(request);
      const columns = result.columns.map((column) => ({
        ...column,
        hostNs: column.durationNs.map((ns) => (request.direction === "h2d" ? ns / 100 : ns * 0.98)),
      }));
      return { ...result, columns };
    };
    const bench = await benchOn(session);
    await bench.rates("pageable");
    expect(bench.hostShare).toEqual({ h2d: null, d2h: null });
    await bench.rates("pinned");
    expect(bench.hostShare).toEqual({ h2d: expect.closeTo(0.01, 6), d2h: expect.closeTo(0.98, 6) });
  });

  it.each([
    ["one by one", 40e6, 1],
    ["several at a time", 2e6, 3],
  ])(
    "with --verify every notices a fault in every 2nd to 7th copy, with copies %s",
    async (_, copyNs, copies) => {
      const session = new FakeSession(() => copyNs);
      await (await openBench(session, "every")).samples("pinned", 9);
      const compared: number[] = [];
      let made = 0;
      for (const request of session.requests.filter(({ direction }) => direction === "d2h")) {
        made += request.warmupCopies;
        for (let i = 0; i < request.samples * request.copiesPerSample; ++i) compared.push(made++);
      }
      expect(session.requests.at(-1)!.copiesPerSample).toBe(copies);
      for (const every of [2, 3, 4, 5, 6, 7]) {
        expect(new Set(compared.map((copy) => copy % every)).size, `every ${every}`).toBe(every);
      }
    },
  );
});
