import { describe, expect, it } from "vitest";
import { commandSettings } from "../../src/settings/command-settings.js";
import type { SettingTable } from "../../src/settings/setting.js";
import { cellSettings } from "../../src/settings/table.js";

const settingOf = (command: keyof typeof commandSettings, key: string) =>
  (commandSettings[command] as SettingTable)[key]!;

describe("a count", () => {
  it.each([
    ["run", "runs", 1, 1000],
    ["check", "runs", 1, 1000],
    ["baseline", "runs", 1, 1000],
    ["baseline", "sessions", 1, 1000],
    ["tune", "batchSize", 1, 1e6],
    ["tune", "maxWorkers", 0, 1024],
    ["tune", "ranks", 1, 1e6],
    ["tune", "loader", 1, 1e6],
  ] as const)("of %s's %s is from %i to %i", (command, key, least, most) => {
    const { kind } = settingOf(command, key);
    expect([least, most].map((count) => kind.read(count))).toEqual([least, most]);
    for (const count of [least - 1, most + 1])
      expect(() => kind.read(count)).toThrow(`it must be a whole number from ${least} to ${most}.`);
  });
});

describe("a setting that contradicts others", () => {
  it.each([
    ["baseline", "append", Object.keys(cellSettings)],
    ["run", "cells", Object.keys(cellSettings).filter((key) => !["backend", "cells"].includes(key))],
  ] as const)("of %s, %s, excludes these: %j", (command, key, excluded) => {
    expect([...settingOf(command, key).excludes!].sort()).toEqual([...excluded].sort());
  });

  it("excludes settings of its own command", () => {
    for (const table of Object.values(commandSettings) as SettingTable[]) {
      const keys = Object.keys(table);
      expect(keys).toEqual(
        expect.arrayContaining(Object.values(table).flatMap(({ excludes = [] }) => excludes)),
      );
    }
  });
});
