import type { CommandNode, Flag } from "./tree.js";

/** Inside single quotes, and inside the brackets and between the colons of _arguments. */
const quoted = (text: string) => text.replaceAll("'", "'\\''");
const escaped = (text: string) => quoted(text.replaceAll(/[\\[\]:]/g, (sign) => `\\${sign}`));

const functionName = ({ path }: CommandNode) => ["_pinbench", ...path].join("_");

/** A function for each command, with the descriptions that the help has. */
export function zshScript(root: CommandNode): string {
  return `#compdef pinbench
# Completes pinbench in zsh: eval "$(pinbench completion zsh)" after compinit
${functionOf(root)}compdef _pinbench pinbench
`;
}

function functionOf(node: CommandNode): string {
  const specs = node.flags.map(flagSpec);
  if (node.commands.length === 0) {
    if (node.words.length > 0) specs.push(`'1:argument:(${node.words.join(" ")})'`);
    if (node.takesFiles) specs.push("'*:file:_files'");
    return `${functionName(node)}() {
  _arguments ${specs.join(" \\\n    ")}
}
`;
  }
  const names = node.commands.map(
    ({ path, description }) => `'${escaped(path.at(-1)!)}:${quoted(description)}'`,
  );
  const branches = node.commands.map((one) => `        ${one.path.at(-1)}) ${functionName(one)} ;;\n`);
  return `${node.commands.map(functionOf).join("")}${functionName(node)}() {
  local curcontext=$curcontext state line
  local -a commands=(${names.join(" ")})
  _arguments -C ${[...specs, "'1: :->command'", "'*:: :->rest'"].join(" \\\n    ")}
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${branches.join("")}      esac ;;
  esac
}
`;
}

function flagSpec({ names, description, isRepeatable, value }: Flag): string {
  const action = value === null ? "" : `:${escaped(value.name)}:${actionOf(value)}`;
  const text = `[${escaped(description)}]${action}`;
  if (isRepeatable) return `'*${names.at(-1)}${text}'`;
  if (names.length === 1) return `'${names[0]}${text}'`;
  return `'(${names.join(" ")})'{${names.join(",")}}'${text}'`;
}

function actionOf({ choices, isFile }: NonNullable<Flag["value"]>): string {
  if (choices.length > 0) return `(${choices.join(" ")})`;
  return isFile ? "_files" : " ";
}
