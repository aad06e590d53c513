// Parts of the machine in which trainings run at the same time: a share of its CPUs, and a GPU each.
import { allowedCpus } from "../../dist/host/cpus.js";

/**
 * `count` equal parts: the `cpus` of one, the beginning of its commands, and what its environment adds. One alone is the
 * machine as it is.
 */
export function makePlaces(count, cpus = allowedCpus(), visible = process.env.CUDA_VISIBLE_DEVICES) {
  if (count === 1) return [{ cpus: cpus.length, prefix: [], env: {} }];
  const devices = visible?.split(",") ?? Array.from({ length: count }, (_, index) => String(index));
  const share = Math.floor(cpus.length / count);
  if (devices.length < count || share === 0)
    throw new Error(`${count} places need a GPU and a CPU each: ${devices.length} GPUs, ${cpus.length} CPUs`);
  return Array.from({ length: count }, (_, index) => ({
    cpus: share,
    prefix: ["taskset", "-c", cpus.slice(index * share, (index + 1) * share).join(",")],
    env: { CUDA_VISIBLE_DEVICES: devices[index] },
  }));
}
