import { describe, expect, it } from "vitest";
import type { DevicesReport } from "../../src/report/describe-devices.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import { small } from "../helpers/run-cli.js";

const twoDevices = { PINBENCH_EMULATED_DEVICES: "2", PINBENCH_EMULATED_MEMORY: "2GiB" };
const pinned = ["--memory", "pinned", "--direction", "h2d"];

describe("pinbench devices", () => {
  it("shows devices, limits and what is off, and why", async () => {
    const { exitCode, stdout, stderr } = await callCli(["devices", "--backend", "emulated"], {
      env: twoDevices,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const parts = [
      emulatedNotice,
      /device +name +PCI bus id +memory +compute +NUMA +link now +at most\n/,
      /\n +0 +pinbench emulated device 0 +eeee:00:00\.0 +2 GiB/,
      /\n +1 +pinbench emulated device 1 +eeee:01:00\.0 +2 GiB/,
      /\n {2}Driver +.*CUDA \d+\.\d/,
      /\n {2}Memlock +/,
      /\n {2}Huge pages +transparent: /,
      /\n {2}on +copies from every host memory\n/,
      /\n {2}off +link and clocks \(NVML\) +the emulated device has no link\n/,
    ];
    for (const part of parts) expect(stdout).toMatch(part);
  });

  it("prints the same as one JSON document", async () => {
    const { stdout } = await callCli(["devices", "--backend", "emulated", "--json"], { env: twoDevices });
    const report = JSON.parse(stdout) as DevicesReport;
    expect(report).toMatchObject({ backend: "emulated", notice: emulatedNotice });
    expect(report.devices.map(({ ordinal, totalMemoryBytes }) => [ordinal, totalMemoryBytes])).toEqual([
      [0, 2 ** 31],
      [1, 2 ** 31],
    ]);
    expect(report.features.find(({ name }) => name.includes("event"))).toMatchObject({ on: true });
  });
});

describe("pinbench run --device", () => {
  it.each(["all", "0,1", "1,0,1"])("measures %s one after the other, cells apart", async (devices) => {
    const { exitCode, document } = await callSmall([...pinned, "--device", devices], twoDevices);
    expect(exitCode).toBe(0);
    expect(document.devices.map(({ ordinal }) => ordinal)).toEqual([0, 1]);
    expect(document.coldStart.map(({ device }) => device)).toEqual([0, 1]);
    expect(document.cells.map(({ id, stats }) => [id, stats[0]?.samples])).toEqual([
      ["d0/h2d/pinned/65536/w1/throughput/wall/cold", 6],
      ["d1/h2d/pinned/65536/w1/throughput/wall/cold", 6],
    ]);
  });

  it("measures device 0 alone if nothing is said, and a single other one", async () => {
    const { document } = await callSmall(pinned, twoDevices);
    expect(document.devices.map(({ ordinal }) => ordinal)).toEqual([0]);
    const other = await callSmall([...pinned, "--device", "1"], twoDevices);
    expect(other.document.devices.map(({ ordinal }) => ordinal)).toEqual([1]);
  });

  it("has a header line and a table for each", async () => {
    const { stdout } = await callCli(small(...pinned, "--device", "all", "--verbose"), { env: twoDevices });
    expect(stdout).toMatch(/ {2}Device 0 .*\n {2}Link 0 .*\n {2}Device 1 /);
    expect(stdout.match(/Host to device \(H2D\), GB\/s/g)).toHaveLength(2);
  });
});
