import { describe, expect, it } from "vitest";
import { loadAddon } from "../../src/native/load.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import { cellOf, emulatedFaults, runCli, small } from "../helpers/run-cli.js";

const oneCopy = ["--memory", "pinned", "--direction", "h2d"];

/** The emulated driver in the place of NVIDIA's: pinbench then also looks for NVML, which is not on every machine. */
const asCuda = { PINBENCH_CUDA_LIBRARY: loadAddon().emulatedLibraryPath };

describe("a machine with devices", () => {
  it("none on the driver of a GPU: the same, with what to do", async () => {
    const { exitCode, stderr } = await runCli(["run", "--backend", "cuda"], {
      env: { ...asCuda, PINBENCH_EMULATED_DEVICES: "0" },
    });
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(
      /^pinbench: The CUDA backend is not available: the CUDA driver reports no device\. /,
    );
  });
});

describe("a driver", () => {
  it("without NVML: what only that knows is not known", async () => {
    const { exitCode, stdout } = await runCli(["devices"], { env: asCuda });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/off +link and clocks \(NVML\)/);
  });

  it("that is old: what needs the calls it lacks is skipped, each with its reason", async () => {
    const lacking = emulatedFaults(
      {
        missing: ["cuStreamWaitValue32_v2", "cuEventElapsedTime_v2", "cuDeviceGetUuid_v2", "cuLaunchKernel"],
      },
      { driverVersion: 11_040 },
    );
    const { exitCode, document } = await callSmall(
      ["--memory", "pinned,mapped", "--direction", "h2d", "--timer", "wall,event"],
      lacking,
    );
    expect(exitCode).toBe(0);
    expect(document.cudaVersion).toBe("11.4");
    const reasons = document.cells.map(({ memory, timer, skipReason }) => [memory, timer, skipReason]);
    const noKernels = "the driver lacks the calls that load and launch kernels";
    expect(reasons).toEqual(
      expect.arrayContaining([
        ["pinned", "wall", null],
        ["mapped", "wall", noKernels],
        ["pinned", "event", expect.stringContaining("the driver lacks cuStreamWaitValue32_v2")],
      ]),
    );
  });

  it("that lacks what everything needs is refused by that name", async () => {
    const { exitCode, stderr } = await runCli(["run", "--backend", "cuda"], {
      env: { ...asCuda, ...emulatedFaults({ missing: ["cuMemHostAlloc"] }) },
    });
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/is no CUDA driver that pinbench can use: it lacks cuMemHostAlloc\./);
  });

  it("that refuses to pin memory of others: registered cells fail, and the cold start says why it has a gap", async () => {
    const refused = emulatedFaults({ call: "cuMemHostRegister_v2", result: 1 });
    const { exitCode, stdout, stderr } = await callCli(
      small("--memory", "pinned,registered", "--direction", "h2d", "--verbose"),
      { env: refused },
    );
    const reason = /cuMemHostRegister_v2 failed with CUDA_ERROR_INVALID_VALUE \(invalid argument\)/;
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: 1 of 2 cells failed: /);
    expect(stderr).toMatch(reason);
    const unwrapped = stdout.replaceAll(/\s+/g, " ");
    expect(unwrapped).toMatch(new RegExp(`registered memory was refused: ${reason.source}`));
  });
});

describe("memory", () => {
  it("above a size that cannot be had fails the cells that need it, and those alone", async () => {
    // The ring of staged copies is larger than all that the small ones of pinned memory take.
    const { exitCode, document } = await callSmall(
      ["--memory", "staged,pinned", "--direction", "h2d"],
      emulatedFaults({ outOfMemoryAbove: "3MiB" }),
    );
    expect(exitCode).toBe(4);
    expect(cellOf(document, { memory: "staged" }).error?.code).toBe("CUDA_ERROR_OUT_OF_MEMORY");
    expect(cellOf(document, { memory: "pinned" }).stats[0]?.samples).toBe(6);
  });

  it("that another process has taken ends the run with that reason, and what to look at", async () => {
    const { exitCode, stderr } = await callCli(small(...oneCopy), {
      env: emulatedFaults({ otherProcess: "16GiB" }),
    });
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: The run failed: .*CUDA_ERROR_OUT_OF_MEMORY.*nvidia-smi/);
  });
});

describe("a link", () => {
  it("that trains down while it is measured shows in the tail of its latencies", async () => {
    const { exitCode, document } = await callSmall(
      [...oneCopy, "--mode", "latency", "--samples", "400"],
      // Copies of warming up and comparing come first, and there are more than 200 samples after.
      emulatedFaults({ link: "h2d", slowdown: 1000, from: 250 }),
    );
    expect(exitCode).toBe(0);
    const [stats] = document.cells[0]!.stats;
    expect(stats!.samples).toBe(400);
    // No host copies faster than at 200 GB/s, which makes 0.3 us of 64 KiB, and 1000 times that of a slowed one.
    expect(stats!.latencyUs!.p99).toBeGreaterThan(300);
  });
});
