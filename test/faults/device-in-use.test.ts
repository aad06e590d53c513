import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { listTickets } from "../../src/host/device-tickets.js";
import { parseResult } from "../../src/results/parse.js";
import { small, startCli } from "../helpers/run-cli.js";
import { seeded } from "../helpers/seeded.js";
import { oneCell, sharedDevice } from "../helpers/shared-device.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

it("processes that wait for one device measure one after the other, even if one of them is killed", async () => {
  const counts = countTrials("processes that wait for one device while one is killed");
  const { uniform } = seeded(trialSeed);
  for (let trial = 0; trial < trials(1, 25); ++trial) {
    counts.tries();
    const env = sharedDevice();
    const queue = Array.from({ length: 4 }, () => startCli(small(...oneCell, "--wait", "--json"), { env }));
    const [victim, ...others] = queue;
    await sleep(uniform() * 4000);
    victim!.child.kill("SIGKILL");
    const finished = await Promise.all(others.map((one) => one.finished));
    await victim!.finished;
    for (const { exitCode, stdout } of finished) {
      expect(exitCode).toBe(0);
      // Each would have seen another one that measured at the same time.
      expect(parseResult(stdout).run.sharing).toEqual([
        { device: 0, others: [], activityBefore: null, unseen: [] },
      ]);
    }
    const pids = queue.map(({ child }) => child.pid);
    expect(listTickets()!.filter(({ pid }) => pid !== null && pids.includes(pid))).toEqual([]);
    counts.survives();
  }
});
