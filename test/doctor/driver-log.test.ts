import { expect, it } from "vitest";
import { readDriverLog, readXidErrors } from "../../src/doctor/facts/xid-log.js";
import { machineTree } from "../helpers/machine-tree.js";

/** The lines of NVIDIA's driver and of PCIe ports in the logs of a system. */

it("the log has what the driver, the ports and the IOMMU say, and nothing else", () => {
  const lines = [
    "NVRM: a",
    "nvidia-uvm: b",
    "AER: c",
    "pcieport 0000:15:01.0: d",
    "DMAR: IOMMU enabled",
    "swiotlb: f",
  ];
  const records = [...lines, "audit: user alice", "usb: LAYER 7"].map((text, i) => `4,${i},5000,-;${text}`);
  expect(readDriverLog(machineTree({ "dev/kmsg": records.join("\n") }))).toEqual(
    records.slice(0, lines.length),
  );
});

it.each(["kern.log", "messages", "syslog"])("the log may be /var/log/%s, of this boot alone", (name) => {
  const lines = ["kernel: NVRM: before", "kernel: Linux version 6.8.0", "kernel: NVRM: since then"];
  const root = machineTree({ "var/log/kern.log": null, [`var/log/${name}`]: lines.join("\n") });
  expect(readDriverLog(root)).toEqual(lines.slice(2));
});

it("an Xid has the name of its device, its number and what the driver says of it", () => {
  const said = (text: string) =>
    readXidErrors(machineTree({ "dev/kmsg": `4,900,5000,-;NVRM: Xid ${text}\n` }));
  const found = { pciName: "0000:c1:00.0", xid: 79, text: "pid=2, GPU has fallen off the bus." };
  for (const place of ["PCI:0000:c1:00", "0000:c1:00", "PCI:00000000:C1:00.0"]) {
    expect(said(`(${place}): 79, pid=2, GPU has fallen off the bus. `), place).toEqual([found]);
  }
});

it("of a machine that fails over and over, the last lines are kept", () => {
  const records = Array.from({ length: 1002 }, (_, i) => `4,${i},5000,-;NVRM: error ${i}`);
  const lines = readDriverLog(machineTree({ "dev/kmsg": records.join("\n") }))!;
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([1000, records[2], records[1001]]);
  const xids = records.map((record, i) =>
    record.replace("error", "Xid (PCI:0000:18:00):").replace(/$/, `, ${i}`),
  );
  const errors = readXidErrors(machineTree({ "dev/kmsg": xids.join("\n") }))!;
  expect([errors.length, errors[0]!.text, errors.at(-1)!.text]).toEqual([1000, "2", "1001"]);
});
