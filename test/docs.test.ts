import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { listRuns } from "../src/results/files/run-folder.js";
import { baselineOf } from "./helpers/baseline-folder.js";
import { blocksOf, documents, linesOf, root, textOf } from "./helpers/documents.js";
import { buildEntry, buildFigure, historyFolder, pinnedId } from "./helpers/history.js";
import { callCli, callCliAlone } from "./helpers/in-process.js";
import { writeNodes } from "./helpers/recorded-nodes.js";
import { measureSmall, pinbench, start, temporaryFolder } from "./helpers/run-cli.js";
import { setUpCommands } from "./helpers/set-up-commands.js";
import { torchMissing, warmPython } from "./helpers/test-python.js";

interface Step {
  run?: string;
  uses?: string;
  with?: Record<string, string>;
}

/** A job of GitHub Actions has steps, one of GitLab CI a script. */
interface Job {
  steps?: Step[];
  script?: string[];
}

const workflows = documents.flatMap((document) => blocksOf(document, "yaml"));

function jobsOf(workflow: string): Job[] {
  const { jobs, ...rest } = parse(workflow) as { jobs?: Record<string, Job> } & Record<string, Job>;
  return Object.values(jobs ?? rest);
}

function scriptsOf({ steps = [], script = [] }: Job): string[] {
  // A clone's program is tried as any other.
  return [...steps.flatMap(({ run }) => run ?? []), ...script]
    .flatMap(linesOf)
    .map((line) => line.replace(/^pinbench\/bin\/pinbench\.js /, "pinbench "));
}

/** The commands in the last column of README's table of questions. */
const answers = [...textOf("README.md").matchAll(/^\|.*\| `(npx pinbench [^`]+)` \|$/gm)].map(
  ([, command]) => command!,
);

/** The same in the table of symptoms for programs, whose last column has the fields to read. */
const symptoms = [...textOf("docs/agents.md").matchAll(/^\| [^|]+ \| `(pinbench [^`]+)` \| (.*) \|$/gm)].map(
  ([, command, fields]) => ({
    command: command!,
    fields: [...fields!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!),
  }),
);

const commands = [
  ...new Set([
    ...answers,
    ...symptoms.map(({ command }) => command),
    ...documents.flatMap((document) => blocksOf(document, "sh").flatMap(linesOf)),
    // A workflow that is no YAML has a test below to say so.
    ...workflows.flatMap((workflow) => {
      try {
        return jobsOf(workflow).flatMap(scriptsOf);
      } catch {
        return [];
      }
    }),
  ]),
];
const ofPinbench = commands.filter((line) => /^(\w+=\S+ )*(npx )?pinbench /.test(line));

/** What stands after -- is a training job's command. */
const ofTraces = ofPinbench.filter((line) => line.includes("pinbench trace "));
const ofJobs = ofPinbench.filter((line) => line.includes(" -- ") && !ofTraces.includes(line));
const ofFleets = ofPinbench.filter((line) => line.includes("pinbench fleet run "));

/** In the place of srun: starts the command here, once for each node. */
const launcherHere = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --nodes=*) count=\${1#*=} ;;
    --version) exit ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
