import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { planOfLauncher } from "../../src/fleet/launch/launch-plan.js";
import {
  expandNodes,
  launchesOf,
  planOfSlurm,
  type SlurmRequest,
} from "../../src/fleet/launch/slurm-launch.js";
import { temporaryFolder } from "../helpers/run-cli.js";

test("a launcher's shell command takes host names, but none that the shell would interpret", () => {
  const planFor = (...hosts: string[]) =>
    planOfLauncher("pdsh -w {nodes}", ["pinbench", "fleet-node"], { hosts, count: hosts.length });
  expect(planFor("n01", "n02.example").launches[0]!.argv[2]).toBe('pdsh -w n01,n02.example "$@"');
  for (const host of ["$(id)", "n01;id", "n01/GPU-1", "-x", "a b", ""]) {
    expect(() => planFor("n01", host), host).toThrow("is no name of a host");
  }
});

const request = (changes: Partial<SlurmRequest> = {}): SlurmRequest => ({
  ...{ nodes: 2, name: "pinbench-1", nodeNs: 120e9 },
  command: ["pinbench", "fleet-node"],
  ...changes,
});

describe("fleet run's calls of srun", () => {
  const flagsOf = (changes: Partial<SlurmRequest>, isInAllocation = false) =>
    launchesOf(request(changes), null, isInAllocation).launches[0]!.argv;

  it.each([
    [1, "--time=1"],
    [59, "--time=1"],
    [60, "--time=1"],
    [61, "--time=2"],
    [150, "--time=3"],
  ])("limit a node of %d s to whole minutes, and never to 0, which is no limit: %s", (seconds, flag) => {
    expect(flagsOf({ nodeNs: seconds * 1e9 }).filter((word) => word.startsWith("--time"))).toEqual([flag]);
  });

  it("start an exclusive job for each node outside of an allocation", () => {
    const { launches, hosts, count } = launchesOf(request(), ["n01", "n02"], false);
    expect(launches.map(({ nodes }) => nodes)).toEqual([["n01"], ["n02"]]);
    expect(launches[1]!.argv).toEqual([
      ...["srun", "--job-name=pinbench-1", "--exclusive", "--mem=0", "--no-kill", "--ntasks-per-node=1"],
      ...["--kill-on-bad-exit=0", "--wait=0", "--cpu-bind=none", "--input=none", "--time=2"],
      ...["--nodelist=n02", "--nodes=1", "--ntasks=1", "pinbench", "fleet-node"],
    ]);
    expect({ hosts, count }).toEqual({ hosts: ["n01", "n02"], count: 2 });
  });

  it("start overlapping steps inside of an allocation", () => {
    const flags = flagsOf({}, true);
    expect(flags).toContain("--overlap");
    expect(flags).not.toContain("--exclusive");
  });

  it("leave the choice of nodes to Slurm if only their number is requested", () => {
    const { launches, hosts, count } = launchesOf(request({ nodes: 7 }), null, false);
    expect(launches.map(({ nodes }) => nodes)).toEqual([null]);
    expect(launches[0]!.argv.slice(-3)).toEqual(["--nodes=7", "pinbench", "fleet-node"]);
    expect({ hosts, count }).toEqual({ hosts: null, count: 7 });
  });

  it("share the nodes about equally, several to each call, if there are more than 128 nodes", () => {
    const hosts = Array.from({ length: 300 }, (_, i) => `n${i}`);
    const { launches } = launchesOf(request(), hosts, false);
    expect(launches).toHaveLength(100);
    expect(launches.flatMap(({ nodes }) => nodes)).toEqual(hosts);
    expect(launches[1]!.argv.slice(-5, -2)).toEqual(["--nodelist=n3,n4,n5", "--nodes=3", "--ntasks=3"]);
  });
});

it("a node that is twice in --nodes is measured once", async () => {
  expect(await expandNodes("n2, n1,n2")).toEqual(["n2", "n1"]);
});

it("a launcher's command has the node names at each {nodes}", () => {
  const { launches } = planOfLauncher("sh -c '{nodes}' {nodes}", ["p"], { hosts: ["a", "b"], count: 2 });
  expect(launches[0]!.argv[2]).toBe(`sh -c 'a,b' a,b "$@"`);
});

describe("with Slurm's programs", () => {
  /** Puts shell scripts with these lines into the PATH. */
  const programs = (lines: Readonly<Record<string, string>>) => {
    const folder = temporaryFolder();
    for (const [name, line] of Object.entries(lines)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    }
    vi.stubEnv("PATH", folder);
  };
  beforeEach(() => programs({ srun: "exit 1", scontrol: "exit 1" }));
  afterEach(() => void vi.unstubAllEnvs());
  const allocation = { SLURM_JOB_ID: "7", SLURM_JOB_NODELIST: "n1,n2,n3" };
  const hostsOf = async (nodes: number | string, env = {}) =>
    (await planOfSlurm(request({ nodes }), env)).hosts;

  it("fleet run takes the first nodes of an allocation, or those that --nodes names", async () => {
    expect(await hostsOf(2, allocation)).toEqual(["n1", "n2"]);
    expect(await hostsOf(3, allocation)).toEqual(["n1", "n2", "n3"]);
    expect(await hostsOf("n3,n1", allocation)).toEqual(["n3", "n1"]);
    expect(await hostsOf("n9,n1")).toEqual(["n9", "n1"]);
    expect(await hostsOf(9)).toBeNull();
    await expect(hostsOf(4, allocation)).rejects.toThrow("--nodes 4 is more than the 3 nodes of this");
  });

  it("a list of nodes is expanded by scontrol, and invalid names are refused", async () => {
    const message = 'scontrol does not expand the list of nodes "n[1-".';
    await expect(expandNodes("n[1-")).rejects.toMatchObject({
      kind: "usage",
      message: expect.stringContaining(message),
    });
    programs({ scontrol: 'echo "$3"' });
    await expect(expandNodes("n[1-2]")).rejects.toThrow('"n[1-2]" is not the name of a node.');
    programs({ scontrol: "echo n1; echo; echo n2" });
    expect(await expandNodes("n[1-2]")).toEqual(["n1", "n2"]);
    programs({});
    await expect(expandNodes("n[1-2]")).rejects.toThrow("scontrol does not expand the list");
    await expect(hostsOf(2)).rejects.toMatchObject({ kind: "unavailable" });
  });

  it.each([
    ["all jobs of its name outside of an allocation", {}, "--quiet --name=pinbench-1\n"],
    ["nothing inside of an allocation, where srun ends its steps and the job goes on", allocation, null],
  ])("a cancelled fleet run ends %s", async (_, env, called) => {
    const said = join(temporaryFolder(), "said");
    programs({ srun: "exit 1", scancel: `echo "$@" > ${said}` });
    await (await planOfSlurm(request({ nodes: "n1" }), env)).cancel();
    expect(existsSync(said) ? readFileSync(said, "utf8") : null).toBe(called);
  });
});
