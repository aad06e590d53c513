import { readFileSync } from "node:fs";
import { endCalls, outputOf } from "../call.js";
import { draws, type Output } from "../draws.js";

/* Command lines that measure nothing: exit codes, what they print, and the files that they leave changed. */

/** Those with one of the words in PINBENCH_OUTPUTS_OF, or all if it has none. */
function linesOf(name: string): string[] {
  const lines = readFileSync(new URL(`./${name}.txt`, import.meta.url), "utf8")
    .split("\n")
    .slice(1, -1);
  const commands = process.env.PINBENCH_OUTPUTS_OF?.split(" ").filter(Boolean) ?? [];
  return commands.length === 0
    ? lines
    : lines.filter((line) => line.split(" ").some((word) => commands.includes(word)));
}

draws(import.meta.url, async () => {
  const outputs: Output[] = [];
  for (const line of [...linesOf("commands-of-files"), ...linesOf("commands-without-files")])
    outputs.push([line, await outputOf(line)]);
  endCalls();
  return outputs;
});
