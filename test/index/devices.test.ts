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
    const found = await devices().then(
      ({ backend }) => backend,
      ({ kind }) => kind,
    );
    expect(["cuda", "unavailable"]).toContain(found);
  });

  it("names an unknown option and the known one", async () => {
    const misspelt = { backnd: "emulated" } as DevicesOptions;
    await expect(devices(misspelt)).rejects.toMatchObject({ kind: "usage" });
  });
});
