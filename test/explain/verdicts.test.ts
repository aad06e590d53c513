import { describe, expect, it } from "vitest";
import { concludeEightyOne } from "../../src/explain/questions/eighty-one-times.js";
import { concludeLowLatency } from "../../src/explain/questions/low-latency.js";
import { concludeOverlap } from "../../src/explain/questions/overlap.js";
import { concludePaysOff } from "../../src/explain/questions/pays-off.js";
import { concludeSeveralGpus } from "../../src/explain/questions/several-gpus.js";
import { concludeTooMuch } from "../../src/explain/questions/too-much-pinned.js";
import { type BatchOfSize, concludeTooSmall } from "../../src/explain/questions/too-small.js";
import { concludeWhyPinned } from "../../src/explain/questions/why-pinned.js";
import { measured } from "../helpers/measured-figure.js";
import { expectVerdicts } from "./conclusions.js";

/*
 * What figures make of each claim. Those that come first are an H200's; then figures that turn the verdict round, and some
 * whose intervals leave it open.
 */

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const us = (value: number, percent: number | null = 1) => measured(value * 1e3, "ns", percent);
const ms = (value: number, percent: number | null = 1) => measured(value * 1e6, "ns", percent);

describe("why-pinned: a pageable copy is the CPU's copy, and a pinned one is faster", () => {
  const h200 = {
    ...{ pageable: measured(10.98), byCpu: measured(12.6) },
    ...{ staged: measured(11.3), pinned: measured(55.3) },
  };
  const changed = (part: Partial<typeof h200>) => concludeWhyPinned({ ...h200, ...part });

  expectVerdicts("why-pinned", [
    ["both are so", changed({}), "true"],
    ["pinned memory is no faster", changed({ pinned: measured(11) }), "not here"],
    ["the CPU copies much faster than a pageable copy goes", changed({ byCpu: measured(40) }), "not here"],
    ["a pageable copy goes much faster than the CPU copies", changed({ byCpu: measured(8) }), "not here"],
    ["the CPU's part is open", changed({ pageable: measured(10, "GB/s", 60) }), "inconclusive"],
    ["the gain has no interval", changed({ pinned: measured(55.3, "GB/s", null) }), "inconclusive"],
  ]);
});

describe("pays-off: pinning costs once, and every copy earns", () => {
  const costs = (pinned: number | null, registered: number | null, percent = 1) => ({
    pinned: pinned === null ? null : ms(pinned, percent),
    registered: registered === null ? null : ms(registered, percent),
  });
  const size = (pageable = 6.1, pinned = 1.2, cost = costs(21.7, 3.4), percent = 0.1) => ({
    ...{ sizeBytes: 64 * MiB, cost },
    ...{ pageable: ms(pageable, percent), pinned: ms(pinned, percent) },
  });
  const at = (...sizes: Parameters<typeof size>[]) => concludePaysOff(sizes.map((one) => size(...one)));

  it("takes fewer copies where each saves more, and more where it saves less", () => {
    // 6 ms, and 5 to 7 of them by the interval, for what costs 60.
    const one = { sizeBytes: 64 * MiB, cost: costs(60, null, 0) };
    const { figures } = concludePaysOff([{ ...one, pageable: ms(10, 10), pinned: ms(4, 0) }]);
    expect(figures.at(-1)).toMatchObject({ value: 10, interval: { low: 9, high: 12 } });
  });

  expectVerdicts("pays-off", [
    ["it pays at once", at([]), "true"],
    ["the cost is less certain", at([6.1, 1.2, costs(21.7, null, 20)]), "true"],
    ["even the cheaper way takes several copies", at([6.1, 1.2, costs(21.7, 13)]), "true"],
    ["pinned memory costs less", at([6.1, 1.2, costs(-22.1, null)]), "true"],
    ["it may cost nothing", at([6.1, 1.2, costs(0.4, null, 2000)]), "true"],
    ["a copy saves nothing at one size", at([], [1.2, 1.5]), "not here"],
    ["no cost is known", at([6.1, 1.2, costs(null, null)]), "inconclusive"],
    ["the times overlap", at([1.2, 1.1999]), "inconclusive"],
  ]);
});

describe("81-times: pinned memory is 81 times as fast", () => {
  const of = (pageableMs: number, pinnedMs = 0.72, from = 0) =>
    concludeEightyOne(
      [0.97, 0.98, 1, 1.01, 1.02, 1.03].slice(from).map((factor) => ({
        ...{ initNs: 92e6 * factor, contextNs: 90e6 * factor },
        ...{ pageableNs: pageableMs * 1e6 * factor, pinnedNs: pinnedMs * 1e6 },
      })),
    );

  expectVerdicts("81-times", [
    ["the context made the difference", of(3.7), "not here"],
    ["the copies differ so much", of(90), "true"],
    ["the interval has 81 within", of(81 * 0.72), "inconclusive"],
    ["too few processes were measured", of(3.7, 0.72, 1), "inconclusive"],
  ]);
});

