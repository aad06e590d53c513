import { expect, it } from "vitest";
import { readXidErrors } from "../../src/doctor/facts/xid-log.js";
import { machineTree } from "../helpers/machine-tree.js";

/** Errors of NVIDIA's driver in the kernel's log. */

it("an Xid error is read with its device's PCI name, its number and the driver's text", () => {
  const said = (text: string) =>
    readXidErrors(machineTree({ "dev/kmsg": `4,900,5000,-;NVRM: Xid ${text}\n` }));
  const found = { pciName: "0000:c1:00.0", xid: 79, text: "pid=2, GPU has fallen off the bus." };
  for (const place of ["PCI:0000:c1:00", "0000:c1:00", "PCI:00000000:C1:00.0"]) {
    expect(said(`(${place}): 79, pid=2, GPU has fallen off the bus. `), place).toEqual([found]);
  }
});

it("Xid errors are unknown if this user may not read the kernel's log", () => {
  expect(readXidErrors(machineTree({ "dev/kmsg": null }))).toBeNull();
  expect(readXidErrors(machineTree())).toEqual([]);
});
