import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));

/** docs/architecture.md's layers, top to bottom: a folder may import from lower lines and its own. */
const layers = [
  ["index.ts"],
  ["api"],
  ["cli"],
  ["report"],
  ["measure", "tune", "compare"],
  ["plan"],
  ["native", "host"],
  ["results"],
  ["settings"],
  ["stats", "package-facts.ts", "text-file.ts"],
  ["errors.ts"],
];

const layerOf = (path: string) => {
  const [folder = ""] = path.slice(source.length + 1).split(sep);
  return { folder, level: layers.findIndex((layer) => layer.includes(folder)) };
};

it("imports run downwards only, those of types too", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const upwards: string[] = [];
  for (const file of files.map((name) => join(source, name))) {
    const imports = readFileSync(file, "utf8").matchAll(
      /^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)\.js"/gms,
    );
    for (const [statement, path] of imports) {
      const target = `${resolve(dirname(file), path!)}.ts`;
      const [from, to] = [layerOf(file), layerOf(target)];
      expect(to.level, `${target} has a layer`).toBeGreaterThanOrEqual(0);
      if (from.folder !== to.folder && to.level <= from.level) upwards.push(`${file}: ${statement}`);
    }
  }
  expect(files.length).toBeGreaterThan(50);
  expect(upwards).toEqual([]);
});
