import { readFileSync } from "node:fs";
import { expect } from "vitest";

/**
 * The commands of README's set-up, a line each. The tests in test/package run those that install packages,
 * which they have packed. For the image, whose base needs a network, they run the Dockerfile's steps one by one.
 */
export const setUpCommands: readonly string[] = readSetUp();

function readSetUp(): string[] {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const section = readme.split("\n## Set-up\n")[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) =>
    block.split("\n").filter((line) => line !== ""),
  );
}

/** The only command with this beginning, such as "pip install". */
export function setUpCommand(beginning: string): string {
  const found = setUpCommands.filter((line) => line.startsWith(`${beginning} `));
  expect(found, `lines of README's set-up that begin with ${beginning}`).toHaveLength(1);
  return found[0]!;
}
