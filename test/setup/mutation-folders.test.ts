import { expect, it } from "vitest";
// @ts-expect-error A script without types.
import { filesIn, filesOf, folderNames } from "../../scripts/mutation/folders.mjs";

it.each<string>(folderNames)("every file that npm run mutate -- %s chooses is there", (name) => {
  expect(Object.values(filesOf(name)).flat().length).toBeGreaterThan(2);
});

it.each([
  [{ "src/pin": ["recommend-pool", "renamed"] }, "src/pin/renamed.ts"],
  [{ "src/renamed": null }, "src/renamed/*.ts"],
  [{ "src/renamed": ["stats"] }, "src/renamed/stats.ts"],
  [{ docs: null }, "docs/*.ts"],
])("npm run mutate refuses a folder that chooses a missing file: %j", (folders, missing) => {
  expect(() => filesIn(folders, ".ts")).toThrow(
    `scripts/mutation/folders.mjs chooses ${missing}, which does not exist: was it renamed?`,
  );
});
