import { expect, it } from "vitest";
import {
  type DeviceTopology,
  describeSharedUpstreams,
  sharedUpstream,
} from "../../src/report/shared-topology.js";

const place = (upstreamPath: string[] | null, numaNode: number | null): DeviceTopology => ({
  upstreamPath,
  numaNode,
});

const hostBridge = ["pci0000:00"];
const ofRootPort = [...hostBridge, "0000:00:01.0"];
const ofSwitch = [...ofRootPort, "0000:01:00.0"];

it.each([
  [
    "the PCIe switch, if both are behind it",
    place([...ofSwitch, "0000:02:00.0"], 0),
    place([...ofSwitch, "0000:02:01.0"], 0),
    { what: "PCIe switch", name: "0000:01:00.0" },
  ],
  [
    "the root port, if each is behind its own switch",
    place([...ofRootPort, "0000:01:00.0"], 0),
    place([...ofRootPort, "0000:01:00.1"], 0),
    { what: "PCIe root port", name: "0000:00:01.0" },
  ],
  [
    "the host bridge, if each has its own root port",
    place([...hostBridge, "0000:00:01.0"], 0),
    place([...hostBridge, "0000:00:02.0"], 0),
    { what: "PCIe host bridge", name: "pci0000:00" },
  ],
  [
    "the NUMA node, if they have different host bridges",
    place(["pci0000:00", "0000:00:01.0"], 1),
    place(["pci0000:80", "0000:80:01.0"], 1),
    { what: "NUMA node", name: "1" },
  ],
  ["the NUMA node, if no bridge is known", place(null, 1), place(null, 1), { what: "NUMA node", name: "1" }],
  ["nothing, if they are on two NUMA nodes", place(null, 0), place(null, 1), null],
  [
    "an unknown part, if two host bridges have unknown NUMA nodes",
    place(["pci0000:00", "0000:00:01.0"], null),
    place(["pci0000:80", "0000:80:01.0"], null),
    "unknown",
  ],
  [
    "an unknown part, if neither bridges nor nodes are known",
    place(null, null),
    place(null, null),
    "unknown",
  ],
  ["an unknown part, if the path of only one is known", place(ofSwitch, null), place(null, null), "unknown"],
])("two devices share %s", (_, one, other, expected) => {
  expect(sharedUpstream([one, other])).toEqual(expected);
  expect(sharedUpstream([other, one])).toEqual(expected);
});

it("three devices share no NUMA node if one of them is on another", () => {
  expect(sharedUpstream([0, 0, 1].map((node) => place(null, node)))).toBeNull();
});

it("shared bridges are listed by their number of devices, the fewest first", () => {
  const device = (ordinal: number, rest: string[], node = 0) => ({
    ...place([...hostBridge, ...rest], node),
    ordinal,
  });
  const [first, second] = ["0000:00:01.0", "0000:00:02.0"] as const;
  const devices = [device(1, [first]), device(3, [second]), device(5, [second]), device(7, [first])];
  expect(describeSharedUpstreams(devices, null)).toBe(
    "devices 1 and 7: PCIe root port 0000:00:01.0; devices 3 and 5: PCIe root port 0000:00:02.0; devices 1, 3, 5 and 7: PCIe host bridge pci0000:00",
  );
});

it("devices without a common bridge or node share nothing, with a note in a virtual machine", () => {
  const apart = [0, 1, 2].map((ordinal) => ({ ...place(null, ordinal), ordinal }));
  const nothing = "no PCIe bridge and no NUMA node";
  const guest = " (as this virtual machine shows it)";
  expect(describeSharedUpstreams(apart, null)).toBe(nothing);
  expect(describeSharedUpstreams(apart, "kvm")).toBe(`${nothing}${guest}`);
  const together = [0, 1].map((ordinal) => ({ ...place(null, 0), ordinal }));
  expect(describeSharedUpstreams(together, "kvm")).toBe(`devices 0 and 1: NUMA node 0${guest}`);
});

it("three devices share only the bridge that all of them are behind", () => {
  const devices = [["0000:00:01.0"], ["0000:00:01.0", "0000:01:00.0"], ["0000:00:02.0"]];
  const shared = sharedUpstream(devices.map((path) => place([...hostBridge, ...path], 0)));
  expect(shared).toEqual({ what: "PCIe host bridge", name: "pci0000:00" });
});
