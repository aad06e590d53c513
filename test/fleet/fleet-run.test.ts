import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { faultyNodes, listOf, smallCells, statesOf, untilNoneIsLeft } from "../helpers/fleet-nodes.js";
import { callCli } from "../helpers/in-process.js";
import { nodeResult, pinnedAt } from "../helpers/node-results.js";
import { markName, nextMark, processesWith } from "../helpers/processes.js";
import { runCli, startCli, temporaryFolder } from "../helpers/run-cli.js";

/* `pinbench fleet run` with launchers that are no Slurm: scripts of a few lines, whose nodes are all this machine. */

/** Starts the command once for each name of its first argument, and waits for them all. */
const oneForEach = `
nodes=$1; shift
for node in $(echo "$nodes" | tr , ' '); do PINBENCH_NODE_NAME=$node "$@" & done
wait`;

function script(folder: string, text: string): string {
  const path = join(folder, "launch");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

interface Launched {
  launcher: string;
  nodes: string;
  more?: string[];
  env?: Record<string, string>;
}

/** Arguments and the folder of a fleet. */
function fleetRun({ launcher, nodes, more = [] }: Launched) {
  const output = join(temporaryFolder(), "fleet");
  const args = ["fleet", "run", "--nodes", nodes, "--launcher", launcher, "--output", output, ...more];
  return { output, args: [...args, ...smallCells] };
}

describe("fleet run with a launcher of the user's own", () => {
  test("gives it the node names at {nodes}, and each node leaves a result", async () => {
    const folder = temporaryFolder();
    const launcher = `${script(folder, oneForEach)} {nodes}`;
    const { output, args } = fleetRun({ launcher, nodes: "a1,a2", more: ["--label", "rack=7"] });
    const { stdout, stderr } = await runCli(args, { env: { PINBENCH_EMULATED_LINK: "4e7" } });
    // The exit code is not tested, as a busy machine may make a node slow.
    expect(stderr).toMatch(/^pinbench: 2 of 2 nodes measured.\n/m);
    expect(stdout).toContain("2 nodes");
    const files = readdirSync(output).filter((name) => name !== "confirm");
    expect(files.sort()).toEqual(["a1.json", "a2.json", "fleet-run.json"]);
    const { run } = parseResult(readFileSync(join(output, "a2.json"), "utf8"));
    expect(run.labels).toEqual({ rack: "7", node: "a2" });
    expect(listOf(output)).toMatchObject({ finishedAt: expect.any(String) });
  });

  test("starts it again for the slow nodes, to confirm them", async () => {
    const folder = temporaryFolder();
    // One after the other, because the nodes share the CPUs.
    const inTurn = oneForEach.replace("& done", "; done");
    const { output, args } = fleetRun({
      launcher: `${script(folder, inTurn)} {nodes}`,
      nodes: "d1,d2,d3,d4",
      more: ["--pinbench", faultyNodes(folder, { d2: "all:slow=10" })],
    });
    // Copies are so slow that other programs hardly change their rate.
    await runCli(args, { env: { PINBENCH_EMULATED_LINK: "4e7" } });
    // Other nodes may look slow too if other programs use the CPUs.
    expect(statesOf(join(output, "confirm"))).toMatchObject({ d2: "measured" });
  });

  /** Runs on eight nodes with prepared results: two of them are slow, and some end as in `ends`. */
  async function ofEarlierResults(
    ends: Record<string, { wallNs?: number; state?: string }>,
    more: string[] = [],
  ) {
    const folder = temporaryFolder();
    for (const host of ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n$8"]) {
      const { wallNs = 1, state = "measured" } = ends[host] ?? {};
      const result = nodeResult(host, ["n2", "n$8"].includes(host) ? { speed: pinnedAt(0.7) } : {});
      const end = { state, reason: state === "measured" ? null : "A reason.", file: `${host}.json`, wallNs };
      writeFileSync(join(folder, end.file), JSON.stringify({ ...result, run: { ...result.run, wallNs } }));
      writeFileSync(join(folder, `${host}.started`), JSON.stringify({ host }));
      writeFileSync(join(folder, `${host}.ended`), JSON.stringify(end));
    }
    const told = join(folder, "told");
    const copying = `echo "$1" >> ${told}
      for last; do :; done
      cp ${folder}/*.json "\${last%/*}"; cp ${folder}/*.started ${folder}/*.ended "$last"`;
    const launcher = `${script(folder, copying)} {nodes}`;
    // The deadline counts from the start of the process, which is long ago here.
    const clock = vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    const { stderr } = await callCli(fleetRun({ launcher, nodes: eight, more }).args);
    return { stderr, launched: readFileSync(told, "utf8") };
  }
  const eight = "n1,n2,n3,n4,n5,n6,n7,n8";

  test("starts it again only for slow nodes with valid host names", async () => {
    const { stderr, launched } = await ofEarlierResults({ n1: { wallNs: 1e12 }, n2: { wallNs: 284e9 } });
    expect(stderr).toContain("not measured again, because it is not a host name: n$8.");
    expect(launched).toBe(`${eight}\nn2\n`);
  });

  test("does not start it again if less time is left than the slow node took", async () => {
    const { stderr, launched } = await ofEarlierResults({ n2: { wallNs: 286e9 } });
    expect(stderr).toContain("no time is left to measure n2 again: use --deadline ");
    expect(launched).toBe(`${eight}\n`);
  });

  test("reports nodes by outcome, and names those it waits for", async () => {
    const states = { n3: "failed", n4: "failed", n5: "wrong data", n6: "late" };
    const { isTTY } = process.stderr;
    process.stderr.isTTY = true;
    onTestFinished(() => {
      process.stderr.isTTY = isTTY;
    });
    const ends = Object.entries(states).map(([host, state]) => [host, { state }]);
    const { stderr } = await ofEarlierResults(Object.fromEntries(ends));
    expect(stderr).toContain("4 of 8 nodes measured, 2 failed, 1 with wrong data, 1 late.");
    expect(stderr).toContain("0 of 8 nodes; waiting for n1 n2 n3 n4, and 4 more");
  });

  test("that has no {nodes} does not measure slow nodes again", async () => {
    const folder = temporaryFolder();
    const inTurn = 'for node in d1 d2 d3 d4; do PINBENCH_NODE_NAME=$node "$@"; done';
    const { output, args } = fleetRun({
      launcher: script(folder, inTurn),
      nodes: "4",
      more: ["--pinbench", faultyNodes(folder, { d2: "all:slow=10" })],
    });
    const { stderr, stdout, exitCode } = await runCli(args, { env: { PINBENCH_EMULATED_LINK: "4e7" } });
    expect(stderr).toMatch(/not measured again, because --launcher has no {nodes} for their names: .*d2/);
    expect(existsSync(join(output, "confirm"))).toBe(false);
    // The verdict on four nodes depends on how busy the machine is.
    expect(await callCli(["fleet", output])).toMatchObject({ stdout, exitCode });
  });

  test("that fails reports its nodes as missing with the launcher's error, even without names", async () => {
    const launcher = "echo 'no route to host b2' >&2; exit 7;";
    const named = fleetRun({ launcher, nodes: "b1,b2" });
    const unnamed = fleetRun({ launcher, nodes: "2" });
    const ends = await Promise.all([runCli(named.args), runCli(unnamed.args)]);
    for (const { exitCode, stderr } of ends) {
      expect(exitCode).toBe(4);
      expect(stderr).toContain("pinbench: 0 of 2 nodes measured, 2 missing.\n");
    }
    const reason = "it did not start to measure (no route to host b2)";
    const missing = (...hosts: string[]) =>
      hosts.map((host) => ({ host, state: "missing", reason, file: null }));
    expect(listOf(named.output).nodes).toEqual(missing("b1", "b2"));
    expect(listOf(unnamed.output).nodes).toEqual(missing("unnamed node 1", "unnamed node 2"));
  });

  test("that starts two processes on a node lets only one of them measure", async () => {
    const folder = temporaryFolder();
    const path = script(folder, 'export PINBENCH_NODE_NAME=c1; "$@" & "$@"; wait');
    const { output, args } = fleetRun({ launcher: path, nodes: "c1" });
    await runCli(args);
    expect(statesOf(output)).toEqual({ c1: "measured" });
    expect(readdirSync(output).sort()).toEqual(["c1.json", "fleet-run.json"]);
  });

  test("that hangs is ended when the deadline comes", async () => {
    const mark = nextMark();
    const { output, args } = fleetRun({
      launcher: "sleep 1000; :",
      nodes: "d1",
      more: ["--deadline", "12s"],
    });
    const { exitCode } = await runCli(args, { env: { [markName]: mark } });
    expect(exitCode).toBe(4);
    expect(statesOf(output)).toEqual({ d1: "missing" });
    await untilNoneIsLeft(mark);
  });
});

describe("a fleet run that is ended", () => {
  test("by SIGINT, SIGTERM or SIGKILL leaves no process", async () => {
    await Promise.all([expectEnd("SIGINT", 130), expectEnd("SIGTERM", 143), expectEnd("SIGKILL", null)]);
  });

  async function expectEnd(signal: NodeJS.Signals, code: number | null): Promise<void> {
    const folder = temporaryFolder();
    const mark = nextMark();
    const program = faultyNodes(folder, { e2: "h2d:never" });
    const launcher = `${script(folder, oneForEach)} {nodes}`;
    const { output, args } = fleetRun({ launcher, nodes: "e1,e2", more: ["--pinbench", program] });
    const { child, finished } = startCli(args, { env: { [markName]: mark } });
    const told = (file: string) => existsSync(join(output, ".fleet-run", file));
    while (!told("e1.ended") || !told("e2.started")) await sleep(50);
    expect(processesWith(mark).length).toBeGreaterThan(2);
    child.kill(signal);
    expect(await finished).toMatchObject({ exitCode: code });
    await untilNoneIsLeft(mark);
    expect(existsSync(join(output, ".fleet-run"))).toBe(false);
    // A killed fleet run cannot record how its nodes ended.
    const left = signal === "SIGKILL" ? { e1: "running", e2: "running" } : { e1: "measured", e2: "missing" };
    expect(statesOf(output)).toEqual(left);
  }
});

describe("fleet run refuses, before it launches anything,", () => {
  const folder = () => join(temporaryFolder(), "fleet");
  const full = () => {
    const path = folder();
    mkdirSync(path);
    writeFileSync(join(path, "old.json"), "{}");
    return path;
  };
  test.each<[string, () => string[], string]>([
    ["a missing --output", () => ["--nodes", "2"], "--output is missing"],
    ["a missing --nodes", () => ["--launcher", "mpirun", "--output", folder()], "--nodes is missing"],
    ["--nodes 0", () => ["--nodes", "0", "--output", folder()], "--nodes 0 is not a number of nodes"],
    ["an output folder that is not empty", () => ["--nodes", "2", "--output", full()], "is not empty"],
    [
      "a launcher with {nodes} for unnamed nodes",
      () => ["--nodes", "2", "--launcher", "pdsh -w {nodes}", "--output", folder()],
      "--launcher has {nodes}, and --nodes does not name them.",
    ],
    [
      "a node name that a shell would interpret",
      () => ["--nodes", "a;b", "--launcher", "pdsh -w {nodes}", "--output", folder()],
      '"a;b" is not the name of a node.',
    ],
    [
      "an output path that a shell would interpret",
      () => ["--nodes", "a", "--launcher", "pdsh -w {nodes}", "--output", `${folder()} of mine`],
      "may not reach a node unchanged",
    ],
    [
      "the label node, which fleet run sets itself",
      () => ["--nodes", "2", "--label", "node=x", "--output", folder()],
      "--label node=… is set by fleet run itself",
    ],
  ])("%s", async (_, args, message) => {
    const { exitCode, stdout, stderr } = await callCli(["fleet", "run", ...args()]);
    expect(stderr).toContain(message);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  });

  test("a machine with neither Slurm nor a launcher", async () => {
    const { exitCode, stderr } = await callCli(["fleet", "run", "--nodes", "2", "--output", folder()], {
      env: { PATH: "/nonexistent" },
    });
    expect(exitCode).toBe(3);
    expect(stderr).toContain("there is no srun here");
  });
});
