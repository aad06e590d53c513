import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The documents of the repository, and what stands in them. */

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];
export const textOf = (document: string) => readFileSync(join(root, document), "utf8");

export function blocksOf(document: string, language: string): string[] {
  const fences = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...textOf(document).matchAll(fences)].map(([, block]) => block ?? "");
}

export const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");
