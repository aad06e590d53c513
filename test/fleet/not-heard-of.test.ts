import { expect, test } from "vitest";
import { absentHosts } from "../../src/fleet/launch/fleet-launch.js";

test.each<[string, string[] | null, string[], string[]]>([
  ["by their names", ["n01", "n02"], ["n02"], ["n01"]],
  ["with and without a domain", ["n01", "n02.example", "n03"], ["n01.example", "n02"], ["n03"]],
  ["of one name in two domains", ["n01.a", "n01.b"], ["n01.a"], ["n01.b"]],
  ["of addresses by all of these", ["10.0.0.1", "10.0.0.2"], ["10.0.0.1"], ["10.0.0.2"]],
  ["not at all if as many have started by other names", ["10.0.0.1", "10.0.0.2"], ["n01", "n02"], []],
  ["all if fewer have started by other names", ["10.0.0.1", "10.0.0.2"], ["n01"], ["10.0.0.1", "10.0.0.2"]],
  ["by numbers if only their number is known", null, ["n01"], ["unnamed node 2"]],
])("nodes that have not started are named %s", (_, hosts, begun, absent) => {
  expect(absentHosts(hosts, begun, hosts?.length ?? 2)).toEqual(absent);
});
