import { expect, test } from "vitest";
import { absentHosts } from "../../src/fleet/launch/fleet-launch.js";

test.each<[string, string[] | null, string[], string[]]>([
  ["has the names that no started node reported", ["n01", "n02"], ["n02"], ["n01"]],
  [
    "treats a name with and without its domain as one node",
    ["n01", "n02.example", "n03"],
    ["n01.example", "n02"],
    ["n03"],
  ],
  ["keeps apart nodes with the same name in different domains", ["n01.a", "n01.b"], ["n01.a"], ["n01.b"]],
  ["compares IP addresses as a whole", ["10.0.0.1", "10.0.0.2"], ["10.0.0.1"], ["10.0.0.2"]],
  ["is empty if as many nodes have started under other names", ["10.0.0.1", "10.0.0.2"], ["n01", "n02"], []],
  [
    "has all names if fewer nodes have started under other names",
    ["10.0.0.1", "10.0.0.2"],
    ["n01"],
    ["10.0.0.1", "10.0.0.2"],
  ],
  ["has numbers if only the number of nodes is known", null, ["n01"], ["unnamed node 2"]],
])("the list of nodes that have not started %s", (_, hosts, begun, absent) => {
  expect(absentHosts(hosts, begun, hosts?.length ?? 2)).toEqual(absent);
});
