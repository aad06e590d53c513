import { describe, expect, it } from "vitest";
import { parseCellId } from "../../src/results/cell-id.js";

const id = "d0/h2d/pinned/65536/w1/throughput/cold";

describe("a text that is no cell id", () => {
  it.each([
    "",
    "old.json",
    "d0/h2d/*",
    "d0/h2d/pinned",
    "D0/h2d/pinned/65536/w1/throughput/cold",
    "d0/h2d/cuddly/65536/w1/throughput/cold",
    "d0/h2d/pinned/64KiB/w1/throughput/cold",
    "d0/h2d/pinned/65536/w01/throughput/cold",
    `${id}/procss`,
    `${id}/`,
    `${id}\n`,
    id.replace("65536", "-1"),
    id.replace("65536", "99999999999999999"),
    "/".repeat(10_000),
  ])("is refused with an example of a cell id: %s", (text) => {
    const hint = expect.stringMatching(/^Write whole ids, as JSON results have them: d0\/h2d\//);
    expect(() => parseCellId(text)).toThrow(expect.objectContaining({ kind: "usage", hint }));
  });
});
