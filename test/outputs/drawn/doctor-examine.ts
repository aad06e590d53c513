import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { afterEach, beforeEach, vi } from "vitest";
import { examinedDevice } from "../../../src/doctor/examined-device.js";
import type { MeasureRequest, PinningKind } from "../../../src/native/contract.js";
import { doctorAdvice } from "../../../src/reference/doctor-advice.js";
import { expectationOf } from "../../../src/reference/expectation.js";
import type { Memory, Mode } from "../../../src/settings/choices.js";
import { examinedAll, type OpenSession, usualNs } from "../../doctor/examined.js";
import { healthyHealth } from "../../helpers/examination.js";
import { fixtureRoot } from "../../helpers/fixture-root.js";
import { buildCell, buildDevice, buildDocument, buildLink } from "../../helpers/result-document.js";
import { seeded } from "../../helpers/seeded.js";
import {
  deviceFacts,
  FakeSession,
  MiB,
  nativeError,
  plannedCell,
  stopTheClock,
} from "../../measure/support.js";
import { draws } from "../draws.js";

beforeEach(() => {
  stopTheClock();
  vi.spyOn(timers, "setTimeout").mockImplementation(async () => undefined as never);
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const onNode = "sys/devices/system/node";
const device = `sys/bus/pci/devices/${deviceFacts.pciBusId}`;
const nodesOf = (own: string, more: Record<string, string> = {}) => ({
  "proc/self/status": "Cpus_allowed_list:\t0-3",
  ...{ [`${onNode}/online`]: "0-1", [`${onNode}/node0/cpulist`]: "0-1", [`${onNode}/node1/cpulist`]: "2-3" },
  ...{ [`${device}/numa_node`]: own, ...more },
});
const trees = [
  {},
  nodesOf("0"),
  nodesOf("1"),
  nodesOf("-1"),
  nodesOf("0", {
    [`${onNode}/online`]: "0-2",
    [`${onNode}/node2/cpulist`]: "",
    [`${onNode}/node2/distance`]: "30 20 10",
  }),
];

/** An examination of devices that are slow, fail or return wrong data at times. */
async function examination(seed: number): Promise<[string, unknown]> {
  const { one, is, below, list } = seeded(seed);
  const count = one([1, 1, 2, 3]);
  const isQuick = is(0.2);
  const [tree, name, limitMs] = [
    one(trees),
    one(["NVIDIA H200", "NVIDIA H200", "a device"]),
    one([1e9, 1e9, 1e9, 1e9, 60, 1500, 4000, 8000]),
  ];
  const memory: PinningKind[] = is(0.8) ? ["pinned", "pageable", "registered"] : ["pinned"];
  const ills = list(count, () => ({
    slow: one([1, 1, 1, 1.04, 1.2, 2]),
    way: one(["both", "both", "h2d", "d2h"]),
    of: one(["all", "all", "first look", "registered", "together", "bidir", "node"]),
    every: one([0, 0, 0, 3, 10]),
    fault: one([
      "",
      "",
      "",
      "",
      "",
      "",
      "",
      "",
      "CUDA_ERROR_UNKNOWN",
      "OUT_OF_HOST_MEMORY",
      "CUDA_ERROR_OUT_OF_MEMORY",
      "sticky",
      "mismatch",
    ]),
    at: one([0, 2, 9, 20, 24, 40, 60]),
    refuses: one([null, null, "CUDA_ERROR_NOT_SUPPORTED", "OUT_OF_HOST_MEMORY"]),
    elsewhere: is(0.2),
  }));
  const log: string[] = [];
  const looks = list(count, () => 0);
  const openSession: OpenSession = async ({ device: ordinal, numaNode, reportsNodes }) => {
    const ill = ills[ordinal]!;
    log.push(`open ${ordinal} on node ${numaNode}, ${reportsNodes}`);
    const isFirst = looks[ordinal]!++ === 0;
    const isIn = ({ memory: of, company, direction }: MeasureRequest, sample: number) =>
      ({
        ...{
          all: true,
          "first look": isFirst && sample < 54,
          registered: of === "registered",
          bidir: direction === "bidir",
        },
        ...{ together: company !== undefined, node: numaNode === 0 },
      })[ill.of];
    const session = new FakeSession((request, sample, way) => {
      const isSlow = isIn(request, sample) && (ill.way === "both" || ill.way === way);
      const other = { pageable: 3, registered: 1.02, pinned: 1 }[request.memory as "pinned"];
      const rare = ill.every > 0 && sample % ill.every === 1 ? 4 : 1;
      return (
        usualNs *
        other *
        rare *
        (isSlow ? ill.slow : 1) *
        (1 + 0.01 * ((sample % 5) - 2)) *
        (way === "d2h" ? 1.003 : 1)
      );
    });
    let measured = 0;
    session.beforeMeasure = () => {
      if (measured++ !== ill.at || ill.fault === "" || !isFirst) return {};
      if (ill.fault !== "mismatch")
        throw nativeError(
          ill.fault === "sticky" ? "CUDA_ERROR_LAUNCH_FAILED" : ill.fault,
          ill.fault === "sticky",
        );
      return { verification: { checkedBytes: 1, mismatches: [{}, {}], copies: 5, provenCopies: 4 } as never };
    };
    const measure = session.measure.bind(session);
    session.measure = async (request) => {
      const { samples, readLink } = request;
      const { firstBuffer, warmupCopies, warmupBytes } = request;
      log.push(
        [
          ...[ordinal, request.direction, request.memory, samples, request.copiesPerSample],
          ...[firstBuffer, warmupCopies, warmupBytes, request.verify, readLink, request.company?.flow],
        ].join(" "),
      );
      const { columns, ...result } = await measure(request);
      // Long copies, during which NVML is read.
      for (let turn = 0; turn < 4 * samples && readLink; ++turn) await null;
      const link = readLink ? { ...healthyHealth.link!, width: one([16, 8]), smClockMHz: measured } : null;
      return {
        ...result,
        link,
        columns: columns.map((one, i) => ({
          ...one,
          hostNs: one.durationNs.map((ns) => ns / (2 + i + ordinal)),
        })),
      };
    };
    const own = numaNode ?? 0;
    const reserveHost = async (kind: PinningKind) => {
      log.push(`reserve ${ordinal} ${kind}`);
      if (kind === "registered" && ill.refuses !== null) throw nativeError(ill.refuses);
      const node = ill.elsewhere ? 1 - own : own;
      return { bytes: MiB, hugePageBytes: null, pagesOfNode: [{ node, pages: 9 }] };
    };
    const measureFirstCopy = async (restMs = 0) => ({
      durationNs: (restMs > 0 ? 30_000 : 8_000) + 100 * below(9),
    });
    return Object.assign(session, { reserveHost, measureFirstCopy }) as never;
  };
  let readings = 0;
  const readHealth = async () => {
    readings += 1;
    if (is(0.02)) throw nativeError("NVML");
    return {
      ...healthyHealth,
      temperatureC: readings,
      clockReasons: one([[], ["sw-power-cap"], ["gpu-idle"], null]),
    };
  };
  const root = fixtureRoot(tree);
  const cell = plannedCell({
    sizeBytes: 64 * MiB,
    buffersPerWorker: one([4, 8]),
    cache: one(["cold", "warm"]),
  });
  const cells = [plannedCell({ sizeBytes: MiB, skipReason: "no room" }), cell];
  const onActivity = (text: string) => log.push(`- ${text}`);
  const endMs = () => limitMs;
  const machine = { memory, cells, facts: { name, link: healthyHealth.link }, readHealth, onActivity };
  const { subjects, experiments } = await examinedAll(openSession, root, isQuick, count, endMs, machine);
  const { omitted, lost, together } = experiments;
  const driver = {
    readProcesses: async () =>
      is(0.5) ? [{ pid: 1, deviceMemoryBytes: 9 }] : Promise.reject(new Error("none")),
  };
  const backend = { driver, facts: { emulated: is(0.2), devices: [] } } as never;
  const devices = [];
  for (const subject of subjects)
    devices.push(await examinedDevice(subject, { backend, sharing: null, root, lost, together }));
  const what = ills.map(({ slow, of, fault }) => `${slow} in ${of}${fault && `, ${fault}`}`).join(" and ");
  const untold = subjects.map(({ bench, ...subject }) => subject);
  return [
    `${seed}: ${count} devices, ${what}, ${limitMs === 1e9 ? "all the time" : `${limitMs} ms`}${isQuick ? ", quick" : ""}`,
    { untold, omitted, lost, together, devices, log },
  ];
}

const names = [
  "NVIDIA H200",
  "NVIDIA H100 80GB HBM3",
  "NVIDIA A10G",
  "NVIDIA A10-8Q",
  "NVIDIA A10-8QME",
  "H MIG 1g.5gb",
  "H MIG",
];
const links = [null, 1, 3, 4, 5, 6, 7].flatMap((generation) =>
  [null, 1, 8, 16].map((width) => ({ generation, width })),
);
const listed = {
  alone: { h2d: 0.5, d2h: 0.6 },
  tolerance: 0.1,
  sources: ["first", "second"],
  gpu: "NVIDIA H200",
};
const sites = [
  null,
  { listed: [{ ...listed, together: { h2d: 0.4, d2h: 0.3, devices: 4 }, driver: "580" }] },
  { listed: [{ ...listed, together: null, driver: null }] },
];

function advice() {
  const { one, is, list } = seeded(5);
  return list(60, () => {
    const devices = list(one([1, 2]), (ordinal) => {
      const link = buildLink({
        width: one([8, 16]),
        maxWidth: one([16, 16, null]),
        generation: one([4, 5]),
        maxGeneration: one([5, 5, null]),
      });
      return buildDevice({ ordinal, name: one(names.slice(0, 4)), link: one([link, link, null]) });
    });
    const rarely = <T>(usual: T, other: T) => (is(0.12) ? other : usual);
    const cells = list(one([1, 3, 6]), () =>
      buildCell({
        ...{ device: one([0, 0, 1]), direction: one(["h2d", "d2h"]), workers: rarely(1, 2) },
        ...{ sizeBytes: rarely(one([32, 64]), 31) * MiB, memory: rarely<Memory>("pinned", "pageable") },
        ...{ mode: rarely<Mode>("throughput", "latency"), GBps: one([52.5, 52, 47, 40, 26, 21]) },
        ...rarely({}, { chunks: 2 }),
      }),
    );
    return doctorAdvice(buildDocument({ devices, cells, backend: one(["cuda", "cuda", "emulated"]) }));
  });
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [];
  for (let seed = 1; seed <= 60; ++seed) outputs.push(await examination(seed));
  const expected = names.flatMap((name) =>
    links.flatMap((link) =>
      sites.map((site) => expectationOf({ name, emulated: name === "H MIG" && site !== null }, link, site)),
    ),
  );
  outputs.push(["rates of healthy devices", expected]);
  outputs.push(["advice below results", advice()]);
  return outputs;
});
