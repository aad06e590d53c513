import { expect, it } from "vitest";
import { bearablePool, longestStallNs, stallsOf, watchedPools } from "../../src/pin/stalls.js";
import { buildPool } from "../helpers/pinning.js";

const ms = (...times: number[]) => Float64Array.from(times, (time) => time * 1e6);

it("a stall is what an answer is late by, one millisecond after the last", () => {
  const answers = { "memory-info": ms(0, 1, 2, 43, 44, 45.4), "small-copy": ms(0, 1, 2, 3) };
  expect(stallsOf(answers)).toEqual([
    { call: "memory-info", answers: 6, longestNs: 40e6, stalledShare: expect.closeTo(40 / 45.4) },
    { call: "small-copy", answers: 4, longestNs: 0, stalledShare: 0 },
  ]);
});

it("is the same share of the time of watching, whenever that begins", () => {
  const share = (beginMs: number) => {
    const times = [0, 1, 2, 43, 44].map((time) => beginMs + time);
    return stallsOf({ "memory-info": ms(...times) })[0]!.stalledShare;
  };
  expect(share(60_000)).toBeCloseTo(40 / 44);
  expect(share(0)).toBeCloseTo(40 / 44);
});

it("answers that are late by less than a millisecond are no stalls, but the latest is reported", () => {
  expect(stallsOf({ "nvml-memory": ms(0, 1.9, 3) })).toEqual([
    { call: "nvml-memory", answers: 3, longestNs: expect.closeTo(0.9e6), stalledShare: 0 },
  ]);
  expect(stallsOf({ "nvml-memory": ms(0, 2, 4, 5) })).toMatchObject([{ longestNs: 1e6, stalledShare: 0.4 }]);
});

it("of a call with one answer nothing is known", () => {
  expect(stallsOf({ "memory-info": ms(5), "small-copy": ms() })).toEqual([]);
  expect(longestStallNs([])).toBe(0);
});

it("a neighbour bears a pool whose longest stall is below 10 ms; the soonest of those is reported", () => {
  const pool = (pieces: number, seconds: number, stallMs: number) =>
    buildPool({ way: "register-huge", pieces, threads: 4 }, [seconds], {
      stalls: [
        { call: "memory-info", answers: 9, longestNs: 1e5, stalledShare: 0 },
        { call: "nvml-memory", answers: 9, longestNs: stallMs * 1e6, stalledShare: 0.5 },
      ],
    });
  const pools = watchedPools([
    pool(1, 1, 400),
    pool(64, 1.6, 9),
    pool(256, 2.2, 3),
    pool(16, 1.2, 10),
    buildPool({ way: "register", pieces: 1, threads: 1 }, [0.1]),
    buildPool({ way: "register", pieces: 1, threads: 2 }, [0.1], { stalls: [] }),
  ]);
  expect(pools).toHaveLength(4);
  expect(bearablePool(pools)).toMatchObject({ pieces: 64 });
  expect(bearablePool(pools.slice(0, 1))).toBeNull();
});
