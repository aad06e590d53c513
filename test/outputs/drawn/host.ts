import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { activityBetween } from "../../../src/doctor/facts/machine-facts.js";
import * as cpus from "../../../src/host/cpus.js";
import { listTickets } from "../../../src/host/device-tickets.js";
import { countIn, fieldOf, readBytes } from "../../../src/host/files.js";
import { hostRecord, type LoadReading, loadBetween, readLoad } from "../../../src/host/machine-load.js";
import * as memory from "../../../src/host/memory.js";
import * as numa from "../../../src/host/numa-nodes.js";
import { hasRoomForProcesses, readProcessStat } from "../../../src/host/processes.js";
import { hugePageBytes } from "../../../src/host/system.js";
import * as topology from "../../../src/host/topology.js";
import { fixtureRoot } from "../../helpers/fixture-root.js";
import { filesOf } from "../../helpers/machine-files.js";
import { machineTree } from "../../helpers/machine-tree.js";
import { type Seeded, seeded } from "../../helpers/seeded.js";
import { draws } from "../draws.js";

const texts = [
  "",
  "0",
  "3-1",
  "5,1-3,2",
  "a",
  "1-",
  "65535",
  "65536",
  "0-70000",
  "-1",
  "1,,2",
  "1-2-3",
  "12 kB",
  " 7 ",
  "9007199254740992",
];
const names = [
  "0000:06:00.0",
  "00000000:C1:1F.7",
  "ABCD:aa:00.0",
  "10000:01:00.0",
  "0000:06:00.8",
  "006:00:00.0",
  "0000:6:00.0",
  "x0000:06:00.0",
];

/** What stands in a machine's files; each may be missing. */
const files = filesOf("hosts");
/** Without these, a machine's facts are those of the one that the tests run on. */
const needed = ["proc/self/status", "proc/meminfo", "sys/devices/system/cpu/online"];

/** Each hides what stands in others. */
const rare = /env$|\.d$|namespace$|hypervisor/;

const attempt = <T>(action: () => T) => {
  try {
    return action();
  } catch (error) {
    return `${error} ${(error as { hint?: string }).hint}`;
  }
};

function host({ one, is, list }: Seeded, share: number) {
  const root = fixtureRoot(
    Object.fromEntries(
      Object.entries(files).flatMap(([path, values]) =>
        needed.includes(path) || is(rare.test(path) ? 0.1 : share) ? [[path, one(values)]] : [],
      ),
    ),
  );
  if (is(0.7)) {
    mkdirSync(join(root, "proc/self/ns"), { recursive: true });
    symlinkSync(one(["pid:[4026]", "pid:[4027]"]), join(root, "proc/self/ns/pid"));
  }
  const nodes = numa.readNumaNodes(root);
  const places = numa.numaPlaces(nodes);
  const crossed = list(3, (cpuNode) => list(3, (memoryNode) => ({ cpuNode, memoryNode }))).flat();
  const before = { compactionStalls: one([1, null]), hugePages: 2, hugePagesRefused: 3 };
  const { stalledNs, cpus: ticks } = readLoad(root);
  const { memoryTotalBytes, ...record } = hostRecord(root);
  return {
    ...{
      record,
      memoryTotalBytes,
      nodes,
      places,
      stalledNs,
      ticks,
      usable: cpus.usableCpuCount(root),
      allowed: cpus.allowedCpus(root),
    },
    groups: (["cpu", "memory"] as const).map((controller) => cpus.cgroupsOf(root, controller)),
    local: places.filter((place) => numa.isLocalPlace(place, places)),
    placed: crossed.map((place) => attempt(() => numa.placementAt(place, root))),
    chosen: (["local", "all", 0, 1, 7] as const).map((choice) =>
      attempt(() => topology.choosePlacement("0000:06:00.0", choice, root)),
    ),
    room: list(5, (count) => hasRoomForProcesses(count, root)),
    ...{ stat: readProcessStat(77, root), tickets: listTickets(root) },
    ...{
      events: memory.readPageEvents(root),
      since: memory.pageEventsSince(before, root),
      available: memory.systemAvailableBytes(root),
      huge: hugePageBytes(root),
    },
    ofNodes: list(6, (node) => topology.cpusOfNode(node, root)),
  };
}

/** Readings of the machine's counters, of which some go back or are unknown. */
function load({ one, is, list }: Seeded) {
  let atNs = 0;
  const reading = (): LoadReading => {
    atNs += one([1e9, 2e9, 0]);
    const cpus = {
      count: one([2, 4]),
      totalTicks: atNs / 1e7 + one([0, 50, 400]),
      stolenTicks: one([0, 5, 40]),
      busyTicks: atNs / 2e7,
    };
    const stalled = () => (is(0.1) ? null : atNs * one([0.1, 0.5, 1.5]));
    return {
      atNs,
      ownCpuNs: atNs * one([0.1, 0.5, 3]),
      cpus: is(0.1) ? null : cpus,
      stalledNs: { cpu: stalled(), memory: stalled(), io: stalled() },
    };
  };
  const stretches = list(one([1, 2, 3]), () => [reading(), reading()] as const);
  const [[from, to]] = stretches as [(typeof stretches)[number]];
  const pages = () => one([null, 5, 7, 100]);
  return [
    loadBetween(stretches),
    activityBetween({ load: from, swappedPages: pages() }, { load: to, swappedPages: pages() }),
  ];
}

function* hosts(): Generator<[string, unknown]> {
  for (let seed = 1; seed <= 60; ++seed) {
    const chosen = seeded(seed);
    const share = chosen.one([0.3, 0.6, 0.9]);
    yield [`${seed}: a host with ${100 * share} % of the files`, host(chosen, share)];
  }
  const loads = seeded(1);
  yield ["loads", loads.list(60, () => load(loads))];
  yield [
    "lists and numbers",
    texts.map((text) => [
      text,
      cpus.parseCpuList(text),
      countIn(text),
      fieldOf(`a:b\n x : ${text} \nx: 2`, "x"),
    ]),
  ];
  yield ["names of devices", names.map((name) => [name, topology.sysfsPciName(name)])];
  const root = machineTree({ "a/text": "0123456789" });
  yield [
    "ways to devices",
    ["0000:18:00.0", "00000000:19:00.0", "0000:15:01.0", "0000:99:00.0", "x"].map((name) =>
      topology.upstreamPath(name, root),
    ),
  ];
  yield [
    "parts of files",
    [4, 10, 11].map((bytes) => [
      `${readBytes(root, "a/text", bytes)}`,
      `${readBytes(root, "a/text", bytes, "last")}`,
      readBytes(root, "b", 4),
    ]),
  ];
}

draws(import.meta.url, hosts);
