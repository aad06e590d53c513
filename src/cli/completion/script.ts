import type { Command, Option } from "commander";
import { ExitCode } from "../../errors.js";
import { writeStdout } from "../output/terminal.js";
import type { Invocation } from "../requested-settings.js";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

type Shell = keyof typeof scripts;

function completionScript(shell: Shell, program: Command): string {
  return scripts[shell](commandTree(program));
}

const bashKey = ({ path }: CommandNode) => path.map((name) => `/${name}`).join("");

/** Words for `compgen -W`; they contain no characters that are special in bash. */
const bashWords = (node: CommandNode) =>
  [
    ...node.commands.map(({ path }) => path.at(-1)!),
    ...node.words,
    ...node.flags.flatMap(({ names }) => names),
  ].join(" ");

function bashScript(root: CommandNode): string {
  const nodes = allCommands(root);
  const subcommands = nodes.filter(({ path }) => path.length > 0).map((node) => `"${bashKey(node)}"`);
  const values = nodes.flatMap((node) => node.flags.flatMap((flag) => bashValueCases(bashKey(node), flag)));
  return `# Completes pinbench in bash: eval "$(pinbench completion bash)"
_pinbench() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command="" words="" word i
  # bash takes "=" for a word of its own.
  if [[ $current == "=" ]]; then current=""; elif [[ $previous == "=" ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=\${COMP_WORDS[i]}
    case "$command/$word" in
      ${subcommands.join(" | ")}) command+="/$word" ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
${values.map((line) => `    ${line}\n`).join("")}  esac
  case "$command" in
${nodes.map((node) => `    "${bashKey(node)}") words="${bashWords(node)}" ;;\n`).join("")}  esac
  case "$command" in
    ${bashFilesCase(nodes)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _pinbench pinbench
`;
}

function bashValueCases(command: string, { names, value }: Flag): string[] {
  if (value === null) return [];
  const pattern = names.map((name) => `"${command} ${name}"`).join(" | ");
  if (value.choices.length > 0) {
    return [`${pattern}) COMPREPLY=($(compgen -W "${value.choices.join(" ")}" -- "$current")); return ;;`];
  }
  return [value.isFile ? `${pattern}) compopt -o default; return ;;` : `${pattern}) return ;;`];
}

/** Commands that take files offer flags only after a dash. */
function bashFilesCase(nodes: CommandNode[]): string {
  const withFiles = nodes.filter(({ takesFiles }) => takesFiles).map((node) => `"${bashKey(node)}"`);
  if (withFiles.length === 0) return "*) ;;";
  return `${withFiles.join(" | ")}) if [[ $current != -* ]]; then compopt -o default; return; fi ;;`;
}

/** Escapes for text in single quotes, and for descriptions of zsh's _arguments. */
const zshQuoted = (text: string) => text.replaceAll("'", "'\\''");
const zshEscaped = (text: string) => zshQuoted(text.replaceAll(/[\\[\]:]/g, (sign) => `\\${sign}`));

const zshFunctionName = ({ path }: CommandNode) => ["_pinbench", ...path].join("_");

function zshScript(root: CommandNode): string {
  return `#compdef pinbench
# Completes pinbench in zsh: eval "$(pinbench completion zsh)" after compinit
${zshFunction(root)}compdef _pinbench pinbench
`;
}

function zshFunction(node: CommandNode): string {
  const specs = node.flags.map(zshFlag);
  if (node.commands.length === 0) {
    if (node.words.length > 0) specs.push(`'1:argument:(${node.words.join(" ")})'`);
    if (node.takesFiles) specs.push("'*:file:_files'");
    return `${zshFunctionName(node)}() {
  _arguments ${specs.join(" \\\n    ")}
}
`;
  }
  const names = node.commands.map(
    ({ path, description }) => `'${zshEscaped(path.at(-1)!)}:${zshQuoted(description)}'`,
  );
  const branches = node.commands.map((one) => `        ${one.path.at(-1)}) ${zshFunctionName(one)} ;;\n`);
  // This command takes files itself, and also has subcommands.
  const files = node.takesFiles ? "; _files" : "";
  if (node.takesFiles) branches.push("        *) _files ;;\n");
  return `${node.commands.map(zshFunction).join("")}${zshFunctionName(node)}() {
  local curcontext=$curcontext state line
  local -a commands=(${names.join(" ")})
  _arguments -C ${[...specs, "'1: :->command'", "'*:: :->rest'"].join(" \\\n    ")}
  case $state in
    command) _describe command commands${files} ;;
    rest)
      case $line[1] in
${branches.join("")}      esac ;;
  esac
}
`;
}

