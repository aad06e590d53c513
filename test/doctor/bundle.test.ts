import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { bundleOf, tarOf } from "../../src/doctor/bundle.js";
import { diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { buildSlowDiagnosis } from "../helpers/diagnosis.js";
import { gpuNames, machineTree, pciFile, rootPort, switchUpstream } from "../helpers/machine-tree.js";
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
    // It was made when the machine was examined.
    const { mtimeMs } = statSync(join(folder, "out/pinbench-bundle/diagnosis.txt"));
    expect(mtimeMs).toBe(Date.parse(diagnosis.createdAt));
  });

  it("has the files of each device and of the bridges above it, as far as there are any", async () => {
    const devices = slow.devices.map((device, i) => ({ ...device, pciBusId: gpuNames[i]! }));
    const names = unpacked(await bundleOf({ ...diagnosis, devices }, root), temporaryFolder(), "-tzf");
    const facts = names.flatMap((name) => /facts\/(.*)/.exec(name)?.[1] ?? []);
    for (const port of [...gpuNames, switchUpstream, rootPort]) {
      expect(facts).toContain(pciFile(port, "aer_dev_nonfatal"));
      expect(facts.includes(pciFile(port, "iommu_group/type"))).toBe(gpuNames.some((name) => name === port));
    }
    for (const name of gpuNames) expect(facts).toContain(`proc/driver/nvidia/gpus/${name}/information`);
    expect(facts).toContain("proc/driver/nvidia/version");
    expect(facts).not.toContain("proc/version");
  });

  it("has what nvidia-smi says of a GPU, and nothing of it for an emulated one", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "nvidia-smi"), '#!/bin/sh\necho "asked for $*"\n', { mode: 0o755 });
    vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    unpacked(await bundleOf(diagnosis, root), folder, "-xzf");
    const said = join(folder, "out/pinbench-bundle/logs/nvidia-smi.txt");
    expect(readFileSync(said, "utf8")).toBe("asked for -q\n");
    const emulated = await bundleOf({ ...diagnosis, backend: "emulated" }, root);
    expect(unpacked(emulated, temporaryFolder(), "-tzf").join()).not.toContain("nvidia-smi");
  });

  it("says what is private in it, and has nothing else of the log", async () => {
    const folder = temporaryFolder();
    const names = unpacked(await bundleOf(diagnosis, root), folder, "-xzvf");
    const readme = readFileSync(join(folder, "out/pinbench-bundle/README.txt"), "utf8");
    expect(readme).toContain(`pinbench doctor 0.1.0, ${diagnosis.createdAt}: ${diagnosis.reason}\n`);
    expect(readme).toContain("It contains private data: the host's name, labels, GPU UUIDs");
    for (const name of names.slice(1)) expect(readme).toContain(name.replace("pinbench-bundle/", ""));
    expect(readFileSync(join(folder, "out/pinbench-bundle/logs/kernel.txt"), "utf8")).not.toContain("alice");
  });
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