for node in $(seq -f n%02g "$count"); do PINBENCH_NODE_NAME=$node "$@" & done
wait
`;

/** Flags behind a line, of which the last ones win: as little as shows that the line works, whatever it asks for. */
const sweep = "--backend emulated --sizes 64KiB --quiet";
/** No noise is as large as this threshold, which is tried after the patterns of a line but before all else in it. */
const calm = "--threshold 90% --quiet";
const quickly: Readonly<Record<string, string>> = {
  run: `${sweep} --samples 1`,
  baseline: `${sweep} --workers 1 --memory pinned,pageable --runs 2 --samples 2`,
  check: `--runs 1 ${calm}`,
  compare: calm,
  history: "",
  show: "",
  fleet: "",
  import: "--quiet",
  devices: "--backend emulated",
  doctor: "--backend emulated --preset quick --quiet",
  pin: "--backend emulated --sizes 4MiB --threads 1 --budget 30s --quiet",
  explain: "--backend emulated --quiet",
  load: "--backend emulated --make 1MiB --file-folder . --threads 1 --budget 1ms --quiet",
  help: "",
  tune: `--python ${warmPython} --backend emulated --budget 1s --max-workers 1 --quiet`,
  // `pinbench --version`
  "": "",
};

/** What takes long takes these in the place of what it says itself, or of `quickly`'s. */
const quicker: readonly (readonly [said: string, flags: string])[] = [
  [" --blocks auto", "--dry-run"],
  [" --blocks 4", "--blocks 16MiB --direction h2d --memory pinned"],
  [" --runs ", "--runs 2"],
  [" --sample ", "--sample 588KiB,100us"],
  [" --sessions ", "--sessions 2 --runs 1 --every 10ms"],
  // What a busy machine makes look slow is not waited for.
  [" --confirm-after ", "--confirm-after 1ms"],
  // Each load runs a while before and after its copies.
  [" --beside ", "--direction h2d --memory pinned"],
];

/** The flags that follow a line. Blocks take the place of sizes, and an addition is measured as its baseline was. */
function quickFlags(line: string): string {
  const usual = line.includes(" --append") ? "--runs 1 --quiet" : quickly[subcommandOf(line)]!;
  const more = quicker.filter(([said]) => line.includes(said)).map(([, flags]) => flags);
  return [line.includes(" --blocks ") ? usual.replace("--sizes 64KiB", "") : usual, ...more].join(" ");
}

/** Doctor cannot judge a device without a link, and copies little on one with little memory. */
const linkedDevice = {
  PINBENCH_EMULATED_MEMORY: "100MiB",
  PINBENCH_EMULATED_NVML: "generation=1:width=2:maxGeneration=1:maxWidth=2",
  PINBENCH_EMULATED_LINK: "5e8",
};

const subcommandOf = (line: string) => /\bpinbench (\w+)/.exec(line)?.[1] ?? "";

/** A line's words after `pinbench`, as the shell takes them apart. */
function wordsOf(line: string): string[] {
  const program = 'pinbench() { printf "%s\\0" "$@"; }; npx() { "$@"; }';
  const { status, stdout } = spawnSync("bash", ["-fc", `${program}; ${line}`], { encoding: "utf8" });
  expect(status).toBe(0);
  return stdout.split("\0").slice(0, -1);
}

/** Whether documents of a JSON Schema have a field, such as cells[].id. */
// biome-ignore lint/suspicious/noExplicitAny: a part of a schema
function hasField(schema: any, whole: any, [first, ...rest]: readonly string[]): boolean {
  if (schema.$ref !== undefined) {
    const target = schema.$ref.split("/").slice(1);
    return hasField(
      target.reduce((part: never, key: string) => part[key], whole),
      whole,
      [first!, ...rest],
    );
  }
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (parts.some((part) => hasField(part, whole, [first!, ...rest]))) return true;
  if (first === undefined) return true;
  const found = schema.properties?.[first.replace("[]", "")];
  if (found === undefined) return false;
  return rest.length === 0 || hasField(first.endsWith("[]") ? found.items : found, whole, rest);
}

const filesOf = (line: string) => [...line.matchAll(/ --output (\S+)/g)].map(([, path]) => path!);

/** What the commands name and do not make: each part is made once, if a command names it, and fails those alone. */
const materials: Readonly<Record<string, (path: string, of: typeof material) => Promise<void> | void>> = {
  gpu1: async (path) => {
    const { document } = await measureSmall([]);
    cpSync(await baselineOf(document), path, { recursive: true });
  },
  before: copyOf("gpu1"),
  after: copyOf("gpu1"),
  runs: copyOf("gpu1"),
  "before.json": async (path, of) => cpSync((await listRuns(await of("gpu1")))[0]!, path),
  "after.json": async (path, of) => cpSync((await listRuns(await of("gpu1")))[1]!, path),
  checks: (path) => {
    const series = [buildFigure(), buildFigure({ id: pinnedId.replace("h2d", "d2h"), moved: "d2h" })];
    cpSync(historyFolder([0, 1].map((day) => buildEntry(day, { series }))), path, { recursive: true });
  },
  "result.json": (path) => cpSync(join(root, "results/nvidia-h200/default.json"), path),
  "nvbandwidth.json": (path) => cpSync(join(root, "test/fixtures/nvbandwidth-0.8.json"), path),
  "old.json": async (path, of) => {
    const args = ["import", "nvbandwidth", await of("nvbandwidth.json"), "--output", path];
    expect((await callCli(args)).exitCode).toBe(0);
  },
  "new.json": copyOf("old.json"),
  results: (path) => writeNodes(path, 6),
  "site.json": async (path, of) => {
    const { stdout } = await callCli(["fleet", await of("results"), "--format", "reference"]);
    writeFileSync(path, stdout);
  },
  images: (path) => {
    mkdirSync(path);
    for (const name of ["a.jpg", "b.jpg"]) writeFileSync(join(path, name), "x".repeat(9000));
  },
  ...Object.fromEntries(
    readdirSync(join(root, "test/fixtures/docs")).map((name) => [
      name,
      (path: string) => cpSync(join(root, "test/fixtures/docs", name), path, { recursive: true }),
    ]),
  ),
};

function copyOf(name: string) {
  return async (path: string, of: typeof material) => cpSync(await of(name), path, { recursive: true });
}

const made = new Map<string, Promise<string>>();

/** The path of a part. */
function material(name: string): Promise<string> {
  const make = async () => {
    const path = join(temporaryFolder(), name);
    await materials[name]!(path, material);
    return path;
  };
  if (!made.has(name)) made.set(name, make());
  return made.get(name)!;
}

/** A folder with the material that a line names, but for what it says that it makes. */
async function folderFor(line: string): Promise<string> {
  const folder = temporaryFolder();
  const outputs = [...line.matchAll(/ (?:pinbench baseline|--output) (\S+)/g)].map(([, path]) => path!);
  for (const name of Object.keys(materials)) {
    const isMade = outputs.some((path) => path.replace(/\/$/, "") === name) && !line.includes(" --append");
    if (isMade || !line.includes(/^[a-z]+/.exec(name)![0])) continue;
    cpSync(await material(name), join(folder, name), { recursive: true });
  }
  return folder;
}

describe("every command that the documents show works", () => {
  /** A training is started by the first Python in the path, which has torch. */
  it.for(ofJobs)("%s", async (line, { skip }) => {
    skip(torchMissing !== null, torchMissing ?? undefined);
    const cwd = await folderFor(line);
    for (const name of ["python", "python3"]) {
      writeFileSync(join(cwd, name), `#!/bin/sh\nexec "${warmPython}" "$@"\n`, { mode: 0o755 });
    }
    const command = line.replace(/(npx )?pinbench/, '"$NODE" "$PINBENCH"');
    const env = { NODE: process.execPath, PINBENCH: pinbench, PATH: `${cwd}:${process.env.PATH}` };
    const run = (budget: string) => {
      const quick = command.replace(" -- ", ` --budget ${budget} --max-workers 1 -- `);
      return start("bash", ["-c", quick], { cwd, env }).finished;
    };
    let finished = await run("2s");
    // A busy machine makes too few batches in that time.
    if (finished.exitCode === 4) finished = await run("40s");
    expect(finished.exitCode, finished.stderr).toBe(0);
    expect(finished.stderr).toMatch(/^=> num_workers=[01] /m);
  });

  it.for(ofTraces)("%s", async (line) => {
    const cwd = await folderFor(line);
    for (const name of ["python3", "torchrun"])
      writeFileSync(join(cwd, name), "#!/bin/sh\n", { mode: 0o755 });
    const command = line.replace(/(npx )?pinbench/, '"$NODE" "$PINBENCH"');
    const env = { NODE: process.execPath, PINBENCH: pinbench, PATH: `${cwd}:${process.env.PATH}` };
    const { exitCode, stderr } = await start("bash", ["-c", command], { cwd, env }).finished;
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toMatch(/^=> No process used CUDA: there is nothing to report\.$/m);
  });

  it.for(ofFleets)("%s", async (line) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "srun"), launcherHere, { mode: 0o755 });
    const command = line.replace(/(npx )?pinbench/, '"$NODE" "$PINBENCH"');
    const env = { NODE: process.execPath, PINBENCH: pinbench, PATH: `${cwd}:${process.env.PATH}` };
    const flags = "--backend emulated --nodes 2 --preset quick --budget 0s --quiet";
    const { exitCode, stderr } = await start("bash", ["-c", `${command} ${flags}`], { cwd, env }).finished;
    // Nodes that share a busy machine may well differ.
    expect([0, 1], stderr).toContain(exitCode);
    const { nodes } = JSON.parse(readFileSync(join(cwd, "fleet/fleet-run.json"), "utf8"));
    expect(nodes.map(({ state }: { state: string }) => state)).toEqual(nodes.map(() => "measured"));
  });

  it.for(ofPinbench.filter((line) => ![...ofJobs, ...ofTraces, ...ofFleets].includes(line)))(
    "%s",
    async (line, { skip }) => {
      if (line.includes(" --torch ")) skip(torchMissing !== null, torchMissing ?? undefined);
      // All questions take a minute and more: a short one stands for the others.
      const tried = line.replace("explain --all", "explain several-gpus");
      const command = tried.replace(/(npx )?pinbench/, '"$NODE" "$PINBENCH"');
      const subcommand = subcommandOf(line);
      expect(Object.keys(quickly)).toContain(subcommand);
      const cwd = await folderFor(line);
      const takesSeveral = / --together| p2p/.test(line);
      const several = takesSeveral ? { PINBENCH_EMULATED_DEVICES: "2" } : {};
      const isDoctor = subcommand === "doctor";
      // A machine that others keep busy is slow, and both say so, or a check is undecided.
      const codes = isDoctor ? [0, 1] : subcommand === "check" ? [0, 1, 6] : [0];
      const env = { NODE: process.execPath, PINBENCH: pinbench, ...several, ...(isDoctor && linkedDevice) };
      // Lines that need a real shell run in a process, and so do variables that the driver reads.
      const run = (flags: string) =>
        /^(npx )?pinbench [^|<>&;$`]*$/.test(line) && !takesSeveral && !isDoctor
          ? callCliAlone(wordsOf(`${tried} ${flags}`), { cwd })
          : start("bash", ["-c", `${command} ${flags}`], { cwd, env }).finished;
      let finished = await run(quickFlags(line));
      // On a busy machine a second is too short for some commands, which are then tried with as much as they need.
      if (finished.stderr.includes("too few batches arrived within the budget")) {
        finished = await run(`${quickFlags(line)} --budget 40s`);
      }
      const { exitCode, stdout, stderr } = finished;
      expect(codes, stderr).toContain(exitCode);
      expect(stderr).toBe("");
      if (subcommand !== "import" && !line.includes(" > ")) expect(stdout).not.toBe("");
      for (const path of filesOf(line)) expect(existsSync(join(cwd, path)), path).toBe(true);
    },
  );

  it.each(symptoms)("$command has the fields that programs should read", ({ command, fields }) => {
    const kinds: Record<string, string> = { run: "result", check: "comparison", compare: "comparison" };
    Object.assign(kinds, {
      tune: "tuning",
      doctor: "diagnosis",
      fleet: "fleet",
      pin: "pinning",
      load: "load",
      trace: "trace",
    });
    const schema = JSON.parse(textOf(`schema/${kinds[subcommandOf(command)]}-v1.json`));
    for (const path of fields) expect(hasField(schema, schema, path.split(".")), path).toBe(true);
  });

  it("npm's scripts in the documents exist", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    const named = documents
      .flatMap((document) => [...textOf(document).matchAll(/\bnpm (?:run ([\w:-]+)|(test))/g)])
      .map(([, script, test]) => script ?? test);
    expect(named.length).toBeGreaterThan(0);
    for (const script of named) expect(Object.keys(scripts)).toContain(script);
  });

  it("the tested commands include README's table of questions, whose first is trace", () => {
    expect(answers.length).toBeGreaterThan(10);
    expect(answers[0]).toBe("npx pinbench trace -- python3 train.py");
  });

  it("the documents contain no command line of an unknown program", () => {
    const known = [...ofPinbench, ...setUpCommands];
    const others = commands.filter((line) => !known.includes(line) && !/^(npm |exit 1$)/.test(line));
    expect(others).toEqual([]);
  });
});

describe("the CI workflows in the documents", () => {
  it("are found", () => {
    expect(workflows.length).toBeGreaterThanOrEqual(3);
  });

  const ownAction = /^OWNER\/pinbench@v\d+$/;
  const usesOf = (workflow: string) =>
    jobsOf(workflow).flatMap(({ steps = [] }) => steps.flatMap(({ uses }) => uses ?? []));

  it.each(workflows)("are YAML, and pin actions to a major version (%#)", (workflow) => {
    for (const uses of usesOf(workflow)) expect(uses).toMatch(/^(actions\/[\w-]+|OWNER\/pinbench)@v\d+$/);
  });

  it.each(workflows)(
    "install pinbench, and run a check, or have pinbench's action do so (%#)",
    (workflow) => {
      if (usesOf(workflow).some((uses) => ownAction.test(uses))) return;
      for (const [first, ...more] of jobsOf(workflow).map(scriptsOf)) {
        expect(first).toBe("npm ci");
        expect(more.map(subcommandOf)).toContain("check");
      }
    },
  );

  it("give pinbench's action only inputs that it has", () => {
    const { inputs } = parse(textOf("action.yml"));
    const steps = workflows.flatMap(jobsOf).flatMap((job) => job.steps ?? []);
    const given = steps.find(({ uses = "" }) => ownAction.test(uses))?.with ?? {};
    expect(Object.keys(given)).toEqual(["package", "baseline"]);
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(given)));
  });
});
