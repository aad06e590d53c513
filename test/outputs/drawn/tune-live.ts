import { usualSetting } from "../../../src/results/loader-setting.js";
import { faults, type LoaderSetting } from "../../../src/results/tuning.js";
import type { HookCommand, HookMessage } from "../../../src/tune/live/live-messages.js";
import { LiveProbe } from "../../../src/tune/live/live-probe.js";
import { LoaderRecord } from "../../../src/tune/live/loader-record.js";
import { chooseTarget } from "../../../src/tune/live/open-live.js";
import { jobEnded, type Trial } from "../../../src/tune/loader-probe.js";
import { seeded } from "../../helpers/seeded.js";
import { draws } from "../draws.js";

/** A job of one or more ranks whose hooks report random epochs, changes and batches, and a probe's trials in it. */
async function liveTrials(seed: number) {
  const { uniform, pick } = seeded(seed);
  const ms = (value: number) => Math.round(value * 1e3) * 1e3;
  const own = { ...usualSetting(2, false), nonBlocking: false };
  const over = new AbortController();
  const log: unknown[] = [];
  const epochBatches = pick(null, 9, 40);
  const [isLeft, looks] = [uniform() < 0.3, uniform() < 0.2];
  const ranks = Array.from({ length: pick(1, 1, 2, 3) }, (_, i) => {
    const told = {
      type: "loader",
      loader: 1,
      setting: own,
      source: "Samples",
      name: null,
      startMethod: "fork",
      epochBatches,
      framework: null,
    } as const;
    const commands: HookCommand[] = [];
    const send = (command: HookCommand) => {
      log.push([i, command]);
      commands.push(command);
    };
    return {
      ...{
        rank: pick(i, 9 - i),
        pid: 2 ** 23 + i,
        loader: new LoaderRecord(told),
        member: { isConnected: true, send },
      },
      ...{ commands, atMs: 10 * i, change: 0, made: 0, ofEpoch: -1 },
    };
  });
  const job = {
    ...{
      over: over.signal,
      process: { exit: Promise.resolve() },
      fault: null as Error | null,
    },
    onNews: (_member: unknown, _message: HookMessage | null): void => undefined,
  };
  const facts = { checks: [] as object[], epochBatches, startingPoint: own };
  const probe = new LiveProbe({
    job,
    ranks,
    loader: 1,
    facts,
    ranksOfNode: ranks.length,
    budgetNs: 1,
  } as never);
  const tell = (rank: (typeof ranks)[0], message: HookMessage) => {
    rank.loader.add(message);
    job.onNews(rank.member, message);
  };
  /** What a rank does next: it follows a command, begins or ends an epoch, or takes some batches. */
  const step = (rank: (typeof ranks)[0]) => {
    const ns = () => ms(rank.atMs);
    if (rank.ofEpoch < 0) {
      rank.atMs += pick(-2, 1, 30, 300);
      tell(rank, { type: "epoch", loader: 1, event: "begin", ns: ns() });
      rank.ofEpoch = 0;
    }
    const command = rank.commands[0];
    if (command !== undefined && uniform() < 0.7) {
      rank.commands.shift();
      if (command.type === "change" && uniform() < 0.9) {
        tell(rank, { type: "changed", loader: 1, change: command.change, ns: ns() });
        [rank.change, rank.made] = [command.change, 0];
      } else if (command.type === "change") {
        const why = { fault: pick(...faults), message: "It failed.", hint: null, traceback: null };
        const change = pick(command.change, command.change, 0);
        tell(rank, { type: "failed", loader: 1, change, failure: { ...why, everywhere: false } });
      }
    }
    const count = Math.min(
      looks && rank.ofEpoch === 0 ? 1 : pick(0, 1, 2, 6),
      epochBatches === null ? 9 : epochBatches - rank.ofEpoch,
    );
    const waitNs = Array.from({ length: count }, () => ms(pick(0, 1, 4) + uniform()));
    const at = waitNs.map((wait) => {
      rank.atMs += wait / 1e6 + pick(3, 8, 8.5);
      return ns();
    });
    rank.made += count;
    const timed = {
      made: rank.made,
      makeNs: rank.made * 7e6,
      ...{ collated: 0, collateNs: 0, handedOver: 0, handOverNs: 0 },
      ...pick({}, { collated: rank.made, collateNs: rank.made * 2e6 }),
      ...pick({}, { handedOver: rank.made, handOverNs: rank.made * 1e5 }),
    };
    tell(rank, {
      type: "batches",
      loader: 1,
      change: rank.change,
      ns: at,
      waitNs,
      grad: uniform() < 0.9,
      ...timed,
      workers: [],
    });
    rank.ofEpoch += count;
    const isOver = rank.ofEpoch === epochBatches || (epochBatches === null && rank.ofEpoch > 30);
    if (
      isOver ||
      (isLeft && rank.ofEpoch > 5 && uniform() < 0.3) ||
      (looks && rank.ofEpoch === 1 && uniform() < 0.5)
    ) {
      if (!looks && uniform() < 0.8) tell(rank, { type: "epoch", loader: 1, event: "end", ns: ns() });
      if (uniform() < 0.1) tell(rank, { type: "epoch", loader: 1, event: "end", ns: ns() });
      rank.ofEpoch = -1;
    }
    if (uniform() < 0.03)
      tell(rank, {
        type: "check",
        loader: pick(1, 2),
        check: pick("keeps", "connection"),
        message: "a reason",
      });
  };
  const state = () => {
    const records = ranks.map(
      ({
        loader: { delivered, epochBatches: batches, isInEpoch, batchesOfEpoch, loop, hasTrained, isUnderWay },
      }) => [delivered, batches, isInEpoch, batchesOfEpoch, loop, hasTrained, isUnderWay],
    );
    return [...records, facts.epochBatches, facts.checks];
  };
  for (let i = 0; i < 12; ++i) for (const rank of ranks) step(rank);
  log.push(state());
  const settings: LoaderSetting[] = [
    own,
    usualSetting(1, true),
    usualSetting(4, false, 4),
    usualSetting(0, true),
    { ...own, persistentWorkers: true },
  ];
  for (let trial = 0; trial < 6 && !probe.over.aborted; ++trial) {
    const [least, end] = [pick(1, 12, 40, 90), new AbortController()];
    const control = {
      ...{
        signal: end.signal,
        timeoutNs: 60e9,
        enough: (arrivals: readonly number[], elapsed = 0) => arrivals.length >= least || elapsed > 2e9,
      },
      ...pick({}, {}, { epochTurns: { least: pick(1, 2), withinNs: pick(3e8, 1e10) } }),
    };
    let found: Trial | null = null;
    const measuring = probe.measure(pick(...settings), control).then((one) => {
      found = one;
    });
    for (let turn = 0; turn < 90 && found === null; ++turn) {
      for (const rank of ranks) if (uniform() < 0.9) step(rank);
      if (turn === 80) end.abort(pick(undefined, jobEnded));
      if (uniform() < 0.002) job.onNews(ranks[0]!.member, null);
      await new Promise(setImmediate);
    }
    end.abort();
    await measuring;
    log.push(found!, state());
  }
  const send = (command: HookCommand) => log.push(command);
  job.onNews({ isConnected: pick(true, false), send }, null);
  job.fault = pick(null, new Error("the hook has failed"));
  const signal = AbortSignal.abort();
  const last = probe.measure(own, { signal, timeoutNs: 60e9, enough: () => true });
  log.push(await last.then(({ aborted }) => aborted, String));
  await probe.close();
  return log;
}

/** Which of a job's loaders is tuned. */
function chosenTargets(seed: number) {
  const { pick } = seeded(seed);
  return Array.from({ length: 150 }, () => {
    const loaders = Array.from({ length: pick(1, 2, 3) }, () => {
      const loop = () => ({ ns: pick(0, 1.8e9, 1.9e9, 2e9, 9.9e9, 10e9, 11e9), waitNs: pick(0, 1e8, 5e8) });
      return {
        isUnderWay: pick(true, true, false),
        delivered: pick(7, 8, 100),
        hasTrained: pick(true, false),
        loop: { training: loop(), other: loop() },
      };
    });
    return loaders.indexOf(chooseTarget(loaders as never) as never);
  });
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [["the loader that is tuned", chosenTargets(1)]];
  for (let seed = 1; seed <= 60; ++seed) {
    outputs.push([`running jobs at random ${seed}`, [await liveTrials(seed), await liveTrials(100 + seed)]]);
  }
  return outputs;
});
