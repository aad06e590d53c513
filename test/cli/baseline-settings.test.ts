import { beforeEach, expect, it, vi } from "vitest";
import { settingsOfBaseline } from "../../src/cli/baseline-settings.js";
import { type Backend, openBackend } from "../../src/native/backend.js";
import type { DeviceRecord } from "../../src/results/schema.js";
import { buildDevice, buildFailed } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

vi.mock("../../src/native/backend.js", () => ({ openBackend: vi.fn() }));
/** The machine has these devices. */
const onMachine = (...devices: DeviceRecord[]) =>
  vi.mocked(openBackend).mockResolvedValue({ facts: { devices } } as unknown as Backend);
beforeEach(() => {
  onMachine(buildDevice());
});
vi.mock("../../src/native/load.js", () => ({ loadAddon: vi.fn() }));

it("a check measures a GPU, never the emulated device, if its baseline comes from another tool", async () => {
  const runs = buildRuns({ count: 1 }).map((document) => ({ ...document, plan: null }));
  expect(await settingsOfBaseline(resultSet(runs, "main"), {})).toMatchObject({ backend: "cuda" });
  expect(vi.mocked(openBackend).mock.calls).toEqual([["cuda", undefined]]);
});

it("a check measures once each cell that has a figure in any run of its baseline", async () => {
  const [first] = buildRuns({ count: 1 });
  const [second] = buildRuns({ count: 1, cells: [{ GBps: 50 }, { GBps: 50, workers: 2 }] });
  const failed = buildFailed({ workers: 4 }, "CODE", "lost");
  const runs = [first!, { ...second!, cells: [...second!.cells, failed] }];
  const { cells } = await settingsOfBaseline(resultSet(runs, "main"), {});
  expect(cells).toEqual(second!.cells.map(({ id }) => id));
});

const gpu = (uuid: string, ordinal = 0) => buildDevice({ ordinal, uuid, pciBusId: `0000:0${ordinal}:00.0` });
const [a, b] = [gpu("GPU-a", 0), gpu("GPU-b", 1)];
const ofBoth = buildRuns({
  count: 2,
  document: { devices: [a, b] },
  cells: [{ GBps: 50 }, { GBps: 25, device: 1 }, { GBps: 20, device: 1, together: [0, 1] }],
});

it.each<[string, DeviceRecord[], string[]]>([
  ["if numbered as before", [a, b], ["d0", "d1", "d1/together-0-1"]],
  ["if numbered the other way round", [gpu("GPU-b", 0), gpu("GPU-a", 1)], ["d1", "d0", "d0/together-0-1"]],
  [
    "if another GPU comes before them",
    [gpu("GPU-c", 0), gpu("GPU-a", 1), gpu("GPU-b", 2)],
    ["d1", "d2", "d2/together-1-2"],
  ],
  ["that are left if one is missing", [gpu("GPU-b", 0)], ["d0"]],
  ["by number if all GPUs are others", [gpu("GPU-c", 0), gpu("GPU-d", 1)], ["d0", "d1", "d1/together-0-1"]],
])("a check measures the cells of the baseline's GPUs %s", async (_, devices, cells) => {
  onMachine(...devices);
  const settings = await settingsOfBaseline(resultSet(ofBoth, "main"), {});
  expect(settings.cells.map((id) => id.replace(/\/h2d.*?(?=\/together|$)/, ""))).toEqual(cells);
});

it("a check measures a cell once if the baseline's runs number its GPUs differently", async () => {
  const [run] = ofBoth;
  const swapped = {
    ...run!,
    devices: [gpu("GPU-b", 0), gpu("GPU-a", 1)],
    run: { ...run!.run, id: "swapped" },
  };
  onMachine(a, b);
  const { cells } = await settingsOfBaseline(resultSet([run!, swapped], "main"), {});
  expect(cells).toHaveLength(4);
});

it("a check refuses a baseline if each of its cells needs a missing GPU", async () => {
  const together = ofBoth.map((run) => ({ ...run, cells: run.cells.slice(2) }));
  onMachine(gpu("GPU-b", 0));
  await expect(settingsOfBaseline(resultSet(together, "main"), {})).rejects.toThrow(
    "this machine lacks a GPU of each cell in main.",
  );
});
