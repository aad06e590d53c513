import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import { type Finished, pinbench, small, start, temporaryFolder } from "../helpers/run-cli.js";
import { countTrials, trials } from "../helpers/trials.js";

/**
 * pinbench on machines that lack something. Each is made by the shell, with limits, mounts in a namespace of their own or
 * a control group; if the kernel forbids that, the test is skipped.
 */

interface Machine {
  /** What the shell does before it becomes pinbench, in an empty folder that is this one's own. */
  shell: string;
  /** Put before the shell: what makes a namespace or another user. */
  around?: readonly string[];
  /** Of Node. */
  nodeOptions?: readonly string[];
  args: readonly string[];
  exitCode: number;
  /** All of stderr; nothing unless it is given. */
  says?: RegExp;
  /** Whether a result is printed; it is, unless this is false. */
  prints?: boolean;
  /** Also in the short form. */
  first?: true;
}

const run = small("--memory", "pinned", "--json");
const namespace = ["unshare", "--mount"];
const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const tuneOnce =
  "tune --sample 4KiB --batch-size 4 --backend emulated --budget 1s --max-workers 0 --json".split(" ");
/** A file system that has room for one old file and nothing else. */
const fullDisk =
  "mkdir disk && mount -t tmpfs -o size=64k none disk && echo old > disk/old.json && (cat /dev/zero > disk/fill || true) 2> /dev/null";
const diskIsFull = (path: string) =>
  new RegExp(`^pinbench: cannot write ${path}: the disk is full\\. Choose another path to write to\\.\\n$`);
const noPermission = (what: string) =>
  new RegExp(`^pinbench: ${what} Start node with --allow-addons, .*\\.\\n$`);
const permissions = (...allowed: string[]) => [
  "--no-warnings",
  "--experimental-permission",
  "--allow-fs-read=*",
  ...allowed,
];

const machines: Readonly<Record<string, Machine>> = {
  "64 KiB of locked memory": { shell: "ulimit -l 64", args: run, exitCode: 0 },
  "20 open files, the fewest that Node itself starts with": {
    shell: "ulimit -n 20",
    args: run,
    exitCode: 3,
    says: /^pinbench: too many open files: the limit is 20, .* Raise it with ulimit -n 1024\.\n$/,
    prints: false,
    first: true,
  },
  "4 GiB of address space": { shell: "ulimit -v 4194304", args: run, exitCode: 0 },
  "one CPU": { shell: "true", around: ["taskset", "--cpu-list", "0"], args: run, exitCode: 0 },
  "20 processes and threads, too few for one measuring process": {
    shell: "ulimit -u 20",
    around: nobody,
    args: [...run, "--runs", "2"],
    exitCode: 3,
    says: /^pinbench: A measuring process did not start: the system starts no more processes or threads \(this user may have 20 here\)\. Raise the limit .*\.\n$/,
    prints: false,
    first: true,
  },
  "20 processes and threads, too few for two worker processes": {
    shell: "ulimit -u 20",
    around: nobody,
    args: [...run, "--workers", "2", "--worker-kind", "process"],
    exitCode: 3,
    says: /^pinbench: 2 worker processes cannot be started: the system starts no more processes or threads \(this user may have 20 here\)\. .*\.\n$/,
    prints: false,
  },
  "a control group of 256 MiB": {
    shell:
      "group=/sys/fs/cgroup/memory/pinbench-$$ && mkdir $group && echo 268435456 > $group/memory.limit_in_bytes && echo $$ > $group/cgroup.procs",
    args: run,
    exitCode: 0,
  },
  "/dev/shm of 64 MB": {
    shell: "mount -t tmpfs -o size=64m none /dev/shm",
    around: namespace,
    args: tuneOnce,
    exitCode: 0,
  },
  "no /sys": { shell: "mount -t tmpfs none /sys", around: namespace, args: run, exitCode: 0 },
  "no /proc": { shell: "mount -t tmpfs none /proc", around: namespace, args: run, exitCode: 0 },
  "no /proc, used with worker processes": {
    shell: "mount -t tmpfs none /proc",
    around: namespace,
    args: [...run, "--workers", "2", "--worker-kind", "process"],
    exitCode: 3,
    says: /^pinbench: worker processes share memory through \/proc, which is missing\. Mount \/proc, or measure with threads: --worker-kind thread\.\n$/,
    prints: false,
    first: true,
  },
  "a full disk, used for a new result": {
    shell: fullDisk,
    around: namespace,
    args: [...run, "--output", "disk/new.json"],
    exitCode: 2,
    says: diskIsFull("disk/new.json"),
  },
  "a full disk, used for a result in place of an old one": {
    shell: fullDisk,
    around: namespace,
    args: [...run, "--quiet", "--output", "disk/old.json"],
    exitCode: 2,
    says: diskIsFull("disk/old.json"),
  },
  "a full disk, used for a baseline": {
    shell: fullDisk,
    around: namespace,
    args: ["baseline", "disk/base", "--runs", "1", ...run.slice(1, -1)],
    exitCode: 2,
    says: diskIsFull("disk/base/run-[0-9a-f]+-01.json"),
    prints: false,
  },
  "a full disk, used for tune --output": {
    shell: fullDisk,
    around: namespace,
    args: [...tuneOnce, "--output", "disk/tuning.json"],
    exitCode: 2,
    says: diskIsFull("disk/tuning.json"),
  },
  "a read-only file system": {
    shell: "mount --bind . . && mount -o remount,ro,bind . && cd $PWD",
    around: namespace,
    args: [...run, "--output", "new.json"],
    exitCode: 2,
    says: /^pinbench: cannot write new\.json: the file system is read-only\. Choose another path to write to\.\n$/,
    prints: false,
  },
  "no HOME": { shell: "unset HOME XDG_CACHE_HOME", args: run, exitCode: 0 },
  "no PATH": { shell: "unset PATH", args: run, exitCode: 0 },
  "a missing TMPDIR folder": { shell: "export TMPDIR=$PWD/none", args: run, exitCode: 0 },
  "a missing TMPDIR folder, used with a training job": {
    shell: "export TMPDIR=$PWD/none",
    args: ["tune", "--", "true"],
    exitCode: 2,
    says: /^pinbench: cannot make a folder in \S+\/none: there is no such folder\. TMPDIR names another place for temporary files\.\n$/,
    prints: false,
  },
  "Node's permission model, allowing addons": {
    shell: "true",
    nodeOptions: permissions("--allow-addons"),
    args: run,
    exitCode: 0,
  },
  "Node's permission model, forbidding addons": {
    shell: "true",
    nodeOptions: permissions(),
    args: run,
    exitCode: 3,
    says:
      process.env.PINBENCH_ADDON === undefined
        ? noPermission("Node's permission model forbids loading the compiled module\\.")
        : /does not load: Node's permission model forbids it .* Point PINBENCH_ADDON /,
    prints: false,
    first: true,
  },
  "Node's permission model, forbidding processes": {
    shell: "true",
    nodeOptions: permissions("--allow-addons"),
    args: [...run, "--runs", "2"],
    exitCode: 3,
    says: noPermission("A measuring process did not start: Node's permission model forbids it\\."),
    prints: false,
  },
  "Node's permission model, forbidding to write files": {
    shell: "true",
    nodeOptions: permissions("--allow-addons"),
    args: [...run, "--output", "new.json"],
    exitCode: 3,
    says: noPermission("cannot write new\\.json: Node's permission model forbids it\\."),
    prints: false,
  },
};

