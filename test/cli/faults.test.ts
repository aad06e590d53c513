import { describe, expect, it } from "vitest";
import { loadAddon } from "../../src/native/load.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import { cellOf, copyFaults, emulatedFaults, runCli, small } from "../helpers/run-cli.js";

const twoKinds = ["--memory", "pageable,pinned"];

/** The outcomes by route, such as "h2d/pinned". */
function outcomes({ cells }: ResultDocument): Record<string, string | null> {
  return Object.fromEntries(
    cells.map(({ direction, memory, outcome }) => [`${direction}/${memory}`, outcome]),
  );
}

describe("a run whose data come back wrong", () => {
  // Single copies through more buffers than there are copies in a round, so that no later copy hides a wrong one.
  const everyCopy = [...twoKinds, "--mode", "latency", "--samples", "300", "--sizes", "4KiB"];

  it.each([
    ["flip", "h2d"],
    ["drop", "h2d"],
    ["shift", "h2d"],
    ["stale", "h2d"],
    ["flip", "d2h"],
    ["drop", "d2h"],
    ["shift", "d2h"],
    ["stale", "d2h"],
  ] as const)("exits with 7 and fails only this direction's cells: %s of %s copies", async (fault, wrong) => {
    // Comparing itself copies one small result from the device, so not every d2h copy can be wrong.
    const right = wrong === "h2d" ? "d2h" : "h2d";
    const direction = wrong === "h2d" ? "h2d,d2h" : "d2h";
    const { exitCode, document } = await callSmall(
      [...everyCopy, "--direction", direction],
      copyFaults(fault, wrong),
    );
    expect(exitCode).toBe(7);
    expect(document.run.status).toBe("complete");
    expect(outcomes(document)).toMatchObject({
      [`${wrong}/pageable`]: "mismatch",
      [`${wrong}/pinned`]: "mismatch",
    });
    for (const cell of document.cells) {
      if (cell.direction === right) {
        expect(cell.stats[0]?.samples, cell.id).toBe(300);
        expect(cell.verification?.mismatches, cell.id).toEqual([]);
      } else {
        expect(cell.stats, cell.id).toEqual([]);
        expect(cell.verification?.mismatches[0], cell.id).toMatchObject({ direction: wrong, worker: 0 });
      }
    }
  });

  it("names the wrong data first on stderr, and in the tables", async () => {
    const { stdout, stderr } = await callCli(small(...everyCopy), { env: copyFaults("flip", "h2d") });
    expect(stderr).toMatch(
      /^pinbench: DATA CAME BACK WRONG in H2D pageable .*: do not trust this machine's copies/,
    );
    expect(stdout).toMatch(/4 KiB +1 +MISMATCH +MISMATCH\n/);
    expect(stdout).toContain("MISMATCH: data came back wrong in H2D pinned 4 KiB latency");
    expect(stdout).toMatch(/=> DATA CAME BACK WRONG in 2 of 4 cells/);
  });
});

describe("a failing driver call", () => {
  it("fails its cell, and the other cells are measured", async () => {
    const unknownError = emulatedFaults("cuMemcpyDtoHAsync_v2:999:nth=1");
    const { exitCode, stderr, document } = await callSmall(twoKinds, unknownError);
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(
      /^pinbench: 1 of 6 cells failed: cuMemcpyDtoHAsync_v2 failed with CUDA_ERROR_UNKNOWN/,
    );
    expect(document.run.status).toBe("complete");
    const failed = document.cells.filter(({ outcome }) => outcome === "failed");
    expect(failed.map(({ error }) => error)).toEqual([
      {
        code: "CUDA_ERROR_UNKNOWN",
        message: expect.stringContaining("cuMemcpyDtoHAsync_v2 failed"),
        call: "cuMemcpyDtoHAsync_v2",
        location: expect.stringMatching(/\.cpp:\d+$/),
        sticky: false,
      },
    ]);
    for (const { stats, outcome } of document.cells) {
      if (outcome !== "failed") expect(stats[0]?.samples).toBe(6);
    }
  });

  it("that loses the context skips the remaining cells, and fails the run", async () => {
    const illegalAddress = {
      ...emulatedFaults("cuMemcpyDtoHAsync_v2:700:nth=1"),
      PINBENCH_EMULATED_DEVICES: "2",
    };
    const args = [...twoKinds, "--device", "all"];
    const { exitCode, stderr, document } = await callSmall(args, illegalAddress);
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/^pinbench: The run failed: .*CUDA_ERROR_ILLEGAL_ADDRESS.*\n$/);
    expect(document.run).toMatchObject({ status: "failed", error: { sticky: true } });
    const ofDevice = (device: number) =>
      document.cells.filter((cell) => cell.device === device).map(({ outcome }) => outcome);
    expect(ofDevice(0)).toEqual(["failed", ...Array(5).fill("skipped")]);
    expect(ofDevice(1)).toEqual(Array(6).fill(null));
    const skipped = document.cells.find(({ outcome }) => outcome === "skipped");
    expect(skipped?.skipReason).toMatch(
      /^the context was lost with CUDA_ERROR_ILLEGAL_ADDRESS in d0\/h2d\/pageable/,
    );
  });

  it("while a device is opened leaves the other devices to be measured", async () => {
    const { exitCode, document } = await callSmall(["--memory", "pinned", "--device", "all"], {
      ...emulatedFaults("cuDevicePrimaryCtxRetain:2:nth=1"),
      PINBENCH_EMULATED_DEVICES: "2",
    });
    expect(exitCode).toBe(4);
    expect(document.run).toMatchObject({ status: "failed", error: { code: "CUDA_ERROR_OUT_OF_MEMORY" } });
    expect(document.cells.map(({ device, stats }) => [device, stats[0]?.samples])).toEqual([
      [0, undefined],
      [0, undefined],
      [1, 6],
      [1, 6],
    ]);
  });
});

