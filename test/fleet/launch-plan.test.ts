import { describe, expect, it, test } from "vitest";
import { planOfLauncher } from "../../src/fleet/launch/launch-plan.js";
import {
  cancellationsOf,
  expandNodes,
  launchesOf,
  type SlurmRequest,
} from "../../src/fleet/launch/slurm-launch.js";

test("names of hosts stand in a launcher's line of shell, and none that the shell would obey", () => {
  const planFor = (...hosts: string[]) =>
    planOfLauncher("pdsh -w {nodes}", ["pinbench", "fleet-node"], { hosts, count: null });
  expect(planFor("n01", "n02.example").launches[0]!.argv[2]).toBe('pdsh -w n01,n02.example "$@"');
  for (const host of ["$(id)", "n01;id", "n01/GPU-1", "-x", "a b", ""]) {
    expect(() => planFor("n01", host), host).toThrow("is no name of a host");
  }
});

describe("the calls of srun", () => {
  const request = (changes: Partial<SlurmRequest> = {}): SlurmRequest => ({
    ...{ nodes: 2, partition: null, account: null, options: [], name: "pinbench-1", nodeNs: 120e9 },
    command: ["pinbench", "fleet-node"],
    ...changes,
  });
  const flagsOf = (changes: Partial<SlurmRequest>, isInAllocation = false) =>
    launchesOf(request(changes), null, isInAllocation).launches[0]!.argv;

  it.each([
    [1, "--time=1"],
    [59, "--time=1"],
    [60, "--time=1"],
    [61, "--time=2"],
    [150, "--time=3"],
  ])("give a node of %d s whole minutes, and never 0, which is no limit: %s", (seconds, flag) => {
    expect(flagsOf({ nodeNs: seconds * 1e9 }).filter((word) => word.startsWith("--time"))).toEqual([flag]);
  });

  it("start a job for each node, with all of it, outside of an allocation", () => {
    const { launches, shown, hosts, count } = launchesOf(request(), ["n01", "n02"], false);
    expect(launches.map(({ nodes }) => nodes)).toEqual([["n01"], ["n02"]]);
    expect(launches[1]!.argv).toEqual([
      ...["srun", "--job-name=pinbench-1", "--exclusive", "--mem=0", "--no-kill", "--ntasks-per-node=1"],
      ...["--kill-on-bad-exit=0", "--wait=0", "--cpu-bind=none", "--input=none", "--time=2"],
      ...["--nodelist=n02", "--nodes=1", "--ntasks=1", "pinbench", "fleet-node"],
    ]);
    expect(shown).toContain("--nodelist={nodes}");
    expect({ hosts, count }).toEqual({ hosts: ["n01", "n02"], count: 2 });
  });

  it("start steps that do not wait for each other's CPUs inside of one", () => {
    const flags = flagsOf({}, true);
    expect(flags).toContain("--overlap");
    expect(flags).not.toContain("--exclusive");
  });

  it("leave the nodes to Slurm if only their number was asked for", () => {
    const { launches, shown, hosts, count } = launchesOf(request({ nodes: 7 }), null, false);
    expect(launches).toEqual([{ argv: shown, nodes: null }]);
    expect(shown.slice(-3)).toEqual(["--nodes=7", "pinbench", "fleet-node"]);
    expect({ hosts, count }).toEqual({ hosts: null, count: 7 });
  });

  it("have the partition, the account and further flags, in this order", () => {
    const flags = flagsOf({
      partition: "gpu",
      account: "physics",
      options: ["--qos=low", "--reservation=r"],
    });
    expect(flags.slice(-6, -3)).toEqual(["--account=physics", "--qos=low", "--reservation=r"]);
    expect(flags.at(-7)).toBe("--partition=gpu");
  });

  it("have several nodes each, of about the same number, if there are more than 128 nodes", () => {
    const hosts = Array.from({ length: 300 }, (_, i) => `n${i}`);
    const { launches } = launchesOf(request(), hosts, false);
    expect(launches).toHaveLength(100);
    expect(launches.flatMap(({ nodes }) => nodes)).toEqual(hosts);
    expect(launches[1]!.argv.slice(-5, -2)).toEqual(["--nodelist=n3,n4,n5", "--nodes=3", "--ntasks=3"]);
  });
});

describe("the calls of scancel", () => {
  const running = [
    { jobId: "7", stepId: "0" },
    { jobId: "8", stepId: null },
    { jobId: "9", stepId: "2" },
  ];

  it("end steps by their ids, and all jobs of the name, which may still wait", () => {
    expect(cancellationsOf(running, { name: "pinbench-1" }, false)).toEqual([
      ["7.0", "9.2"],
      ["--name=pinbench-1"],
    ]);
    expect(cancellationsOf([], { name: "pinbench-1" }, false)).toEqual([["--name=pinbench-1"]]);
  });

  it("end steps alone inside of an allocation, whose job goes on", () => {
    expect(cancellationsOf(running, { name: "pinbench-1" }, true)).toEqual([["7.0", "9.2"]]);
    expect(cancellationsOf([], { name: "pinbench-1" }, true)).toEqual([]);
  });
});

it("a node that a list has twice is measured once", async () => {
  expect(await expandNodes("n2, n1,n2")).toEqual(["n2", "n1"]);
});

it("a launcher has the nodes wherever it names them", () => {
  const { launches } = planOfLauncher("sh -c '{nodes}' {nodes}", ["p"], { hosts: ["a", "b"], count: null });
  expect(launches[0]!.argv[2]).toBe(`sh -c 'a,b' a,b "$@"`);
});
