import type { DeviceExamination, Examination } from "./examination.js";
import { beginSubject, examinedDevice, readHealth, type Subject } from "./examined-device.js";
import { type ExamineOptions, Experiments } from "./experiments.js";
import { readMachineFacts } from "./facts/machine-facts.js";
import { readMachineCounters } from "./facts/memory-facts.js";

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
    subjects.push(await beginSubject(facts, options.reference, driver, root));
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
