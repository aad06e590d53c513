import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { HookMessageOf } from "../../../src/tune/live/live-messages.js";
import { jobEnded } from "../../../src/tune/loader-probe.js";
import { ask, batches, every, probeOf } from "./told.js";

/* How a probe reacts to messages of a job, without a real job. */

const one = usualSetting(1, false);
const failureOf = (message: string) => ({
  ...{ fault: "out-of-memory" as const, message, hint: null, traceback: null, everywhere: false },
});
const failed = (change: number, loader = 1): HookMessageOf<"failed"> => ({
  ...{
    type: "failed",
    loader,
    change,
    failure: failureOf("No room."),
  },
});
const check = (check: HookMessageOf<"check">["check"], loader = 1): HookMessageOf<"check"> => ({
  ...{ type: "check", loader, check, message: `it is ${check}` },
});
const changesIn = (sent: object[]) => sent.filter((command) => "change" in command);

describe("a rank", () => {
  it("that ends also ends all trials", () => {
    const { probe, job, ranks } = probeOf(9, 9);
    job.onNews(ranks[1]!.member, null);
    expect(probe.over.reason).toBe(jobEnded);
  });

  it("is sent a setting again after its change failed, unless another setting is in force", async () => {
    const changesAfter = async (...news: HookMessageOf<"failed">[]) => {
      const { probe, job, ranks, sent } = probeOf(9);
      await ask(probe, one);
      for (const message of news) job.onNews(ranks[0]!.member, message);
      await ask(probe, one);
      return changesIn(sent[0]!).length;
    };
    expect(await changesAfter(failed(1))).toBe(2);
    expect(await changesAfter(failed(7))).toBe(1);
    expect(await changesAfter(failed(1, 2))).toBe(1);
  });

  it("has a warning of a check recorded once for all ranks, and only of the tuned loader", () => {
    const { job, ranks, facts } = probeOf(9, 9);
    job.onNews(ranks[0]!.member, check("keeps", 2));
    expect(facts.checks).toEqual([]);
    for (const { member } of ranks) job.onNews(member, check("keeps"));
    expect(facts).toMatchObject({ checks: [{ check: "keeps", message: "it is keeps" }], workersOff: null });
  });

  it("whose data set holds a connection gets no workers", () => {
    const { job, ranks, facts } = probeOf(9);
    job.onNews(ranks[0]!.member, check("connection"));
    expect(facts.workersOff).toBe("it is connection");
  });

  it("of a job updates its number of batches per epoch, which is the first rank's", () => {
    const { job, ranks, facts } = probeOf(9, 9);
    ranks[0]!.loader.epochBatches = 40;
    job.onNews(ranks[1]!.member, batches(0, [10]));
    expect(facts.epochBatches).toBe(40);
  });
});

describe("a process that is not tuned", () => {
  it("gets the command to rest if it connects late, and does not end the job when it ends", () => {
    const { probe, job } = probeOf(9);
    const sent: object[] = [];
    const member = (isConnected: boolean) =>
      ({ isConnected, send: (command: object) => sent.push(command) }) as never;
    job.onNews(member(true), null);
    job.onNews(member(true), check("keeps"));
    expect(sent).toEqual([{ type: "rest" }]);
    job.onNews(member(false), null);
    expect(sent).toHaveLength(1);
    expect(probe.over.aborted).toBe(false);
  });
});

describe("a change of the setting", () => {
  const batchesUntil = async (delivered: number[], arrivals: number[]) => {
    const { probe, sent, arrivedMs } = probeOf(...delivered);
    arrivedMs.push(...arrivals);
    await ask(probe, one);
    return changesIn(sent[0]!).map((command) => (command as { atBatch?: number }).atBatch);
  };

  it("is requested at the next batch of a single rank", async () => {
    expect(await batchesUntil([9], every(50, 0, 30))).toEqual([9]);
  });

  it("is requested of several ranks a quarter of a second ahead, by the pace of the last twenty batches", async () => {
    expect(await batchesUntil([9, 14], every(50, 0, 30))).toEqual([14 + 5 + 2]);
    const slowAtFirst = [...every(3000, 0, 10), ...every(25, 30_000, 20)];
    expect(await batchesUntil([9, 14], slowAtFirst)).toEqual([14 + 10 + 2]);
  });
});

describe("a trial", () => {
  const control = { enough: () => false, signal: AbortSignal.abort(), timeoutNs: 1e9 };

  it("rejects with the fault of the job", async () => {
    const { probe, job } = probeOf(9);
    job.fault = new Error("it sent nonsense");
    await expect(probe.measure(one, control)).rejects.toThrow("it sent nonsense");
  });

  it("fails only if its own change of the setting fails", async () => {
    const { probe, job, ranks } = probeOf(9);
    const running = probe.measure(one, { ...control, signal: new AbortController().signal });
    for (const change of [7, 1])
      job.onNews(ranks[0]!.member, { ...failed(change), failure: failureOf(`No ${change}.`) });
    expect(await running).toMatchObject({ failure: { message: "No 1.", everywhere: false } });
  });

  it("is not begun while another one runs", async () => {
    const { probe } = probeOf(9);
    const running = probe.measure(one, { ...control, signal: new AbortController().signal });
    await expect(probe.measure(one, control)).rejects.toThrow("one trial at a time");
    await probe.close();
    expect(await running).toMatchObject({ aborted: true });
  });
});
