import type { Command, Option } from "commander";

/** A command as a shell completes it. Read from commander's definitions, so the scripts have every command and flag. */
export interface CommandNode {
  /** Names from the program down, such as ["import", "nvbandwidth"]; empty for the program itself. */
  path: string[];
  description: string;
  flags: Flag[];
  commands: CommandNode[];
  takesFiles: boolean;
  /** What its argument may be, where that is a fixed set. */
  words: readonly string[];
}

/** A flag as a shell completes it. */
export interface Flag {
  names: string[];
  description: string;
  isRepeatable: boolean;
  /** Null for a flag without a value. */
  value: { choices: readonly string[]; isFile: boolean; name: string } | null;
}

/** The completions of a command, which has the names `path` below the program, and of all commands below it. */
export function commandTree(command: Command, path: string[] = []): CommandNode {
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

/** The command and all below it, each before those that it has. */
export function allCommands(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(allCommands)];
}

function flagOf(option: Option): Flag {
  return {
    names: [option.short, option.long].filter((name) => name != null),
    description: option.description,
    isRepeatable: Array.isArray(option.defaultValue),
    value: option.required || option.optional ? flagValue(option) : null,
  };
}

function flagValue(option: Option): Flag["value"] {
  const name = /<([^>]+)>/.exec(option.flags)?.[1] ?? "value";
  const ofList = (option.parseArg as { choices?: readonly string[] } | undefined)?.choices;
  return {
    name,
    choices: option.argChoices ?? ofList ?? [],
    isFile: /^(file|path|folder)\b/.test(name),
  };
}
