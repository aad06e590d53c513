import { expect, it } from "vitest";
import { bearablePieces, longestStallNs, stallsOf } from "../../src/pin/stalls.js";

const ms = (...times: number[]) => Float64Array.from(times, (time) => time * 1e6);

it("a stall is the time by which a call's answer comes later than 1 ms after the last one", () => {
  const answers = { launch: ms(0, 1, 2, 43, 44, 45.4), "small-copy": ms(0, 1, 2, 3) };
  expect(stallsOf(answers)).toEqual([
    { call: "launch", answers: 6, longestNs: 40e6, stalledShare: expect.closeTo(40 / 45.4) },
    { call: "small-copy", answers: 4, longestNs: 0, stalledShare: 0 },
  ]);
});

it("answers that are late by less than a millisecond are no stalls, but the latest is reported", () => {
  expect(stallsOf({ launch: ms(0, 1.9, 3) })).toEqual([
    { call: "launch", answers: 3, longestNs: expect.closeTo(0.9e6), stalledShare: 0 },
  ]);
  expect(stallsOf({ launch: ms(0, 2, 4, 5) })).toMatchObject([{ longestNs: 1e6, stalledShare: 0.4 }]);
});

it("the stalls of a call with only one answer are unknown", () => {
  expect(stallsOf({ launch: ms(5), "small-copy": ms() })).toEqual([]);
  expect(longestStallNs([])).toBe(0);
});

it("for a server, the largest pieces with waits below 10 ms are chosen, by the fastest method", () => {
  const piece = (way: "host-alloc" | "register", pieceBytes: number, obtainNs: number, waitMs: number) => ({
    ...{ way, pieceBytes, bytes: 64, obtainNs },
    calls: [
      { call: "launch" as const, answers: 9, longestNs: waitMs * 1e6, stalledShare: 0 },
      { call: "small-copy" as const, answers: 9, longestNs: 1e5, stalledShare: 0 },
    ],
  });
  const pieces = [
    piece("host-alloc", 1, 9, 0.1),
    piece("register", 1, 8, 0.1),
    piece("host-alloc", 16, 7, 9.9),
    piece("register", 16, 6, 9.8),
    piece("host-alloc", 64, 5, 10),
  ];
  expect(bearablePieces({ quiet: [], pieces })).toBe(pieces[3]);
  // A larger piece with shorter waits than a smaller one was lucky.
  expect(bearablePieces({ quiet: [], pieces: [...pieces, piece("host-alloc", 256, 4, 1)] })).toBe(pieces[3]);
  expect(bearablePieces({ quiet: [], pieces: pieces.slice(4) })).toBeNull();
});