function zshFlag({ names, description, isRepeatable, value }: Flag): string {
  const action = value === null ? "" : `:${zshEscaped(value.name)}:${zshAction(value)}`;
  const text = `[${zshEscaped(description)}]${action}`;
  const others = isRepeatable ? "*" : names.length === 1 ? "" : `(${names.join(" ")})`;
  if (names.length === 1) return `'${others}${names[0]}${text}'`;
  return `'${others}'{${names.join(",")}}'${text}'`;
}

function zshAction({ choices, isFile }: NonNullable<Flag["value"]>): string {
  if (choices.length > 0) return `(${choices.join(" ")})`;
  return isFile ? "_files" : " ";
}

const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** One line per command and flag, with a condition: which command was typed. */
function fishScript(root: CommandNode): string {
  const lines = [
    "# Completes pinbench in fish: pinbench completion fish > ~/.config/fish/completions/pinbench.fish",
    "complete -c pinbench -f",
  ];
  for (const node of allCommands(root)) {
    const condition = fishCondition(node);
    for (const { path, description } of node.commands) {
      lines.push(`complete -c pinbench -n ${condition} -a ${path.at(-1)} -d ${fishQuoted(description)}`);
    }
    if (node.words.length > 0)
      lines.push(`complete -c pinbench -n ${condition} -a ${fishQuoted(node.words.join(" "))}`);
    if (node.takesFiles) lines.push(`complete -c pinbench -n ${condition} -F`);
    for (const flag of node.flags) lines.push(`complete -c pinbench -n ${condition} ${fishFlag(flag)}`);
  }
  return `${lines.join("\n")}\n`;
}

function fishCondition({ path, commands }: CommandNode): string {
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
  // Subcommands have flags of their own.
  const names = commands.map((one) => one.path.at(-1));
  if (names.length > 0) seen.push(`not __fish_seen_subcommand_from ${names.join(" ")}`);
  return fishQuoted(seen.join("; and ") || "true");
}

function fishFlag({ names, description, value }: Flag): string {
  const parts = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  if (value?.isFile) parts.push("-r -F");
  else if (value !== null) parts.push("-x");
  if (value !== null && value.choices.length > 0) parts.push(`-a ${fishQuoted(value.choices.join(" "))}`);
  return [...parts, `-d ${fishQuoted(description)}`].join(" ");
}

/** A command as completion sees it, read from commander so that no command or flag is missing. */
interface CommandNode {
  /** Names from the program down, such as ["import", "nvbandwidth"]; empty for the program. */
  path: string[];
  description: string;
  flags: Flag[];
  commands: CommandNode[];
  takesFiles: boolean;
  words: readonly string[];
}

interface Flag {
  names: string[];
  description: string;
  isRepeatable: boolean;
  value: { choices: readonly string[]; isFile: boolean; name: string } | null;
}

function commandTree(command: Command, path: string[] = []): CommandNode {
  const help = command.createHelp();
  const [argument] = command.registeredArguments;
  const words = argument?.argChoices ?? [];
  return {
    path,
    description: command.description(),
    flags: help.visibleOptions(command).map(flagOf),
    commands: help
      .visibleCommands(command)
      .filter((one) => one.name() !== "help")
      .map((one) => commandTree(one, [...path, one.name()])),
    takesFiles: argument !== undefined && words.length === 0,
    words,
  };
}

function allCommands(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(allCommands)];
}

function flagOf(option: Option): Flag {
  return {
    names: [option.short, option.long].filter((name) => name != null),
    description: option.description,
    isRepeatable: parserOf(option)?.isRepeatable ?? false,
    value: option.required ? flagValue(option) : null,
  };
}

/** optionsOf() adds these properties to parsers. */
function parserOf(option: Option): { choices?: readonly string[]; isRepeatable?: boolean } | undefined {
  return option.parseArg as ReturnType<typeof parserOf>;
}

function flagValue(option: Option): Flag["value"] {
  const name = /<([^>]+)>/.exec(option.flags)?.[1] ?? "value";
  return {
    name,
    choices: option.argChoices ?? parserOf(option)?.choices ?? [],
    isFile: /\b(file|path|folder)\b/.test(name),
  };
}

export async function completionCommand(
  _: object,
  { operands: [shell] }: Invocation,
  program: Command,
): Promise<ExitCode> {
  await writeStdout(completionScript(shell as Shell, program));
  return ExitCode.ok;
}
