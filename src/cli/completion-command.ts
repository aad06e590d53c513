import { Argument, type Command } from "commander";

const shells = ["bash", "zsh", "fish"] as const;

export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands, flags and values in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText(
      "after",
      `
Examples:
  eval "$(pinbench completion bash)"                                     in ~/.bashrc
  eval "$(pinbench completion zsh)"                                      in ~/.zshrc, after compinit
  pinbench completion fish > ~/.config/fish/completions/pinbench.fish    once`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { completionScript } = await import("./completion/script.js");
      const { writeStdout } = await import("./stdout.js");
      await writeStdout(completionScript(shell, program));
    });
}
