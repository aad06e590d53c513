import { describe, expect, it } from "vitest";
import { readXidErrors } from "../../src/doctor/facts/xid-log.js";
import { machineTree } from "../helpers/machine-tree.js";

/** The errors of NVIDIA's driver in the logs of a system. */

it.each(["kern.log", "messages", "syslog"])("the log may be /var/log/%s, of this boot alone", (name) => {
  const xid = (number: number) => `kernel: NVRM: Xid (PCI:0000:18:00): ${number}, pid=1`;
  const lines = [xid(48), "kernel: Linux version 6.8.0", xid(79)];
  const root = machineTree({ "var/log/kern.log": null, [`var/log/${name}`]: lines.join("\n") });
  expect(readXidErrors(root)!.map(({ xid }) => xid)).toEqual([79]);
});

it("an Xid has the name of its device, its number and what the driver says of it", () => {
  const said = (text: string) =>
    readXidErrors(machineTree({ "dev/kmsg": `4,900,5000,-;NVRM: Xid ${text}\n` }));
  const found = { pciName: "0000:c1:00.0", xid: 79, text: "pid=2, GPU has fallen off the bus." };
  for (const place of ["PCI:0000:c1:00", "0000:c1:00", "PCI:00000000:C1:00.0"]) {
    expect(said(`(${place}): 79, pid=2, GPU has fallen off the bus. `), place).toEqual([found]);
  }
});

it("of a machine that fails over and over, the last errors are kept", () => {
  const records = Array.from(
    { length: 1002 },
    (_, i) => `4,${i},5000,-;NVRM: Xid (PCI:0000:18:00): 79, ${i}`,
  );
  const errors = readXidErrors(machineTree({ "dev/kmsg": records.join("\n") }))!;
  expect([errors.length, errors[0]!.text, errors.at(-1)!.text]).toEqual([1000, "2", "1001"]);
});

describe("Xid errors", () => {
  const line = (time: string, xid: number) =>
    `${time} node07 kernel: [ 99.1] NVRM: Xid (PCI:0000:18:00): ${xid}, pid=1, name=a`;
  const found = (files: Record<string, string | null>) =>
    readXidErrors(machineTree(files))?.map(({ xid }) => xid) ?? null;

  it("are of this boot alone, by its first line", () => {
    const log = [
      line("whenever", 48),
      "… kernel: Linux version 6.5.0",
      line("whenever", 94),
      "… kernel: Linux version 6.8.0",
      line("whenever", 79),
    ];
    expect(found({ "var/log/kern.log": log.join("\n") })).toEqual([79]);
  });

  it("are of this boot alone, by their time", () => {
    // The machine started on 2026-09-21 at 14:13:20 UTC, and has been up for a day.
    const log = [
      line("2026-09-21T14:13:19.9+00:00", 48),
      line("2026-09-21T16:13:20.5+02:00", 79),
      line("no time", 74),
    ];
    expect(found({ "var/log/kern.log": log.join("\n") })).toEqual([79]);
    const written = [line("Sep 19 10:00:00", 48), line("Sep 22 10:00:00", 94), line("Dec 31 10:00:00", 95)];
    expect(found({ "var/log/kern.log": written.join("\n") })).toEqual([94]);
    // Eight hours from now, as a logger in another time zone writes it.
    const ahead = [...written, line("Sep 22 22:00:00", 96)];
    expect(found({ "var/log/kern.log": ahead.join("\n") })).toEqual([94, 96]);
  });

  it("are read from what the kernel still has, before any file", () => {
    const kmsg = "6,1,0,-;Linux version 6.8.0\n4,900,5000,-;NVRM: Xid (PCI:0000:19:00): 63, pid=2\n";
    expect(readXidErrors(machineTree({ "dev/kmsg": kmsg }))).toEqual([
      { pciName: "0000:19:00.0", xid: 63, text: "pid=2" },
    ]);
  });

  it("are not known if there is no log to read", () => {
    expect(found({ "var/log/kern.log": null })).toBeNull();
    expect(found({ "var/log/kern.log": null, "var/log/messages": "" })).toEqual([]);
  });
});
