import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import { buildFleet, buildOutlier } from "../helpers/fleet.js";
import { faultyNodes, listOf, smallCells, statesOf, untilNoneIsLeft } from "../helpers/fleet-nodes.js";
import { markName, nextMark, processesWith } from "../helpers/processes.js";
import { pinbench, runCli, startCli, temporaryFolder } from "../helpers/run-cli.js";
import { TestSlurm } from "../helpers/slurm.js";

/* `pinbench fleet run` on a real Slurm: a controller and four nodes on this machine. */

const missing = inject("slurmMissing");
let slurm: TestSlurm;

beforeAll(async () => {
  if (missing === null) slurm = await TestSlurm.start(4);
}, 30_000);
afterAll(async () => {
  await slurm?.stop();
}, 30_000);
beforeEach(async ({ skip }) => {
  skip(missing !== null, missing ?? undefined);
  await slurm.untilEmpty();
}, 30_000);

const slowLink = "all:slow=10";
/** Copies take 7 ms, so that other programs hardly change their rate. */
const steadyLink = { PINBENCH_EMULATED_LINK: "4e7" };

describe("a fleet on Slurm", () => {
  test("drains only the node with that name, even if other names stand for several nodes", async () => {
    const folder = temporaryFolder();
    const names = ["ALL", "all", "n[01-04]", "n02,n03", "n04"];
    const document = buildFleet({
      // If most nodes are slow, no line drains any.
      nodes: [...slurm.nodes, ...names, ...Array.from({ length: 4 }, (_, i) => `healthy${i}`)],
      // Different reasons, so that each node has its own line.
      outliers: names.map((host, device) => buildOutlier(host, { device })),
    });
    writeFileSync(join(folder, "fleet.json"), JSON.stringify(document));
    const { stdout } = await runCli(["fleet", "fleet.json", "--format", "drain"], {
      cwd: folder,
      env: slurm.env,
    });
    try {
      slurm.call("sh", "-c", stdout);
      const states = slurm.call("sinfo", "--noheader", "--Node", "--format=%N %t").trim().split("\n");
      expect(states).toEqual(["n01 idle", "n02 idle", "n03 idle", "n04 drain"]);
    } finally {
      for (const name of slurm.nodes) {
        const isDrained = slurm
          .call("sinfo", "--noheader", `--nodes=${name}`, "--format=%t")
          .startsWith("drain");
        if (isDrained) slurm.call("scontrol", "update", `nodename=${name}`, "state=resume");
      }
    }
  });

  test("with one slow node reports it after measuring that node again", {
    retry: 2,
  }, async () => {
    const folder = temporaryFolder();
    const output = join(folder, "fleet");
    const program = faultyNodes(folder, { n02: slowLink });
    // The nodes share two CPUs, and would slow each other down.
    const inTurn = `flock ${join(folder, "turn")} ${program}`;
    const { stdout, stderr, exitCode } = await runCli(
      [
        ...["fleet", "run", "--nodes", "n[01-04]", "--output", output, "--json"],
        ...["--label", "rack=7", "--pinbench", inTurn],
        ...smallCells,
      ],
      { env: { ...slurm.env, ...steadyLink } },
    );
    expect(exitCode, stderr).toBe(1);
    const fleet = JSON.parse(stdout) as FleetDocument;
    // One slow node of four is a slower part: it is unknown whether most nodes are healthy.
    expect(fleet.groups.map(({ slowPart }) => slowPart?.hosts)).toEqual([["n02"]]);
    expect(fleet.nodes.map(({ host, state }) => `${host} ${state}`)).toEqual([
      "n01 measured",
      "n02 measured",
      "n03 measured",
      "n04 measured",
    ]);
    expect(fleet.nodes[0]!.labels).toEqual({ rack: "7", node: "n01" });
    // Another node may look slow too if other programs use the CPUs.
    expect(statesOf(join(output, "confirm"))).toMatchObject({ n02: "measured" });
    expect(readdirSync(output)).not.toContain(".fleet-run");
  });

  test("with nodes that hang, crash and copy wrongly has a row for each, and measures the others", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "fleet");
    const mark = nextMark();
    const program = faultyNodes(folder, {
      n02: "h2d:flip:every=2",
      n03: "h2d:never",
      n04: "crash",
    });
    const { exitCode, stderr } = await runCli(
      [
        ...["fleet", "run", "--nodes", "n[01-04]", "--output", output, "--deadline", "60s"],
        ...["--pinbench", program, ...smallCells],
      ],
      { env: { ...slurm.env, [markName]: mark } },
    );
    expect(exitCode, stderr).toBe(7);
    expect(listOf(output).nodes).toEqual([
      { host: "n01", state: "measured", reason: null, file: "n01.json" },
      { host: "n02", state: "wrong data", reason: expect.any(String), file: "n02.json" },
      { host: "n03", state: "late", reason: "it was not done 30 s after its start", file: null },
      {
        host: "n04",
        state: "failed",
        reason: expect.stringMatching(/^its process was killed, or the node went down/),
        file: null,
      },
    ]);
    expect(stderr).toContain("1 of 4 nodes measured, 1 failed, 1 with wrong data, 1 late.");
    await untilNoneIsLeft(mark);
    await slurm.untilEmpty();
  });

  test("measures the first nodes of an allocation made by sbatch", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "fleet");
    const command = [process.execPath, pinbench, "fleet", "run", "--nodes", "2", "--output", output];
    slurm.call(
      "sbatch",
      ...["--wait", "--nodes=3", "--exclusive", `--output=${folder}/said`, "--quiet"],
      // The two share CPUs, so one may look slow.
      `--wrap=${[...command, ...smallCells].join(" ")} || test $? -eq 1`,
    );
    expect(statesOf(output)).toEqual({ n01: "measured", n02: "measured" });
  });

  test("keeps a report of each night with the script of docs/fleet.md", async () => {
    const folder = temporaryFolder();
    const docs = readFileSync(new URL("../../docs/fleet.md", import.meta.url), "utf8");
    const [, script = ""] = /```bash\n(#!\/bin\/sh\n#SBATCH[\s\S]*?)```/.exec(docs) ?? [];
    expect(script.trim().split("\n")).toHaveLength(8);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const program = `#!/bin/sh\n[ "$2" != run ] || set -- "$@" ${smallCells.join(" ")}\nexec '${process.execPath}' '${pinbench}' "$@"\n`;
    writeFileSync(join(bin, "pinbench"), program, { mode: 0o755 });
    // The cluster of the test has fewer nodes, without GPUs.
    const changed = script
      .replace("--nodes=16 --exclusive --gpus-per-node=8", "--nodes=2 --exclusive")
      .replace("--nodes 16", "--nodes 2")
      .replace("/shared/pinbench", folder);
    writeFileSync(join(folder, "nightly.sh"), changed);
    const env = { ...process.env, ...slurm.env, PATH: `${bin}:${process.env.PATH}` };
    const args = ["--wait", "--quiet", `--output=${folder}/said`, "nightly.sh"];
    // The two share CPUs, so one may look slow.
    expect([0, 1]).toContain(spawnSync("sbatch", args, { cwd: folder, env }).status);
    const [night, ...others] = readdirSync(folder).filter((name) => /^\d{4}-\d\d-\d\d$/.test(name));
    expect(others).toEqual([]);
    expect(statesOf(join(folder, night!))).toEqual({ n01: "measured", n02: "measured" });
    expect(readFileSync(join(folder, `${night}.txt`), "utf8")).toMatch(/^=> /m);
    expect(readFileSync(join(folder, "drain.sh"), "utf8")).toMatch(/^(# |scontrol )/);
  });

  test("that is killed leaves no process and no job", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "fleet");
    const mark = nextMark();
    const program = faultyNodes(folder, { n01: "h2d:never" });
    const { child, finished } = startCli(
      ["fleet", "run", "--nodes", "n01", "--output", output, "--pinbench", program, ...smallCells],
      { env: { ...slurm.env, [markName]: mark } },
    );
    while (!existsSync(join(output, ".fleet-run", "n01.started"))) await sleep(50);
    expect(processesWith(mark).length).toBeGreaterThan(2);
    child.kill("SIGKILL");
    await finished;
    await untilNoneIsLeft(mark);
    await slurm.untilEmpty();
    expect(existsSync(join(output, ".fleet-run"))).toBe(false);
  });

  test("with a node that is down reports it as missing with Slurm's reason, and does not wait for it", async () => {
    await slurm.crashNode("n04");
    const folder = temporaryFolder();
    const output = join(folder, "fleet");
    const { stderr } = await runCli(
      ["fleet", "run", "--nodes", "n03,n04", "--output", output, ...smallCells],
      { env: slurm.env },
    );
    expect(statesOf(output), stderr).toEqual({ n03: "measured", n04: "missing" });
    expect(listOf(output).nodes[1]!.reason).toMatch(/^it did not start to measure \(srun: error: .*n04/);
  });
});
