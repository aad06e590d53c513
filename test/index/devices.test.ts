import { describe, expect, it } from "vitest";
import { type DevicesOptions, devices } from "../../src/index.js";
import { callCli } from "../helpers/in-process.js";

describe("devices() of the library", () => {
  it("returns the document that `pinbench devices --json` prints", async () => {
    const { stdout } = await callCli(["devices", "--backend", "emulated", "--json"]);
    const document = await devices({ backend: "emulated" });
    const { backend, driver, devices: listed } = JSON.parse(stdout);
    expect(document).toMatchObject({ backend, driver, notice: expect.any(String) });
    expect(document.devices.map(({ name, uuid }) => [name, uuid])).toEqual(
      (listed as typeof document.devices).map(({ name, uuid }) => [name, uuid]),
    );
  });

  it("lists the emulated device only if asked for it", async () => {
    const libraryBefore = process.env.PINBENCH_CUDA_LIBRARY;
    process.env.PINBENCH_CUDA_LIBRARY = "/no/such/libcuda.so.1";
    try {
      await expect(devices()).rejects.toMatchObject({ kind: "unavailable" });
      expect((await devices({ backend: "emulated" })).backend).toBe("emulated");
    } finally {
      if (libraryBefore === undefined) delete process.env.PINBENCH_CUDA_LIBRARY;
      else process.env.PINBENCH_CUDA_LIBRARY = libraryBefore;
    }
  });

  it("names an unknown option and the known one", async () => {
    const misspelt = { backnd: "emulated" } as DevicesOptions;
    await expect(devices(misspelt)).rejects.toMatchObject({ kind: "usage" });
  });
});
