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
    "the switch, where both are behind it",
    place([...ofSwitch, "0000:02:00.0"], 0),
    place([...ofSwitch, "0000:02:01.0"], 0),
    { what: "PCIe switch", name: "0000:01:00.0" },
  ],
  [
    "the root port, where two switches are behind it",
    place([...ofRootPort, "0000:01:00.0"], 0),
    place([...ofRootPort, "0000:01:00.1"], 0),
    { what: "PCIe root port", name: "0000:00:01.0" },
  ],
  [
    "the host bridge, where each has a root port",
    place([...hostBridge, "0000:00:01.0"], 0),
    place([...hostBridge, "0000:00:02.0"], 0),
    { what: "PCIe host bridge", name: "pci0000:00" },
  ],
  [
    "the NUMA node, where their host bridges are two",
    place(["pci0000:00", "0000:00:01.0"], 1),
    place(["pci0000:80", "0000:80:01.0"], 1),
    { what: "NUMA node", name: "1" },
  ],
  [
    "the NUMA node, where no bridge is known",
    place(null, 1),
    place(null, 1),
    { what: "NUMA node", name: "1" },
  ],
  ["nothing, on two nodes", place(null, 0), place(null, 1), null],
  [
    "what is not known, below two host bridges of which no node is known",
    place(["pci0000:00", "0000:00:01.0"], null),
    place(["pci0000:80", "0000:80:01.0"], null),
    "unknown",
  ],
  ["what is not known, in a virtual machine", place(null, null), place(null, null), "unknown"],
  ["what is not known, where one of them is not", place(ofSwitch, null), place(null, null), "unknown"],
])("devices share %s", (_, one, other, expected) => {
  expect(sharedUpstream([one, other])).toEqual(expected);
  expect(sharedUpstream([other, one])).toEqual(expected);
});

it("two devices share no NUMA node if a third one is on another", () => {
  expect(sharedUpstream([0, 0, 1].map((node) => place(null, node)))).toBeNull();
});

it("the shared parts are listed with the fewest devices first, by their numbers", () => {
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

it("devices without a common bridge or node share nothing, and a virtual machine is named", () => {
  const apart = [0, 1, 2].map((ordinal) => ({ ...place(null, ordinal), ordinal }));
  const nothing = "no PCIe bridge and no NUMA node";
  const guest = " (as this virtual machine shows it)";
  expect(describeSharedUpstreams(apart, null)).toBe(nothing);
  expect(describeSharedUpstreams(apart, "kvm")).toBe(`${nothing}${guest}`);
  const together = [0, 1].map((ordinal) => ({ ...place(null, 0), ordinal }));
  expect(describeSharedUpstreams(together, "kvm")).toBe(`devices 0 and 1: NUMA node 0${guest}`);
});

it("is what all of several devices share", () => {
  const devices = [["0000:00:01.0"], ["0000:00:01.0", "0000:01:00.0"], ["0000:00:02.0"]];
  const shared = sharedUpstream(devices.map((path) => place([...hostBridge, ...path], 0)));
  expect(shared).toEqual({ what: "PCIe host bridge", name: "pci0000:00" });
});
