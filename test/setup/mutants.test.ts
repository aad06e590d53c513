import { describe, expect, it } from "vitest";
// @ts-expect-error A script without types.
import { filesIn, filesOf, folderNames } from "../../scripts/mutation/folders.mjs";

describe("the folders of npm run mutate", () => {
  it.each<string>(folderNames)("has all files that it chooses: %s", (name) => {
    expect(Object.values(filesOf(name)).flat().length).toBeGreaterThan(2);
  });

  it.each([
    [{ "src/pin": ["recommend-pool", "renamed"] }, "src/pin/renamed.ts"],
    [{ "src/renamed": null }, "src/renamed/*.ts"],
    [{ "src/renamed": ["stats"] }, "src/renamed/stats.ts"],
    [{ docs: null }, "docs/*.ts"],
  ])("may not choose a file that is not there: %j", (folders, missing) => {
    expect(() => filesIn(folders, ".ts")).toThrow(
      `scripts/mutation/folders.mjs chooses ${missing}, which does not exist: was it renamed?`,
    );
  });
});
