import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { skipWithoutTorch, testPython, torchMissing, warmPython } from "../../helpers/test-python.js";
import {
  type Change,
  readJson,
  runConversing,
  runHooked,
  runPlain,
  type ScriptRun,
  withWorkers,
} from "./hooked-script.js";

// Two runs at least, of which each ends by its own limit on the most crowded machine.
vi.setConfig({ testTimeout: 240_000 });

/** What test/fixtures/tune/live/epochs.py takes. */
interface EpochsOptions {
  loader: Record<string, number | string | boolean>;
  isDistributed?: boolean;
  epochs?: number;
  length?: number;
  diesWith?: number;
  /** Objects that only their own process may free, which workers that collect garbage would. */
  leavesGarbage?: boolean;
}

const epochs = (options: EpochsOptions) => ["epochs.py", JSON.stringify(options)];
const seenBy = ({ stdout }: ScriptRun) => JSON.parse(stdout) as unknown;
const changesIn = ({ said }: ScriptRun) =>
  said.flat().flatMap((message) => (message.type === "changed" ? [message.atBatch] : []));

const failuresIn = ({ said }: ScriptRun) => said.flat().filter(({ type }) => type === "failed");

/** Five changes in each of three epochs of 41 batches, from none to four workers and back. */
const fiveAnEpoch = [0, 41, 82].flatMap((start): Change[] => [
  [start + 3, withWorkers(3)],
  [start + 9, withWorkers(0)],
  [start + 15, withWorkers(1, 4)],
  [start + 22, withWorkers(4)],
  [start + 27, withWorkers(2, 1)],
]);

// Of one process: jobs.test.ts.
describe("loaders whose setting is changed several times in each epoch", () => {
  skipWithoutTorch();

  it("give two ranks the samples of a DistributedSampler as without it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pinbench-ranks-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const options = { isDistributed: true, loader: { num_workers: 1 }, length: 410 };
    const command = [
      ...["-m", "torch.distributed.run", "--nproc_per_node", "2"],
      // torch 1.13 under Python 3.11 can only launch what it redirects.
      ...["-r", "0:1,1:1", "-t", "0:1,1:1"],
      ...["--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0"],
      // The launcher's own Python would import torch anew in each rank.
      ...["--no_python", warmPython],
      ...epochs(options),
    ];
    const hooked = await runHooked(command, fiveAnEpoch, {
      env: { OMP_NUM_THREADS: "1", EPOCHS_OUT: join(folder, "hooked") },
    });
    expect(hooked.code, hooked.stderr).toBe(0);
    const alone = { WORLD_SIZE: "2", MASTER_ADDR: "localhost", MASTER_PORT: await freePort() };
    const ranks = ["0", "1"].map((RANK) =>
      runPlain(epochs(options), { env: { ...alone, RANK, EPOCHS_OUT: join(folder, "plain") } }),
    );
    for (const { code, stderr } of await Promise.all(ranks)) expect(code, stderr).toBe(0);
    for (const rank of [0, 1]) {
      expect(readJson(join(folder, `hooked.${rank}`))).toEqual(readJson(join(folder, `plain.${rank}`)));
    }
    // The launcher itself iterates no loader.
    const hellos = hooked.said.map(([hello]) => hello);
    expect(hellos).toHaveLength(2);
    expect(hellos.map((hello) => hello?.localRank).sort()).toEqual([0, 1]);
    // Some are asked for before there is evidence that they do no harm, and overtaken by the next one.
    expect(changesIn(hooked).length).toBeGreaterThanOrEqual(20);
  });
});

describe("a worker that is forked in the middle of a training", () => {
  skipWithoutTorch();

  it("leaves the training's garbage alone, which may be a GPU's", async () => {
    const options = { loader: { num_workers: 0 }, leavesGarbage: true, epochs: 1 };
    const plain = await runPlain(epochs(options));
    const hooked = await runHooked(epochs(options), [[5, withWorkers(2)]]);
    expect(failuresIn(hooked)).toEqual([]);
    expect(seenBy(hooked)).toEqual(seenBy(plain));
  });
});

