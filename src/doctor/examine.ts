import type { DeviceSharing } from "../host/device-sharing.js";
import type { PreparedRun } from "../measure/prepare.js";
import type { DeviceExamination, Examination } from "./examination.js";
import { beginSubject, examinedDevice, readHealth, type Subject } from "./examined-device.js";
import { Experiments } from "./experiments.js";
import { readMachineFacts } from "./facts/machine-facts.js";
import { readMachineCounters } from "./facts/memory-facts.js";

/** What is examined, and how long that may take. */
export interface ExamineOptions {
  prepared: Pick<PreparedRun, "plan" | "backend" | "build" | "createRendezvous" | "devices">;
  /** Who else uses the devices, of a process that has announced itself; null where nobody else can. */
  sharing: DeviceSharing | null;
  /** Where /proc and /sys are: "/", unless the machine is a made-up one. */
  root: string;
  /** Pinned copies and what NVML tells alone. */
  isQuick: boolean;
  /** On the clock of performance.now(): no device and no experiment is begun that is likely to last longer. */
  endMs: number;
  signal: AbortSignal;
  /** What is being done, in words. */
  onActivity: (text: string) => void;
}

/**
 * Reads and measures all that causes are looked for in. First on each device what its verdict needs; then, while there is
 * time, what tells causes apart, and what only a device below its expectation needs. A device that fails is left out of
 * what follows, and its examination says why; an error that loses the process' contexts ends the experiments. Rejects
 * where `signal` is aborted.
 */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const { prepared, root, signal } = options;
  const { driver } = prepared.backend;
  const counters = readMachineCounters(root);
  const subjects: Subject[] = [];
  for (const facts of prepared.devices) {
    subjects.push(await beginSubject(facts, driver, root));
  }
  const work = new Experiments(subjects, options);
  const abort = () => work.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await work.measureAll();
    const devices: DeviceExamination[] = [];
    for (const subject of subjects) {
      subject.health.after = await readHealth(driver, subject.facts);
      const { lost, together } = work;
      const context = { backend: prepared.backend, sharing: options.sharing, root, lost, together };
      devices.push(await examinedDevice(subject, context));
    }
    // The memory of copies is none that others have taken.
    await work.close();
    return {
      emulated: prepared.backend.facts.emulated,
      kernelsOff: work.kernelsOff,
      machine: readMachineFacts(root, counters),
      devices,
      omitted: work.omitted,
    };
  } finally {
    signal.removeEventListener("abort", abort);
    await work.close();
  }
}
