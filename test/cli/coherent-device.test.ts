import { beforeAll, describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { runCli, small } from "../helpers/run-cli.js";

describe("a run on a device that NVLink-C2C connects and that cannot register memory", () => {
  let exitCode: number | null;
  let document: ResultDocument;
  const cellsOf = (memory: string) => document.cells.filter((cell) => cell.memory === memory);

  beforeAll(async () => {
    const memory = ["--memory", "pinned,registered,system", "--direction", "h2d,d2h,bidir"];
    const finished = await runCli(small(...memory, "--samples", "3", "--json"), {
      env: {
        // NVML also reports a PCIe link, which copies do not use.
        PINBENCH_EMULATED_NVML: "c2cLinks=10:generation=1:width=1",
        PINBENCH_EMULATED_FAULTS: "cuMemHostRegister_v2:801",
      },
    });
    exitCode = finished.exitCode;
    document = parseResult(finished.stdout);
  });

  it("copies memory of kind system in every direction without a wrong byte", () => {
    expect(cellsOf("system")).toHaveLength(3);
    for (const { id, outcome, verification } of cellsOf("system")) {
      expect.soft(outcome, id).toMatch(/^(converged|budget)$/);
      expect.soft(verification?.mismatches, id).toEqual([]);
      expect.soft(verification?.checkedBytes, id).toBeGreaterThanOrEqual(65536);
    }
  });

  it("skips registered memory, gives the reason, and exits with 0", () => {
    expect(exitCode).toBe(0);
    expect(cellsOf("registered")).toHaveLength(3);
    for (const { id, outcome, skipReason } of cellsOf("registered")) {
      expect.soft(outcome, id).toBe("skipped");
      expect
        .soft(skipReason, id)
        .toMatch(/^device 0 \(.+\) cannot register memory; pinned memory copies as fast$/);
    }
  });

  it("reports no PCIe limit for the device", () => {
    expect(document.devices[0]).toMatchObject({ link: { generation: 1, width: 1 }, linkLimitGBps: null });
  });
});
