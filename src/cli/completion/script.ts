import type { Command } from "commander";
import { bashScript } from "./bash.js";
import { fishScript } from "./fish.js";
import { commandTree } from "./tree.js";
import { zshScript } from "./zsh.js";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

export function completionScript(shell: keyof typeof scripts, program: Command): string {
  return scripts[shell](commandTree(program));
}
