import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A separate Slurm: one controller and several nodes, all on this machine, in a temporary folder. It has no files in
 * /etc and leaves none when it is stopped.
 */
export class TestSlurm {
  readonly folder: string;
  readonly nodes: readonly string[];
  readonly #daemons = new Map<string, ChildProcess>();

  private constructor(folder: string, nodes: readonly string[]) {
    this.folder = folder;
    this.nodes = nodes;
  }

  /** Starts one with this many nodes, n01 and so on, and waits until all of them are idle. */
  static async start(count: number): Promise<TestSlurm> {
    const nodes = Array.from({ length: count }, (_, i) => `n${String(i + 1).padStart(2, "0")}`);
    // Paths of sockets must be short.
    const slurm = new TestSlurm(mkdtempSync(join(tmpdir(), "slurm-")), nodes);
    // munged requires a socket that all users can reach.
    chmodSync(slurm.folder, 0o755);
    try {
      await slurm.#start();
      return slurm;
    } catch (cause) {
      const said = slurm.#said();
      await slurm.stop();
      throw new Error(`${(cause as Error).message}\n${said}`, { cause });
    }
  }

  /** Environment variables for its programs. */
  get env(): Record<"SLURM_CONF", string> {
    return { SLURM_CONF: join(this.folder, "slurm.conf") };
  }

  /** The output of one of its programs. */
  call(program: string, ...args: string[]): string {
    return execFileSync(program, args, {
      env: { ...process.env, ...this.env },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Waits until no job is left, shortly after the last one's end. */
  async untilEmpty(): Promise<void> {
    await until(() => this.call("squeue", "--noheader") === "", "jobs are left");
  }

  /** Kills a node's daemon, like a crash of the node. */
  async crashNode(name: string): Promise<void> {
    await end(this.#daemons.get(name), "SIGKILL");
  }

  async stop(): Promise<void> {
    const daemons = [...this.#daemons.values()].toReversed();
    await Promise.all(daemons.map((daemon) => end(daemon, "SIGTERM")));
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const { folder, nodes } = this;
    for (const name of ["state", "spool", "munge"]) mkdirSync(join(folder, name), { mode: 0o755 });
    const key = join(folder, "munge.key");
    writeFileSync(key, randomBytes(1024), { mode: 0o600 });
    const socket = join(folder, "munge", "socket");
    const inFolder = (flag: string, name: string) => `--${flag}=${join(folder, "munge", name)}`;
    this.#daemon("munged", [
      "--foreground",
      `--key-file=${key}`,
      `--socket=${socket}`,
      inFolder("pid-file", "pid"),
      inFolder("seed-file", "seed"),
      "--num-threads=2",
    ]);
    const ports = await freePorts(nodes.length + 1);
    writeFileSync(this.env.SLURM_CONF, configuration(folder, nodes, ports));
    this.#daemon("slurmctld", ["-D", "-c"]);
    for (const name of nodes) this.#daemon("slurmd", ["-D", "-N", name], name);
    const areIdle = () => {
      const states = this.call("sinfo", "--noheader", "--Node", "--format=%t").trim().split("\n");
      return states.length === nodes.length && states.every((state) => state === "idle");
    };
    await until(areIdle, "the nodes do not become idle");
  }

  #daemon(program: string, args: readonly string[], name = program): void {
    const log = openSync(join(this.folder, `${name}.out`), "a");
    const daemon = spawn(program, args, {
      stdio: ["ignore", log, log],
      env: { ...process.env, ...this.env },
    });
    // Without it no node becomes idle.
    daemon.on("error", () => undefined);
    this.#daemons.set(name, daemon);
  }

  /** The last lines of its daemons' logs. */
  #said(): string {
    return [...this.#daemons.keys()]
      .map((name) => `${name}:\n${readFileSync(join(this.folder, `${name}.out`), "utf8").slice(-1500)}`)
      .join("\n");
  }
}

/** From Slurm's manual for several nodes on one machine ("multiple slurmd support"); the rest avoids files in /etc. */
function configuration(folder: string, nodes: readonly string[], ports: readonly number[]): string {
  const host = hostname();
  const user = userInfo().username;
  const [controller, ...ofNodes] = ports;
  return [
    "ClusterName=test",
    `SlurmctldHost=${host}(127.0.0.1)`,
    `SlurmctldPort=${controller}`,
    "AuthType=auth/munge",
    `AuthInfo=socket=${folder}/munge/socket`,
    "CredType=cred/munge",
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    `StateSaveLocation=${folder}/state`,
    `SlurmdSpoolDir=${folder}/spool/%n`,
    `SlurmctldPidFile=${folder}/slurmctld.pid`,
    `SlurmdPidFile=${folder}/slurmd-%n.pid`,
    "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none",
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core",
    "SwitchType=switch/none",
    "MpiDefault=none",
    "JobAcctGatherType=jobacct_gather/none",
    "AccountingStorageType=accounting_storage/none",
    "ReturnToService=2",
    // Time to wait for a node that does not answer.
    "MessageTimeout=4",
    "KillWait=1",
    // Looks again soon at a job whose nodes are being freed.
    "SchedulerParameters=bf_interval=1,sched_interval=1",
    "PropagateResourceLimits=NONE",
    "SlurmdParameters=config_overrides",
    ...nodes.map(
      (name, i) => `NodeName=${name} NodeAddr=127.0.0.1 NodeHostname=${host} Port=${ofNodes[i]} CPUs=2`,
    ),
    `NodeSet=pair Nodes=${nodes.slice(0, 2).join(",")}`,
    `PartitionName=all Nodes=${nodes.join(",")} Default=YES State=UP`,
    "",
  ].join("\n");
}

/** Ports of this machine that are free now. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function end(daemon: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (daemon?.pid === undefined || daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = new Promise((resolve) => daemon.once("exit", resolve));
  daemon.kill(signal);
  const force = setTimeout(() => daemon.kill("SIGKILL"), 5000);
  await ended;
  clearTimeout(force);
}

async function until(isSo: () => boolean, complaint: string): Promise<void> {
  const untilMs = performance.now() + 20_000;
  for (;;) {
    try {
      if (isSo()) return;
    } catch {
      // The controller has not started yet.
    }
    if (performance.now() > untilMs) throw new Error(`Slurm: ${complaint} within 20 s`);
    await sleep(100);
  }
}
