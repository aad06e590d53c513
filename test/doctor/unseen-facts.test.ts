import { describe, expect, it } from "vitest";
import { type MachineFacts, readMachineFacts, unseenFacts } from "../../src/doctor/facts/machine-facts.js";
import { type PciPath, type PciPort, readPciPath } from "../../src/doctor/facts/pci-path.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { gpuNames, machineTree } from "../helpers/machine-tree.js";

const [gpu] = gpuNames;

describe("the list of unseen facts", () => {
  const unseen = (root: string) => unseenFacts(readMachineFacts(root), [readPciPath(gpu, root)]);

  it("is empty if root examines a healthy machine", () => {
    expect(unseen(machineTree())).toEqual([]);
  });

  it("names the bridges that a virtual machine hides, and all facts if nothing can be read", () => {
    const root = machineTree({ "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor\n" });
    expect(unseen(root)).toContain("bridges between the device and the CPU: the virtual machine hides them");
    expect(unseen(fixtureRoot())).toEqual([
      "PCIe path: sysfs does not have the device",
      "CPU frequencies: the kernel does not set them here",
      "idle states of the CPUs: the kernel does not set them here",
      "Xid errors: this user may not read the kernel's log",
    ]);
  });

  describe("of two devices", () => {
    const root = machineTree();
    const path = readPciPath(gpu, root);
    const machine = readMachineFacts(root);
    const of = (other: Partial<PciPath>, facts: Partial<MachineFacts> = {}) =>
      unseenFacts({ ...machine, ...facts }, [path, { ...path, ...other }]);
    const withPort = (index: number, change: Partial<PciPort>) => ({
      ports: path.ports.map((port, i) => (i === index || index < 0 ? { ...port, ...change } : port)),
    });

    it.each<[string, Partial<PciPath>]>([
      ["PCIe path: sysfs does not have the device", { ports: [] }],
      ["bridges between the device and the CPU: sysfs shows none", { ports: path.ports.slice(0, 1) }],
      ["payload sizes: only root outside of containers can read them", withPort(2, { hidesSettings: true })],
      ["PCIe errors: the kernel does not count them for these ports (AER)", withPort(-1, { errors: null })],
      ["NUMA node of the device: the firmware does not report it", { numaNode: null }],
    ])("has a fact that only one of them lacks: %s", (line, other) => {
      expect(of(other)).toEqual([line]);
    });

    it("leaves out a single port without an error count, and the node of a one-node machine", () => {
      expect(of(withPort(2, { errors: null }))).toEqual([]);
      expect(of({ numaNode: null }, { nodes: machine.nodes.slice(0, 1) })).toEqual([]);
    });
  });

  it("names waits for memory as unseen only if other activity was read", () => {
    const line = "waiting for memory: the kernel does not count it (PSI)";
    const machine = readMachineFacts(machineTree());
    const activity = (memoryPressureShare: number | null) =>
      ({ load: { memoryPressureShare }, swappedPages: 0 }) as unknown as MachineFacts["activity"];
    const of = (memoryPressureShare: number | null) =>
      unseenFacts({ ...machine, activity: activity(memoryPressureShare) }, []);
    expect([of(null), of(0), unseenFacts(machine, [])]).toEqual([[line], [], []]);
  });
});
