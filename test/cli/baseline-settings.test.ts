import { expect, it, vi } from "vitest";
import { settingsOfBaseline } from "../../src/cli/baseline-settings.js";
import { openBackend } from "../../src/native/backend.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

vi.mock("../../src/native/backend.js", () => ({ openBackend: vi.fn() }));
vi.mock("../../src/native/load.js", () => ({ loadAddon: vi.fn() }));

it("a result without settings, as of another tool, is checked on a GPU and never on the emulated device", async () => {
  const runs = buildRuns({ count: 1 }).map((document) => ({ ...document, plan: null }));
  expect(await settingsOfBaseline(resultSet(runs, "main"), {})).toMatchObject({ backend: "cuda" });
  expect(vi.mocked(openBackend).mock.calls).toEqual([["cuda", undefined]]);
});