describe("memory that cannot be allocated", () => {
  it("on the device fails every cell that uses it, and the run neither hangs nor crashes", async () => {
    const { exitCode, document } = await callSmall(twoKinds, {
      // The first allocations are the engine's own small ones.
      ...emulatedFaults("cuMemAlloc_v2:2:nth=3"),
    });
    expect(exitCode).toBe(4);
    const { "h2d/host": _, "d2h/host": __, ...ofDevice } = outcomes(document);
    expect(new Set(Object.values(ofDevice))).toEqual(new Set(["failed"]));
    expect(cellOf(document, { direction: "h2d", memory: "host" }).stats[0]?.samples).toBe(6);
    expect(document.cells[0]?.error?.code).toBe("CUDA_ERROR_OUT_OF_MEMORY");
  });

  it("as pinned memory fails only the cells that need it", async () => {
    const { exitCode, stdout, stderr } = await callCli(
      small("--memory", "pageable,staged,pinned,registered"),
      {
        env: { PINBENCH_EMULATED_PINNED_LIMIT: "1MiB" },
      },
    );
    expect(exitCode).toBe(4);
    const [, reasons] = /^pinbench: 8 of 10 cells failed: (.*CUDA_ERROR_OUT_OF_MEMORY.*)\.$/m.exec(stderr)!;
    const each = reasons!.split("; ");
    expect(new Set(each).size, reasons).toBe(each.length);
    expect(stdout).toMatch(/H2D +64 KiB +failed +\d[^\n]* failed +failed/i);
  });
});

/** The emulated driver in the place of NVIDIA's: pinbench then also looks for NVML, which is not on every machine. */
const asCuda = { PINBENCH_CUDA_LIBRARY: loadAddon().emulatedLibraryPath };

describe("a CUDA driver", () => {
  it("without NVML is used, and pinbench devices reports the link and clocks as missing", async () => {
    const { exitCode, stdout } = await runCli(["devices"], { env: asCuda });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/off +link and clocks \(NVML\)/);
  });

  it("that lacks kernel calls is used, and the cells that need them are skipped with the reason", async () => {
    const lacking = emulatedFaults(
      "cuDeviceGetUuid_v2:missing; cuLaunchKernel:missing",
      "driver:version=11040",
    );
    const { exitCode, document } = await callSmall(
      ["--memory", "pinned,mapped", "--direction", "h2d"],
      lacking,
    );
    expect(exitCode).toBe(0);
    expect(document.cudaVersion).toBe("11.4");
    const reasons = document.cells.map(({ memory, skipReason }) => [memory, skipReason]);
    const noKernels = "the driver lacks the calls that load and launch kernels";
    expect(reasons).toEqual(
      expect.arrayContaining([
        ["pinned", null],
        ["mapped", noKernels],
      ]),
    );
  });

  it("without an essential call is refused, and the call is named", async () => {
    const { exitCode, stderr } = await runCli(["run", "--backend", "cuda"], {
      env: { ...asCuda, ...emulatedFaults("cuMemHostAlloc:missing") },
    });
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/is no CUDA driver that pinbench can use: it lacks cuMemHostAlloc\./);
  });

  it("that refuses to register memory fails the registered cells, and the cold start names the error", async () => {
    const refused = emulatedFaults("cuMemHostRegister_v2:1");
    const { exitCode, stdout, stderr } = await callCli(
      small("--memory", "pinned,registered", "--direction", "h2d", "--all"),
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
