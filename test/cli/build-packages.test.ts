import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildPackages } from "../../src/cli/build-command.js";

it("`pinbench build` fetches the packages that pinbench's own build is tested with", () => {
  const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8"));
  for (const [name, version] of Object.entries(buildPackages)) {
    expect(lock.packages[`node_modules/${name}`].version, name).toBe(version);
  }
});