describe("too-small: a batch of 128 KiB gains nothing", () => {
  const batch = (sizeBytes: number, pageable: number, pinned: number, percent = 1): BatchOfSize => ({
    ...{ sizeBytes, pageable: us(pageable, percent), pinned: us(pinned, percent) },
  });
  const [mebibyte, large] = [batch(MiB, 100, 22), batch(16 * MiB, 1500, 305)];
  const of = (pageable: number, pinned: number, percent = 1, ...others: BatchOfSize[]) =>
    concludeTooSmall([batch(128 * 1024, pageable, pinned, percent), ...others]);

  expectVerdicts("too-small", [
    ["it saves little", of(18, 6, 1, mebibyte, large), "true"],
    ["a size is open", of(18, 6, 1, mebibyte, batch(4 * MiB, 60, 22, 40), large), "true"],
    ["no size is worth it, and pinned memory is slower", of(6, 7, 1, batch(MiB, 22, 22)), "true"],
    ["even that batch saves much", of(118, 6, 1, mebibyte, large), "not here"],
    ["the interval has the bound within", of(56, 6, 5, mebibyte, large), "inconclusive"],
    ["no difference shows", of(6, 6, 1, mebibyte), "true"],
  ]);
});

describe("low-latency: an image that is copied into pinned memory first arrives sooner", () => {
  const image = (typical: number, percent: number | null = 1) => ({
    ...{ typical: us(typical, percent), p99: us(2 * typical, null) },
  });
  const figures = { pageable: image(62), pinned: image(14), copiedFirst: image(63), newBuffer: us(61) };
  const changed = (part: Partial<Parameters<typeof concludeLowLatency>[0]>) =>
    concludeLowLatency({ ...figures, ...part });

  expectVerdicts("low-latency", [
    ["the copy into pinned memory takes what staging takes", changed({}), "not here"],
    ["what a new buffer costs is not known", changed({ newBuffer: null }), "not here"],
    ["pinned memory gains little", changed({ pinned: image(61) }), "not here"],
    ["what pinned memory gains is open", changed({ pinned: image(58, 10) }), "not here"],
    ["it is sooner all the same", changed({ copiedFirst: image(40) }), "true"],
    ["the intervals overlap", changed({ copiedFirst: image(58, 10) }), "inconclusive"],
  ]);
});

describe("overlap: pinned copies run beside kernels, and pageable ones do not", () => {
  const kind = (copy: number, inTurn: number, inChunks: number, percent = 1) => ({
    ...{ copy: ms(copy, percent), inTurn: ms(inTurn, percent), inChunks: ms(inChunks, percent) },
    computeNs: 1.35e6,
  });
  const [pinned, pageable] = [kind(1.21, 2.57, 1.5), kind(6, 7.5, 7.48)];

  it("goes by the share of what can be hidden: not the first chunk's copy, nor the last one's kernel", () => {
    const { figures } = concludeOverlap({ pinned: kind(1.2, 2.5, 1.975), pageable });
    const [hidden] = figures.filter(({ unit }) => unit === "share");
    expect(hidden!.value).toBeCloseTo((2.5 - 1.975) / (1.2 * (7 / 8)), 9);
  });

  expectVerdicts("overlap", [
    ["it is so of both", concludeOverlap({ pinned, pageable }), "true"],
    ["pinned copies wait", concludeOverlap({ pinned: kind(1.21, 2.57, 2.56), pageable }), "not here"],
    ["pageable copies overlap too", concludeOverlap({ pinned, pageable: kind(6, 7.5, 6.4) }), "not here"],
    ["times vary", concludeOverlap({ pinned, pageable: kind(33, 44, 41, 10) }), "inconclusive"],
  ]);
});

describe("several-gpus: pinned memory feeds all of them at once", () => {
  const of = (...together: [rate: number, percent?: number][]) =>
    concludeSeveralGpus(
      together.map(([rate, percent = 1], device) => ({
        device,
        pinned: { alone: measured(55), together: measured(rate, "GB/s", percent) },
        pageable: { alone: measured(11), together: measured(6) },
      })),
    );

  expectVerdicts("several-gpus", [
    ["each keeps its rate", of([54], [53]), "true"],
    ["one of them loses", of([54], [28]), "not here"],
    ["a larger loss is not certain", of([40], [38, 40]), "not here"],
    ["the interval has the bound within", of([54], [49.5, 5]), "inconclusive"],
  ]);
});

describe("too-much-pinned: pinned memory is lost to all else", () => {
  const figures = {
    poolBytes: 512 * MiB,
    ...{ taken: measured(1.001, "share"), returned: measured(1, "share") },
    impossible: { refusal: "CUDA_ERROR_OUT_OF_MEMORY" as string | null, ns: 2e5, worksAfter: true },
    ...{ totalBytes: 128 * GiB, availableBytes: 100 * GiB },
  };
  const taking = (share: number, percent = 1) =>
    concludeTooMuch({ ...figures, taken: measured(share, "share", percent) });
  const beyond = (part: Partial<(typeof figures)["impossible"]> | null) =>
    concludeTooMuch({ ...figures, impossible: part && { ...figures.impossible, ...part } });

  expectVerdicts("too-much-pinned", [
    ["a pool takes its size", beyond({}), "true"],
    ["it takes hardly any", taking(0.02), "not here"],
    ["other programs take and give back as much", taking(0.7, 50), "inconclusive"],
    ["the device is broken after a request that cannot be granted", beyond({ worksAfter: false }), "true"],
    ["that request is granted", beyond({ refusal: null }), "true"],
    ["that request was not made", beyond(null), "true"],
  ]);
});
