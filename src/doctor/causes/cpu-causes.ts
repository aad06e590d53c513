import { formatMicroseconds, formatWholeShare } from "../../draw/numbers.js";
import type { Examination } from "../examination.js";
import { isSlow } from "./cost.js";
import type { Seen } from "./share-loss.js";

/**
 * Minimum increase that is reported. A copy of 4 KiB takes some 10 us, and on any machine up to 30 us more after a
 * rest, because caches are cold. The second minimum holds if no CPU is known to sleep.
 */
const leastAddedUs = 50;
const leastUnseenUs = 300;

/** Wake-up time from which an idle state adds to latency. */
const deepStateUs = 20;

/**
 * A copy after a rest is much slower: shared parts of the processor (clocks, caches, memory paths) or the link must
 * wake up first. The copying core is awake when the clock starts.
 */
export function wakesSlowly({ machine, devices }: Examination): Seen | null {
  const deep = machine.idleStates.filter(
    ({ disabled, exitLatencyUs, timeUs }) => !disabled && exitLatencyUs >= deepStateUs && timeUs !== 0,
  );
  const leastUs = deep.length > 0 ? leastAddedUs : leastUnseenUs;
  const slow = devices.flatMap(({ facts, measured: { latency } }) => {
    const addedUs = latency === null ? 0 : latency.afterRestUs - latency.backToBackUs;
    return latency !== null && addedUs >= leastUs ? [{ ordinal: facts.ordinal, latency, addedUs }] : [];
  });
  const [worst] = slow.sort((a, b) => b.addedUs - a.addedUs);
  if (worst === undefined) return null;
  const { latency } = worst;
  return {
    summary: `A small copy takes ${formatMicroseconds(worst.addedUs)} us longer after some milliseconds of rest, as if the processor had to wake up.`,
    evidence: [
      `device ${worst.ordinal}, copies of 4 KiB: ${formatMicroseconds(latency.backToBackUs)} us one after the other, ${formatMicroseconds(latency.afterRestUs)} us after a rest`,
      ...(deep.length > 0
        ? [
            `the CPU may sleep in ${deep.map((state) => `${state.name} (${state.exitLatencyUs} us to wake up)`).join(", ")}`,
          ]
        : []),
    ],
    fix: `If small copies matter, keep the CPU awake: cpupower idle-set --disable-by-latency ${deepStateUs}.`,
    sureness: deep.length > 0 ? "likely" : "possible",
  };
}

/** The governor may keep the CPUs' frequency low. Reported only if copies are slow, because it is only a setting. */
export function governorSaves({ machine, devices }: Examination): Seen | null {
  if (machine.host.governor !== "powersave" || !devices.some(isSlow)) return null;
  return {
    summary: "The CPUs' frequency may stay low or be slow to rise, which also slows host memory.",
    evidence: ["frequency governor: powersave"],
    fix: "Try cpupower frequency-set --governor performance, and measure again.",
    sureness: "possible",
  };
}

/** With a smaller quota, in CPUs, the kernel stops a copying thread in each period. */
const fewCpus = 2;

/** The control group allows less CPU time than a copying thread and Node need. */
export function cpuQuotaLow({ machine: { host } }: Examination): Seen | null {
  if (host.cpuQuota === null || host.cpuQuota >= fewCpus) return null;
  return {
    summary: "The control group limits this process's CPU time, so copying threads are stopped.",
    evidence: [`cgroup quota: ${host.cpuQuota} CPUs`],
    fix: "Raise the container's or job's CPU limit (docker run --cpus, Kubernetes resources.limits.cpu).",
    sureness: "likely",
  };
}

/** Larger shares of CPU time in other programs or guests disturb copies. */
const muchStolen = 0.02;
const muchUsedByOthers = 0.5;

/** Other programs or guests of the host used the CPUs during the copies. */
export function cpusTaken({ machine: { activity } }: Pick<Examination, "machine" | "devices">): Seen | null {
  const stolen = activity?.load.stealShare ?? 0;
  const others = activity?.load.otherCpuShare ?? 0;
  const isStolen = stolen >= muchStolen;
  if (!isStolen && others < muchUsedByOthers) return null;
  const share = formatWholeShare(isStolen ? stolen : others);
  return {
    summary: isStolen
      ? `The hypervisor gave ${share} of the CPUs' time to others during the measurement.`
      : `Other programs used ${share} of the CPUs' time during the measurement.`,
    evidence: [`${isStolen ? "stolen time" : "CPU time of others"} in /proc/stat: ${share}`],
    fix: isStolen
      ? "Ask the host's maintainer for CPUs of your own (dedicated or pinned)."
      : "Examine the machine again while nothing else runs (top shows what does).",
    sureness: "likely",
  };
}