describe("a setting that fails", () => {
  skipWithoutTorch();

  // Again if torch's error comes just as multiprocessing learns the exit code, which is lost then.
  it("gives way to the script's own, and no sample is lost or seen twice", { retry: 2 }, async () => {
    // With three workers the second of them dies at once.
    const options = { loader: { num_workers: 2 }, diesWith: 3, epochs: 1 };
    const plain = await runPlain(epochs(options));
    const hooked = await runHooked(epochs(options), [[5, withWorkers(3)]]);
    expect(seenBy(hooked)).toEqual(seenBy(plain));
    expect(failuresIn(hooked)).toEqual([
      {
        ...{ type: "failed", loader: 1, change: 1, fault: "worker-killed", traceback: null },
        message: "A worker ended by itself, with exit code 7.",
        hint: "The data set, or a library that it uses, ended it.",
      },
    ]);
  });
});

it("loaders in several threads send whole lines", async () => {
  const program = `
import os, sys, threading
sys.setswitchinterval(1e-6)
sys.path.insert(0, os.environ["PYTHONPATH"])
from pinbench_live.line import Line
line = Line(os.environ["PINBENCH_TUNE_SOCKET"])
def tell(loader):
    for number in range(3000):
        line.tell("batches", loader=loader, number=number)
        line.commands()
threads = [threading.Thread(target=tell, args=(loader,)) for loader in (7, 8, 9)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
while line._unsent:
    line.commands()
`;
  const { said, stderr, code } = await runConversing(["-c", program], []);
  expect(code, stderr).toBe(0);
  const numbers = (of: number) => said[0]!.filter(({ loader }) => loader === of).map(({ number }) => number);
  const all = Array.from({ length: 3000 }, (_, number) => number);
  expect([7, 8, 9].map(numbers)).toEqual([all, all, all]);
});

describe("what the hook says", () => {
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

  it("is understood if a launcher and samplers say -1 for none, and numbers are NumPy's", async () => {
    const env = { RANK: "-1", WORLD_SIZE: "-1", LOCAL_RANK: "-1", LOCAL_WORLD_SIZE: "-1" };
    const { said, ...run } = await runHooked(["-c", program], [], { env });
    expect(run).toEqual({ code: 0, stdout: "[[0], [1, 2]]\n", stderr: "" });
    expect(said[0]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "hello", rank: 0, worldSize: 1, localRank: 0, localWorldSize: 1 }),
        expect.objectContaining({
          ...{ type: "loader", batchSize: null, epochBatches: 2 },
          setting: { numWorkers: 1, pinMemory: false, prefetchFactor: 2, persistentWorkers: false },
        }),
      ]),
    );
  });
});

describe("other processes of the command", () => {
  it("run the sitecustomize that they had", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pinbench-site-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "own"));
    writeFileSync(join(folder, "own/sitecustomize.py"), "import sys\nsys.flag_of_mine = 1\n");
    const program =
      "import sys, sitecustomize; print(sys.flag_of_mine, sitecustomize.__file__, any('live' in p for p in sys.path))";
    const { PYTHONPATH } = process.env;
    const hooked = await runHooked(["-c", "0"], [], { python: testPython });
    expect(hooked).toMatchObject({ code: 0, stdout: "", stderr: "", said: [] });
    const own = [hookPath(), join(folder, "own"), PYTHONPATH].filter((path) => path).join(delimiter);
    const run = await runHooked(["-c", program], [], { env: { PYTHONPATH: own }, python: testPython });
    expect(run.stdout.trim()).toBe(`1 ${join(folder, "own/sitecustomize.py")} False`);
  });

  it("import torch even with a cleared environment", async ({ skip }) => {
    skip(torchMissing !== null, torchMissing ?? undefined);
    const program = "import os; os.environ.clear(); import torch.utils.data; print('imported')";
    const run = await runHooked(["-c", program], [], { python: testPython });
    expect(run).toMatchObject({ code: 0, stdout: "imported\n", stderr: "" });
  });
});

function hookPath(): string {
  return new URL("../../../src/tune/live/hook/", import.meta.url).pathname;
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return String(port);
}
