import { beginSubject, type Subject } from "../../src/doctor/examined-device.js";
import { Experiments } from "../../src/doctor/experiments.js";
import type { PreparedRun } from "../../src/measure/prepare.js";
import type { NativeDriver, PinningKind } from "../../src/native/contract.js";
import type { DeviceFacts } from "../../src/native/device-contract.js";
import type { PlannedCell } from "../../src/plan/geometry.js";
import { healthyHealth } from "../helpers/examination.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { deviceFacts, MiB, plannedCell } from "../measure/support.js";

const cell = plannedCell({ sizeBytes: 64 * MiB });
const arena = { chunksOfWorker: [1], chunkBytes: 256 * MiB };

/** Duration of a copy on a healthy device, in ns. */
export const usualNs = cell.sizeBytes / 55;

/** Files of two NUMA nodes; the device is at the first. */
export const twoNodes = {
  "proc/self/status": "Cpus_allowed_list:\t0-3",
  "sys/devices/system/node/online": "0-1",
  "sys/devices/system/node/node0/cpulist": "0-1",
  "sys/devices/system/node/node1/cpulist": "2-3",
  [`sys/bus/pci/devices/${deviceFacts.pciBusId}/numa_node`]: "0",
};

export type OpenSession = NativeDriver["openSession"];

interface Machine {
  root?: string;
  cells?: readonly PlannedCell[];
  memory?: readonly PinningKind[];
}

/** A plan on a machine with this driver and one device. */
export function preparedOn(
  driver: object,
  { root = fixtureRoot(), cells = [cell], memory = ["pinned"] }: Machine = {},
): PreparedRun {
  const arenas = {
    host: Object.fromEntries(memory.map((kind) => [kind, arena])),
    ...{ device: arena, deviceCopies: 1, staging: null, gatherBytes: 0, blocks: { listed: 0, all: 0 } },
  };
  return {
    ...{ plan: { cells, arenas }, devices: [deviceFacts], root, build: { kernels: true } },
    backend: { driver, name: "cuda", facts: { emulated: false, devices: [deviceFacts] } },
    createRendezvous: () => ({ reset: () => undefined, cancel: () => undefined }),
  } as never;
}

/** Finished experiments on this number of devices, in the machine of this folder. */
export async function examinedAll(
  openSession: OpenSession,
  root: string,
  isQuick: boolean,
  count: number,
  endMs = () => Number.POSITIVE_INFINITY,
  {
    facts = {},
    readHealth = async () => healthyHealth,
    onActivity = () => undefined,
    ...machine
  }: Machine & {
    facts?: Partial<DeviceFacts>;
    readHealth?: NativeDriver["readHealth"];
    onActivity?: (text: string) => void;
  } = {},
) {
  const driver = { openSession, readHealth, readActivity: async () => null };
  const subjects: Subject[] = [];
  for (let ordinal = 0; ordinal < count; ++ordinal) {
    subjects.push(
      await beginSubject(
        { ...deviceFacts, name: "NVIDIA H200", ...facts, ordinal },
        null,
        driver as never,
        root,
      ),
    );
  }
  const experiments = new Experiments(subjects, {
    prepared: preparedOn(driver, machine),
    ...{ sharing: null, reference: null, root, isQuick },
    get endMs() {
      return endMs();
    },
    ...{ signal: new AbortController().signal, onActivity },
  });
  await experiments.measureAll();
  return { subjects, experiments };
}
