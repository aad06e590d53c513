import { Argument, Command } from "commander";
import type { ExitCode } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { questionNames } from "../settings/choices.js";
import { type CommandName, type CommandSettings, commandSettings } from "../settings/command-settings.js";
import { optionName, type SettingTable } from "../settings/setting.js";
import { callNow, defaultsOf } from "../settings/settings.js";
import { optionsOf, refuseFlagsAbove, tooMany } from "./command-flags.js";
import { endBy, isWatched } from "./deadline.js";
import { helpColumns, overview, setHelp } from "./help-layout.js";
import { writeHelp } from "./output/terminal.js";
import type { Invocation } from "./requested-settings.js";

interface CommandEntry<Name extends CommandName> {
  summary: string;
  operands?: readonly Argument[];
  /** The settings that -h shows. */
  usual?: readonly (keyof (typeof commandSettings)[Name])[];
  help?: string;
  /** Called by other programs only. */
  isHidden?: true;
  /** Loads the command's code only when it runs, so that help and errors are quick. */
  load: () => Promise<
    (flags: CommandSettings<Name>, invocation: Invocation, program: Command) => Promise<ExitCode>
  >;
}

const nvbandwidthExamples = `
Examples:
  pinbench import nvbandwidth nvbandwidth.json --output old.json   what nvbandwidth -j wrote
  pinbench compare old.json new.json                               against a run of pinbench's`;

