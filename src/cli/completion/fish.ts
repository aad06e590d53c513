import { allCommands, type CommandNode, type Flag } from "./tree.js";

const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** One line for each command and flag, each under the condition that its command was typed. */
export function fishScript(root: CommandNode): string {
  const lines = [
    "# Completes pinbench in fish: pinbench completion fish > ~/.config/fish/completions/pinbench.fish",
    "complete -c pinbench -f",
  ];
  for (const node of allCommands(root)) {
    const condition = conditionOf(node);
    for (const { path, description } of node.commands) {
      lines.push(`complete -c pinbench -n ${condition} -a ${path.at(-1)} -d ${quoted(description)}`);
    }
    if (node.words.length > 0)
      lines.push(`complete -c pinbench -n ${condition} -a ${quoted(node.words.join(" "))}`);
    if (node.takesFiles) lines.push(`complete -c pinbench -n ${condition} -F`);
    for (const flag of node.flags) lines.push(`complete -c pinbench -n ${condition} ${flagPart(flag)}`);
  }
  return `${lines.join("\n")}\n`;
}

function conditionOf({ path, commands }: CommandNode): string {
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
  // Its own commands, once typed, have flags of their own.
  const names = commands.map((one) => one.path.at(-1));
  if (names.length > 0) seen.push(`not __fish_seen_subcommand_from ${names.join(" ")}`);
  return quoted(seen.join("; and ") || "true");
}

function flagPart({ names, description, value }: Flag): string {
  const parts = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  if (value?.isFile) parts.push("-r -F");
  else if (value !== null) parts.push("-x");
  if (value !== null && value.choices.length > 0) parts.push(`-a ${quoted(value.choices.join(" "))}`);
  return [...parts, `-d ${quoted(description)}`].join(" ");
}
