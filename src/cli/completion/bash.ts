import { allCommands, type CommandNode } from "./tree.js";

const key = ({ path }: CommandNode) => path.map((name) => `/${name}`).join("");

/** Words for `compgen -W`; they hold no characters that bash would take for its own. */
const words = (node: CommandNode) =>
  [
    ...node.commands.map(({ path }) => path.at(-1)!),
    ...node.words,
    ...node.flags.flatMap(({ names }) => names),
  ].join(" ");

/** For bash 4 and newer, without the package bash-completion. */
export function bashScript(root: CommandNode): string {
  const nodes = allCommands(root);
  const subcommands = nodes.filter(({ path }) => path.length > 0).map((node) => `"${key(node)}"`);
  const values = nodes.flatMap((node) => node.flags.flatMap((flag) => valueCases(key(node), flag)));
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
${nodes.map((node) => `    "${key(node)}") words="${words(node)}" ;;\n`).join("")}  esac
  case "$command" in
    ${filesCase(nodes)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _pinbench pinbench
`;
}

function valueCases(command: string, { names, value }: CommandNode["flags"][number]): string[] {
  if (value === null) return [];
  const pattern = names.map((name) => `"${command} ${name}"`).join(" | ");
  if (value.choices.length > 0) {
    return [`${pattern}) COMPREPLY=($(compgen -W "${value.choices.join(" ")}" -- "$current")); return ;;`];
  }
  return [value.isFile ? `${pattern}) compopt -o default; return ;;` : `${pattern}) return ;;`];
}

/** Commands that take files offer flags only once a dash was typed. */
function filesCase(nodes: CommandNode[]): string {
  const withFiles = nodes.filter(({ takesFiles }) => takesFiles).map((node) => `"${key(node)}"`);
  if (withFiles.length === 0) return "*) ;;";
  return `${withFiles.join(" | ")}) if [[ $current != -* ]]; then compopt -o default; return; fi ;;`;
}