const commands: { readonly [Name in CommandName]: CommandEntry<Name> } = {
  run: {
    summary: "measure copies between host and device, and print GB/s tables",
    usual: [
      "devices",
      "preset",
      "sizesBytes",
      "workers",
      "memory",
      "directions",
      "budgetNs",
      "output",
      "json",
    ],
    help: `
Examples:
  pinbench run                                 the default sweep
  pinbench run --preset quick                  pageable against pinned
  pinbench run -s 1MiB..1GiB*4 -m pinned       sizes and memory of your own
  pinbench run --together --direction h2d,d2h  all GPUs at once
  pinbench run --beside compute,host           with a load on either side
  pinbench run --numa all                      every NUMA node to every GPU
  pinbench run -o result.json -o report.html   for programs, and for people`,
    load: async () => (await import("./commands/run-command.js")).runCommand,
  },
  measure: {
    summary: "measure the settings given as JSON on stdin, for another pinbench process",
    isHidden: true,
    load: async () => (await import("./commands/run-command.js")).measureCommand,
  },
  worker: {
    summary: "measure for another pinbench process, as one of several worker processes",
    isHidden: true,
    load: async () => (await import("./commands/worker-command.js")).workerCommand,
  },
  check: {
    summary: "measure a baseline's cells again, and exit with 1 if the machine got slower",
    usual: ["baseline", "runs", "update", "history", "thresholds", "format", "output"],
    help: `
check repeats the baseline's cells and settings, but for --budget and --max-pinned.

Examples:
  pinbench baseline gpu1/ --preset quick              once: the machine as it should be
  pinbench check --baseline gpu1/                     in CI: exit code 1 if it got slower
  pinbench check --baseline gpu1/ --format github     with annotations, on GitHub Actions
  pinbench check --baseline gpu1/ --runs 10 --update  a new baseline, if nothing is slower`,
    load: async () => (await import("./commands/check-command.js")).checkCommand,
  },
  baseline: {
    summary: "measure in several fresh processes and keep the runs, to check against",
    usual: ["preset", "sizesBytes", "memory", "runs", "append"],
    operands: [new Argument("<folder>", "a new folder for the runs; with --append, an existing baseline")],
    help: `
Examples:
  pinbench baseline gpu1/                             the default sweep, ten times
  pinbench baseline gpu1/ --memory pinned --sizes 1MiB,64MiB --runs 5
  pinbench baseline gpu1/ --sessions 4 --every 10m    four sessions, 10 minutes apart
  pinbench baseline gpu1/ --append                    add another session later`,
    load: async () => (await import("./commands/baseline-command.js")).baselineCommand,
  },
  compare: {
    summary: "compare two results cell by cell, and exit with 1 if the second one is slower",
    usual: ["thresholds", "strict", "output", "showsAll"],
    operands: [
      new Argument("<baseline>", "a result of `pinbench run --output`, or a folder of several runs"),
      new Argument("<candidate>", "the newer result, or a folder of several runs"),
    ],
    help: `
Examples:
  pinbench compare before.json after.json              one run each: large changes only
  pinbench compare before/ after/                      folders of several runs: the spread between them counts
  pinbench compare before/ after/ --threshold 3% --threshold pageable=10%
  pinbench compare before/ after/ --output report.md --output junit.xml`,
    load: async () => (await import("./commands/compare-command.js")).compareCommand,
  },
  history: {
    summary: "show the trend of past checks: steps, outages, and what changed",
    usual: ["cells", "format", "output"],
    operands: [new Argument("<folder>", "a folder of `pinbench check --history`")],
    help: `
Examples:
  pinbench check --baseline gpu1/ --history checks/  in every job
  pinbench history checks/                           the trend of each memory kind
  pinbench history checks/ --cells "*/pinned/*"      of single cells`,
    load: async () => (await import("./commands/history-command.js")).historyCommand,
  },
  fleet: {
    summary: "find nodes and GPUs that are slower than similar ones",
    usual: ["threshold", "format", "output", "since"],
    operands: [new Argument("<path...>", "results of many nodes: files or folders")],
    help: `
Examples:
  pinbench fleet results/                         which nodes are slow
  pinbench fleet results/ --output fleet.html     charts of every GPU
  pinbench fleet results/ --format nodelist       for Slurm: n[01-03,07]
  pinbench fleet results/ --format drain          scontrol commands, printed but not run
  pinbench fleet results/ --format reference > ours.json`,
    load: async () => (await import("./commands/fleet/fleet-command.js")).fleetCommand,
  },
  "fleet run": {
    summary: "measure on many nodes at once, one process each, and report which are slow",
    usual: ["nodes", "folder", "launcher", "budgetNs", "threshold", "format"],
    help: `
The preset fleet is the default: all GPUs of each node, alone and at once. Nodes that look slow are measured again,
and reported only if they are slow again.

Examples:
  pinbench fleet run --nodes 16 --output fleet          on 16 nodes, through srun
  pinbench fleet run --nodes n[01-16] --output fleet    on these
  pinbench fleet run --nodes n1,n2 --launcher 'pdsh -w {nodes}' --output fleet
  sbatch --nodes 16 --exclusive --wrap 'pinbench fleet run --nodes 16 --output fleet'`,
    load: async () => (await import("./commands/fleet/fleet-run-command.js")).fleetRunCommand,
  },
  "fleet-node": {
    summary: "measure on one node, for pinbench fleet run",
    operands: [new Argument("<folder>", "the folder of pinbench fleet run")],
    isHidden: true,
    load: async () => (await import("./commands/fleet/fleet-node-command.js")).fleetNodeCommand,
  },
  show: {
    summary: "print saved results of any command, or draw them as a page of charts and tables",
    usual: ["format", "output", "chart"],
    operands: [new Argument("<file...>", "saved results of any command, folders of runs, histories")],
    help: `
Examples:
  pinbench show result.json                               as pinbench run printed it
  pinbench show before.json after.json -o page.html       two results in one page
  pinbench show diagnosis.json --format markdown          for an issue
  pinbench show gpu1/ checks/ -o all.html                 all runs of a baseline, and a history
  pinbench show result.json -o d2h.svg --chart d2h-by-size  one chart`,
    load: async () => (await import("./commands/show-command.js")).showCommand,
  },
  tune: {
    summary: "find num_workers, pin_memory and prefetch_factor for a training job's DataLoader",
    usual: ["torch", "data", "batchSize", "budgetNs", "go", "output"],
    operands: [new Argument("[-- command...]", "the training command, whose loader is tuned")],
    help: `
A command is run to try settings, then ended; --go starts it afresh with the best. With a command, results go to stderr: use --output FILE. Without one, give your own Dataset (--torch), or a model of a loader that needs no Python (--sample, --data, or both: files that become samples of that size).

Examples:
  pinbench tune -- python train.py --epochs 3                     the training itself, as it is
  pinbench tune --go -- torchrun --nproc-per-node 2 train.py      and then let it train on with the best setting
  pinbench tune --torch train_data.py:make_dataset --batch-size 64
  pinbench tune --torch train_data.py:loader --step 70ms          a DataLoader, with a training step of 70 ms
  pinbench tune --data images/ --batch-size 64                    read the files of a folder
  pinbench tune --sample 588KiB,500us --batch-size 64
  export $(pinbench tune --torch train_data.py:make_dataset --batch-size 64 --format env)`,
    load: async () => (await import("./commands/tune/tune-command.js")).tuneCommand,
  },
  trace: {
    summary: "run a program, and find which of its copies are pageable and what pinning would save",
    usual: ["forNs", "skipNs", "reference", "output"],
    operands: [new Argument("[-- command...]", "the program, as you start it without pinbench")],
    help: `
The report goes to stderr when the program ends. The exit code is the program's.

Examples:
  pinbench trace -- python3 train.py
  pinbench trace --skip 60s --for 30s -- torchrun --nproc-per-node 2 train.py
  pinbench trace --output before.json -- ./app      then pinbench compare before.json after.json`,
    load: async () => (await import("./commands/trace-command.js")).traceCommand,
  },
  doctor: {
    summary: "find out why a machine copies slower than others of its kind, and exit with 1 if it does",
    usual: ["devices", "reference", "format", "output"],
    help: `
Examples:
  pinbench doctor                         all GPUs, in at most 20 s
  pinbench doctor --device 1 --json       one of them, for programs
  pinbench doctor --preset quick --format nhc    one line, for the health check of a scheduler`,
    load: async () => (await import("./commands/doctor-command.js")).doctorCommand,
  },
  pin: {
    summary: "measure the cost of pinned memory, and print code to allocate it",
    usual: ["sizesBytes", "threads", "stalls", "budgetNs", "output"],
    help: `
Examples:
  pinbench pin                                 pools of 1 and 16 GiB, by every method, in about a minute
  pinbench pin --sizes 4GiB --threads 1,4,16   one size, and how threads help
  pinbench pin --sizes 1GiB --stalls
  pinbench pin --json --output pin.md          for programs, and for people`,
    load: async () => (await import("./commands/pin-command.js")).pinCommand,
  },
  load: {
    summary: "measure how fast weights get from files to the GPU, and print code that registers the file",
    operands: [new Argument("[file...]", "files or folders of weights; only read")],
    help: `
Examples:
  pinbench load model.safetensors        tensor by tensor, from the page cache
  pinbench load checkpoint/ --cold       also from the disk
  pinbench load --make 8GiB --all        without weights at hand, and with the code`,
    load: async () => (await import("./commands/load-command.js")).loadCommand,
  },
  explain: {
    summary: "test what articles claim about pinned memory, by experiments on this machine",
    usual: ["all", "devices", "format", "output"],
    operands: [
      // The choices serve completion only; we write the error for an unknown question.
      Object.assign(new Argument("[question...]", "the questions to answer; without any, list them"), {
        argChoices: [...questionNames],
      }),
    ],
    help: `
Examples:
  pinbench explain                                    the questions
  pinbench explain why-pinned 81-times                two of them, answered by measuring
  pinbench explain --all --output pinned-memory.md    all of them, as a page to read`,
    load: async () => (await import("./commands/explain-command.js")).explainCommand,
  },
  devices: {
    summary: "list devices, links and limits, and what this build and driver can do",
    usual: ["backend", "json", "output"],
    help: `
Examples:
  pinbench devices                      what can and cannot be measured here
  pinbench devices --json               for programs
  pinbench devices --backend emulated   without a GPU`,
    load: async () => (await import("./commands/devices-command.js")).devicesCommand,
  },
  "import nvbandwidth": {
    summary: "convert the pinned and the device-local copies of a file that `nvbandwidth -j` wrote",
    usual: ["output", "bufferSizeBytes"],
    operands: [new Argument("<file>", "nvbandwidth's JSON")],
    help: nvbandwidthExamples,
    load: async () => (await import("./commands/import-command.js")).importNvbandwidthCommand,
  },
  completion: {
    summary: "print a script that completes commands, flags and values in a shell",
    operands: [new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"])],
    help: `
The shell completes the word pinbench. If you type npx pinbench instead, define it in the shell's start-up file: pinbench() { npx pinbench "$@"; }

Examples:
  eval "$(pinbench completion bash)"                                     in ~/.bashrc
  eval "$(pinbench completion zsh)"                                      in ~/.zshrc, after compinit
  pinbench completion fish > ~/.config/fish/completions/pinbench.fish    once`,
    load: async () => (await import("./completion/script.js")).completionCommand,
  },
  help: {
    summary: "show all flags of a command, or explain output flags, exit codes and words",
    operands: [new Argument("[topic...]", "a command, output, exit-codes, or terms and words")],
    help: `
Examples:
  pinbench help run                   all flags of a command; pinbench run -h has the usual ones
  pinbench help output                the flags for output, the same for all commands
  pinbench help exit-codes            what they mean
  pinbench help terms                 every word of the tables
  pinbench help terms staged cold     two of them`,
    load: async () => (await import("./commands/help-command.js")).helpCommand,
  },
};

interface ProgramOptions {
  setExitCode: (code: ExitCode) => void;
  /** Whether help is requested with -h, which shows the usual flags only. */
  isHelpBrief?: boolean;
}

export function createProgram(options: ProgramOptions): Command {
  const program = new Command("pinbench")
    .description("How fast data moves between host memory and a GPU, from pageable and from pinned memory.")
    .version(packageVersion(), "-V, --version", "print the version; with --json also how it was built")
    .helpOption("-h, --help", "show help")
    .exitOverride()
    // Flags after a command's name belong to that command, even if its parent has a flag of the same name.
    .enablePositionalOptions()
    // main() catches all errors and words them.
    .configureOutput({ outputError: () => undefined, writeOut: writeHelp, getOutHelpWidth: helpColumns })
    // Omits "[options]": all commands have them, and summaries need the room.
    .configureHelp({ minWidthToWrap: 10, subcommandTerm: termOf });
  program.helpInformation = () => overview;
  for (const name of Object.keys(commands) as (keyof typeof commands)[]) {
    addCommand(program, name, options);
  }
  return program;
}

function termOf(command: Command): string {
  return [command.name(), ...command.registeredArguments.map(nameOfArgument)].join(" ");
}

function nameOfArgument(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

function addCommand<Name extends CommandName>(
  program: Command,
  name: Name,
  { setExitCode, isHelpBrief = false }: ProgramOptions,
): void {
  const {
    summary,
    operands = [],
    usual = [],
    help = "",
    isHidden = false,
    load,
  } = commands[name] as CommandEntry<Name>;
  const [group, ofGroup] = name.split(" ") as [string, string | undefined];
  const command =
    ofGroup === undefined
      ? program.command(name, { hidden: isHidden })
      : groupOf(program, group, isHelpBrief).command(ofGroup);
  command.description(summary);
  setHelp(command, name, { help, usual: usual as readonly string[], isBrief: isHelpBrief });
  for (const operand of operands) command.addArgument(operand);
  const table: SettingTable = commandSettings[name];
  for (const setting of Object.values(table)) {
    for (const option of optionsOf(setting, table)) command.addOption(option);
  }
  // We report excess arguments ourselves, with what to do.
  command.allowExcessArguments();
  command.action(async () => {
    refuseFlagsAbove(command, name);
    const most = operands.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : operands.length;
    const excess = command.args[most];
    if (excess !== undefined) throw tooMany(excess, name);
    const call = callNow(process.argv.slice(2));
    const values = command.opts();
    const flagKeys = Object.keys(table).filter(
      (key) => command.getOptionValueSource(optionName(table[key]!.flag)) === "cli",
    );
    const ofFlags = flagKeys.map((key) => [key, values[optionName(table[key]!.flag)]]);
    const flags = { ...defaultsOf(table), ...Object.fromEntries(ofFlags) } as CommandSettings<Name>;
    const { deadlineNs } = flags as { deadlineNs?: number | null };
    if (deadlineNs != null && !isWatched) return setExitCode(await endBy(deadlineNs, call.argv));
    const execute = await load();
    setExitCode(await execute(flags, { operands: command.args, flagKeys, call }, program));
  });
}

function groupOf(program: Command, name: string, isHelpBrief: boolean): Command {
  const known = program.commands.find((one) => one.name() === name);
  if (known !== undefined) return known;
  const group = program.command(name).description("convert another tool's result, to keep it as a baseline");
  setHelp(group, name, { help: nvbandwidthExamples, usual: [], isBrief: isHelpBrief });
  return group;
}
