import { expect, test } from "vitest";
import { planOfLauncher } from "../../src/fleet/launch-plan.js";

test("names of hosts stand in a launcher's line of shell, and none that the shell would obey", () => {
  const planFor = (...hosts: string[]) =>
    planOfLauncher("pdsh -w {nodes}", ["pinbench", "fleet-node"], { hosts, count: null });
  expect(planFor("n01", "n02.example").launches[0]!.argv[2]).toBe('pdsh -w n01,n02.example "$@"');
  for (const host of ["$(id)", "n01;id", "n01/GPU-1", "-x", "a b", ""]) {
    expect(() => planFor("n01", host), host).toThrow("is no name of a host");
  }
});
