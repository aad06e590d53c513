import { expect, it, vi } from "vitest";
import { settingsOfBaseline } from "../../src/cli/baseline-settings.js";
import { openBackend } from "../../src/native/backend.js";
import { buildFailed } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

vi.mock("../../src/native/backend.js", () => ({ openBackend: vi.fn() }));
vi.mock("../../src/native/load.js", () => ({ loadAddon: vi.fn() }));

it("a result without settings, as of another tool, is checked on a GPU and never on the emulated device", async () => {
  const runs = buildRuns({ count: 1 }).map((document) => ({ ...document, plan: null }));
  expect(await settingsOfBaseline(resultSet(runs, "main"), {})).toMatchObject({ backend: "cuda" });
  expect(vi.mocked(openBackend).mock.calls).toEqual([["cuda", undefined]]);
});

it("measures each cell with a figure in any of the runs, once", async () => {
  const [first] = buildRuns({ count: 1 });
  const [second] = buildRuns({ count: 1, cells: [{ GBps: 50 }, { GBps: 50, workers: 2 }] });
  const failed = buildFailed({ workers: 4 }, "CODE", "lost");
  const runs = [first!, { ...second!, cells: [...second!.cells, failed] }];
  const { cells } = await settingsOfBaseline(resultSet(runs, "main"), {});
  expect(cells).toEqual(second!.cells.map(({ id }) => id));
});
