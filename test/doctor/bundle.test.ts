import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundleOf, tarOf } from "../../src/doctor/bundle.js";
import { diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { readDriverLog } from "../../src/doctor/facts/xid-log.js";
import { buildSlowDiagnosis } from "../helpers/diagnosis.js";
import { gpuNames, machineTree, pciFile } from "../helpers/machine-tree.js";
import { temporaryFolder } from "../helpers/run-cli.js";

/** Unpacks with the system's tar, and returns what the archive lists. */
function unpacked(archive: Buffer, folder: string, flags: string): string[] {
  const file = join(folder, "bundle");
  writeFileSync(file, archive);
  mkdirSync(join(folder, "out"));
  return execFileSync("tar", [flags, file, "-C", join(folder, "out")], { encoding: "utf8" })
    .trim()
    .split("\n");
}

describe("a bundle for the vendor", () => {
  const [gpu] = gpuNames;
  const slow = buildSlowDiagnosis();
  const diagnosis = { ...slow, devices: slow.devices.map((device) => ({ ...device, pciBusId: gpu })) };
  const root = machineTree({
    "dev/kmsg": [
      `4,900,5000,-;NVRM: Xid (PCI:${gpu.slice(0, -2)}): 79, pid=2, GPU has fallen off the bus.`,
      "4,901,5001,-;audit: user alice opened /home/alice/secret",
    ].join("\n"),
  });

  it("has the diagnosis, what it was made from, and what the driver logged", async () => {
    const folder = temporaryFolder();
    const names = unpacked(await bundleOf(diagnosis, root), folder, "-xzvf");
    const textOf = (name: string) => readFileSync(join(folder, "out/pinbench-bundle", name), "utf8");
    expect(diagnosisSchema.parse(JSON.parse(textOf("diagnosis.json")))).toEqual(diagnosis);
    expect(textOf("diagnosis.txt")).toContain(diagnosis.reason.slice(0, 30));
    expect(names).toContain(`pinbench-bundle/facts/${pciFile(gpu, "current_link_width")}`);
    expect(textOf("logs/kernel.txt")).toContain("GPU has fallen off the bus");
  });

  it("says what is private in it, and has nothing else of the log", async () => {
    const folder = temporaryFolder();
    const names = unpacked(await bundleOf(diagnosis, root), folder, "-xzvf");
    const readme = readFileSync(join(folder, "out/pinbench-bundle/README.txt"), "utf8");
    expect(readme).toContain("It contains private data: the host's name, labels, GPU UUIDs");
    for (const name of names.slice(1)) expect(readme).toContain(name.replace("pinbench-bundle/", ""));
    expect(readFileSync(join(folder, "out/pinbench-bundle/logs/kernel.txt"), "utf8")).not.toContain("alice");
  });
});

it("of a machine that fails over and over, the last lines are kept", () => {
  const records = Array.from({ length: 1002 }, (_, i) => `4,${i},5000,-;NVRM: error ${i}`);
  const lines = readDriverLog(machineTree({ "dev/kmsg": records.join("\n") }))!;
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([1000, records[2], records[1001]]);
});

it("an archive keeps names of more than 100 characters, and files of any length", () => {
  const long = `facts/${"sys/devices/pci0000:00/".repeat(6)}config`;
  // A header has room for 100 characters after the last slash.
  const names = new Map([
    [513, long],
    [512, "n".repeat(100)],
  ]);
  const files = [0, 1, 511, 512, 513].map((length) => ({
    name: names.get(length) ?? `file-${length}`,
    contents: Buffer.alloc(length, "x"),
  }));
  const folder = temporaryFolder();
  unpacked(tarOf(files, "2026-11-22T10:00:00.000Z"), folder, "-xvf");
  for (const { name, contents } of files) {
    expect(readFileSync(join(folder, "out/pinbench-bundle", name))).toEqual(contents);
  }
});
