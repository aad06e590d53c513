import { describe, expect, it } from "vitest";
import { callCli } from "../helpers/in-process.js";
import { small } from "../helpers/run-cli.js";

const twoDevices = { PINBENCH_EMULATED_DEVICES: "2" };

/** The report of a run on the emulated device, white space aside. */
async function reportOf(args: readonly string[], env: Record<string, string> = {}) {
  const { exitCode, stdout } = await callCli(small(...args), { env });
  expect(exitCode).toBe(0);
  return stdout.replaceAll(/\s+/g, " ");
}

describe("what is measured at once", () => {
  it("has a table over all devices, with what each keeps, and a closing line", async () => {
    const report = await reportOf(
      ["--together", "--memory", "pinned", "--direction", "h2d", "--verbose"],
      twoDevices,
    );
    expect(report).toMatch(
      /Devices 0 and 1 at once: Host to device \(H2D\), GB\/s .* pinned at once [\d.]+ .* of alone [\d.]+ % [\d.]+ % [\d.]+ % of alone: /,
    );
    expect(report).toMatch(/=> .* when devices 0 and 1 copy at once \(pinned, /);
  });

  it("has matrices of copies between devices, and a closing line", async () => {
    const report = await reportOf(["--direction", "p2p", "--verbose"], twoDevices);
    expect(report).toMatch(/Between devices \(P2P\), 64 KiB, GB\/s .* write 0 [\d.]+ .* 1 [\d.]+ .* read 0 /);
    expect(report).toMatch(/=> On the emulated device, devices reach each other's memory directly/);
    const without = await reportOf(["--direction", "p2p"], {
      ...twoDevices,
      PINBENCH_EMULATED_PEERS: "none",
    });
    expect(without).toMatch(/=> On the emulated device, devices do not reach each other's memory: /);
  });

  it("has a table beside each load, and one of chunks, with a closing line each", async () => {
    const flags = ["--direction", "h2d", "--memory", "pinned", "--workers", "1"];
    const report = await reportOf([...flags, "--beside", "none,memory", "--pipeline", "1,4"]);
    expect(report).toContain("Host to device (H2D) beside a load on the device's memory, GB/s");
    expect(report).toContain("Host to device (H2D), in chunks with a kernel behind each, ms a batch");
    expect(report).toMatch(
      /=> (?:On the emulated device, b|B)eside a load on the device's memory \(64 KiB, 1 worker\), /,
    );
    expect(report).toMatch(/=> .*[Cc]opies of 64 KiB that overlap with kernels/);
  });
});
