import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { upstreamPath } from "../../src/host/topology.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

/** A tree of devices as sysfs has it: each is a folder below its bridge, and a link in the list of all devices. */
function rootWith(...devices: string[]): string {
  const root = fixtureRoot();
  for (const path of devices) {
    mkdirSync(join(root, "sys/devices", path), { recursive: true });
    const link = join(root, "sys/bus/pci/devices", path.split("/").at(-1)!);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(`../../../devices/${path}`, link);
  }
  return root;
}

describe("upstreamPath", () => {
  const behindSwitch = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0";
  const root = rootWith(behindSwitch, "pci0000:00/0000:00:06.0", "pci10000:e0/10000:e0:01.0/10000:e1:00.0");

  it("has the bridges above a device, from the host bridge down", () => {
    const bridges = ["pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"];
    expect(upstreamPath("0000:03:00.0", root)).toEqual(bridges);
    expect(upstreamPath("00000000:03:00.0", root)).toEqual(bridges);
    expect(upstreamPath("00010000:E1:00.0", root)).toEqual(["pci10000:e0", "10000:e0:01.0"]);
  });

  it.each([
    ["a device right below the host bridge, as virtual machines have them", "0000:00:06.0"],
    ["a device that is not there", "0000:09:00.0"],
    ["what is no id", "GPU-1"],
  ])("is not known of %s", (_, id) => {
    expect(upstreamPath(id, root)).toBeNull();
  });
});
