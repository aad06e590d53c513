import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { skipWithoutTorch, testPython, torchMissing } from "../../helpers/test-python.js";
import { hookFolder, runHooked, withWorkers } from "./hooked-script.js";

vi.setConfig({ testTimeout: 300_000 });

describe("a message of the hook in the training's Python", () => {
  skipWithoutTorch();

  const program = `
import torch.utils.data as data
try:
    from numpy import int64 as number
except ImportError:
    number = int

class Uneven:
    batch_size = -1

    def __iter__(self):
        return iter([[0], [1, 2]])

    def __len__(self):
        return 2

loader = data.DataLoader(range(3), batch_sampler=Uneven(), num_workers=number(1), prefetch_factor=number(2))
print([batch.tolist() for batch in loader])
`;

  it("is understood if ranks are -1 for none, and numbers are NumPy's", async () => {
    const env = { RANK: "-1", WORLD_SIZE: "-1", LOCAL_RANK: "-1", LOCAL_WORLD_SIZE: "-1" };
    const { said, ...run } = await runHooked(["-c", program], [], { env });
    expect(run).toMatchObject({ code: 0, stdout: "[[0], [1, 2]]\n", stderr: "" });
    expect(said[0]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "hello", rank: 0, worldSize: 1, localWorldSize: 1 }),
        expect.objectContaining({
          ...{ type: "loader", name: expect.stringMatching(/^range, -1, /), epochBatches: 2 },
          setting: withWorkers(1),
        }),
      ]),
    );
  });
});

describe("other processes of the command", () => {
  it("still run their own sitecustomize", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pinbench-site-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "own"));
    writeFileSync(join(folder, "own/sitecustomize.py"), "import sys\nsys.flag_of_mine = 1\n");
    const program =
      "import sys, sitecustomize; print(sys.flag_of_mine, sitecustomize.__file__, any('tune/python' in p for p in sys.path))";
    const { PYTHONPATH } = process.env;
    const hooked = await runHooked(["-c", "0"], [], { python: testPython });
    expect(hooked).toMatchObject({ code: 0, stdout: "", stderr: "", said: [] });
    const own = [hookFolder, join(folder, "own"), PYTHONPATH].filter((path) => path).join(delimiter);
    const run = await runHooked(["-c", program], [], { env: { PYTHONPATH: own }, python: testPython });
    expect(run.stdout.trim()).toBe(`1 ${join(folder, "own/sitecustomize.py")} False`);
  });

  it("can import torch even with a cleared environment", async ({ skip }) => {
    skip(torchMissing !== null, torchMissing ?? undefined);
    const program = "import os; os.environ.clear(); import torch.utils.data; print('imported')";
    const run = await runHooked(["-c", program], [], { python: testPython });
    expect(run).toMatchObject({ code: 0, stdout: "imported\n", stderr: "" });
  });
});