/** Printed by the shell if it could not make the machine. */
const notMade = "this machine cannot be made here";

async function onMachine(
  { shell, around = [], nodeOptions = [], args }: Machine,
  cwd: string,
  env: Record<string, string> = {},
): Promise<Finished> {
  const command = `{ ${shell}; } || { echo "${notMade}" >&2; exit 99; }; exec "$@"`;
  const words = [
    ...around,
    "bash",
    "-c",
    command,
    "bash",
    process.execPath,
    ...nodeOptions,
    pinbench,
    ...args,
  ];
  return start(words[0]!, words.slice(1), { cwd, env }).finished;
}

/** Whether the programs and the rights are there that make a machine. */
function canBeMade({ shell, around = [] }: Machine, cwd: string): boolean {
  const words = [...around, "bash", "-c", shell];
  return spawnSync(words[0]!, words.slice(1), { cwd, stdio: "ignore" }).status === 0;
}

function removeControlGroups(): void {
  const folder = "/sys/fs/cgroup/memory";
  try {
    for (const name of readdirSync(folder))
      if (/^pinbench-\d+$/.test(name)) spawnSync("rmdir", [join(folder, name)]);
  } catch {
    // Then this machine has none.
  }
}

describe("pinbench works, or says in one sentence what is missing, on a machine with", () => {
  afterEach(removeControlGroups);

  const chosen = Object.entries(machines).filter(([, { first }]) => trials(0, 1) === 1 || first === true);

  it.each(chosen)("%s", async (_, machine) => {
    const cwd = temporaryFolder();
    const finished = await onMachine(machine, cwd);
    if (finished.exitCode === 99 || !canBeMade(machine, temporaryFolder())) {
      console.warn(`skipped: ${notMade}`);
      return;
    }
    const counted = countTrials("small machines");
    counted.tries();
    const { exitCode, signal, stdout, stderr } = finished;
    expect(stderr).toMatch(machine.says ?? /^$/);
    expect({ exitCode, signal }).toEqual({ exitCode: machine.exitCode, signal: null });
    expect(stdout === "").toBe(machine.prints === false);
    if (stdout !== "" && machine.args[0] === "run") expect(parseResult(stdout).run.status).toBe("complete");
    expect(readdirSync(cwd).filter((name) => name !== "disk")).toEqual([]);
    counted.survives();
  });

  it.runIf(trials(0, 1) === 1)(
    "a clock that is set back and forth, and still measures the right durations",
    async () => {
      const counted = countTrials("small machines");
      counted.tries();
      const cwd = temporaryFolder();
      const library = join(cwd, "changed_clock.so");
      const source = fileURLToPath(new URL("changed_clock.cpp", import.meta.url));
      const built = spawnSync("g++", ["-std=c++17", "-shared", "-fPIC", "-o", library, source, "-ldl"], {
        encoding: "utf8",
      });
      expect(built.stderr).toBe("");
      const machine = { shell: `export LD_PRELOAD=${library}`, args: run, exitCode: 0 };
      const startedMs = performance.now();
      const { exitCode, stdout, stderr } = await onMachine(machine, cwd);
      const tookNs = (performance.now() - startedMs) * 1e6;
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      const { run: made, cells } = parseResult(stdout);
      // Of a year more or less nothing is to be seen but in the time of day.
      expect(Math.abs(Date.parse(made.startedAt) - Date.now())).toBeGreaterThan(300 * 86_400_000);
      expect(made.wallNs).toBeGreaterThan(0);
      expect(made.wallNs).toBeLessThan(tookNs);
      for (const { stats } of cells) expect(stats[0]?.bandwidthGBps.median).toBeGreaterThan(0);
      counted.survives();
    },
  );
});
