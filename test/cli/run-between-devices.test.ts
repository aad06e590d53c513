import { describe, expect, it } from "vitest";
import type { ResultDocument } from "../../src/results/schema.js";
import { peerPaths } from "../../src/settings/choices.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import { copyFaults, emulatedFaults } from "../helpers/run-cli.js";

const twoDevices = { PINBENCH_EMULATED_DEVICES: "2" };
const between = ["--direction", "p2p", "--device", "all"];
const fromFirst = (path: string) => `d0/p2p/device/65536/w1/throughput/wall/cold/to-1/${path}`;

const pathsWith = (outcome: RegExp, { cells }: ResultDocument) =>
  cells
    .filter((cell) => outcome.test(cell.outcome ?? ""))
    .map(({ device, peer, path }) => [device, peer, path]);

describe("pinbench run --direction p2p", () => {
  it("measures every pair of devices, both ways, by every path, and compares what arrived", async () => {
    const { exitCode, document } = await callSmall([...between, "--timer", "wall,event"], twoDevices);
    expect(exitCode).toBe(0);
    for (const timer of ["wall", "event"]) {
      const cells = document.cells.filter((cell) => cell.timer === timer);
      expect(cells.map(({ device, peer, path }) => [device, peer, path])).toEqual([
        ...peerPaths.map((path) => [0, 1, path]),
        ...peerPaths.map((path) => [1, 0, path]),
      ]);
    }
    for (const { id, outcome, samples, verification } of document.cells) {
      expect(outcome, id).toMatch(/^(converged|budget)$/);
      expect(samples.map(({ direction }) => direction)).toEqual(["p2p"]);
      expect(samples[0]!.durationNs, id).toHaveLength(6);
      expect(verification!.checkedBytes, id).toBeGreaterThan(0);
      expect(verification!.mismatches, id).toEqual([]);
    }
  });

  it.each(peerPaths)("goes one way alone if only cells of that way are asked for: %s", async (path) => {
    const args = ["run", "--backend", "emulated", "--samples", "6", "--json", "--cells", fromFirst(path)];
    const { exitCode, stdout } = await callCli(args, { env: twoDevices });
    expect(exitCode).toBe(0);
    const { cells } = JSON.parse(stdout) as ResultDocument;
    expect(cells.map(({ id, samples }) => [id, samples[0]!.durationNs.length])).toEqual([
      [fromFirst(path), 6],
    ]);
  });

  it("goes through the host alone if the devices have no access to each other", async () => {
    const env = { ...twoDevices, PINBENCH_EMULATED_PEERS: "none" };
    const { exitCode, document } = await callSmall(between, env);
    expect(exitCode).toBe(0);
    expect(pathsWith(/^(converged|budget)$/, document)).toEqual([
      [0, 1, "through-host"],
      [1, 0, "through-host"],
    ]);
    const skipped = document.cells.filter(({ outcome }) => outcome === "skipped");
    expect(skipped).toHaveLength(8);
    for (const { skipReason } of skipped) {
      expect(skipReason).toMatch(/^devices [01] and [01] have no access to each other's memory$/);
    }
  });

  it("names the copies whose data were wrong", async () => {
    const env = { ...twoDevices, ...copyFaults("drop", "p2p") };
    const { exitCode, document } = await callSmall(between, env);
    expect(exitCode).toBe(4);
    expect(pathsWith(/^mismatch$/, document).length).toBeGreaterThan(0);
  });

  it("fails with the driver's error if the device at the other end has no memory", async () => {
    // The first six are those of device 0, and what device 1's session itself needs.
    const env = { ...twoDevices, ...emulatedFaults({ call: "cuMemAlloc_v2", nth: 7, result: 2 }) };
    const { exitCode, document } = await callSmall(between, env);
    expect(exitCode).toBe(4);
    expect(document.cells.map(({ outcome, error }) => [outcome, error?.code])).toEqual(
      Array(10).fill(["failed", "CUDA_ERROR_OUT_OF_MEMORY"]),
    );
  });
});
