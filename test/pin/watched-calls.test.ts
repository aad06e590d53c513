import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { neighbourOpener } from "../../src/measure/worker-process.js";
import type { Neighbour } from "../../src/pin/stalls.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Another process on the emulated device, in which these calls fail. */
async function neighbourIn(...faults: readonly object[]): Promise<Neighbour> {
  vi.stubEnv("PINBENCH_EMULATED_FAULTS", JSON.stringify(faults));
  const { signal } = new AbortController();
  const session = { device: 0, cpus: [], threads: 1, numaNode: null, seed: 1 };
  const neighbour = await neighbourOpener("emulated", signal)(session);
  onTestFinished(() => neighbour.close());
  return neighbour;
}

const outOfMemory = { call: "cuMemGetInfo_v2", result: 2 };
const failure = { code: "CUDA_ERROR_OUT_OF_MEMORY", message: expect.stringContaining("cuMemGetInfo") };

it("a watched call that fails is not left out of the answers, but ends the watch", async () => {
  const neighbour = await neighbourIn(outOfMemory);
  await expect(neighbour.watch()).rejects.toMatchObject(failure);
});

it("a watched call that fails later ends the watch too, and not as if it had been answered", async () => {
  const neighbour = await neighbourIn({ ...outOfMemory, from: 3 });
  // On a busy machine it fails before watch() resolves.
  const watched = neighbour.watch().then(() => neighbour.endWatch());
  await expect(watched).rejects.toMatchObject(failure);
});

it("a call that no NVML answers is left out, and the others are answered", async () => {
  const neighbour = await neighbourIn();
  await neighbour.watch();
  const answers = await neighbour.endWatch();
  expect(Object.keys(answers).sort()).toEqual(["memory-info", "small-copy"]);
});
