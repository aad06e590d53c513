import { describe, expect, it } from "vitest";
import { parseCellId } from "../../src/results/cell-id.js";

const id = "d0/h2d/pinned/65536/w1/throughput/cold";
const example = /^Write for example d0\/h2d\/pinned\/16777216\/w4\/throughput\/cold; /;

function expectHint(text: string, hint: string | RegExp): void {
  const told = expect.objectContaining({ kind: "usage", hint: expect.stringMatching(hint) });
  expect(() => parseCellId(text)).toThrow(told);
}

describe("of a text that is no id, the hint", () => {
  it.each([
    ["names are misspelt", "d0/h2d/pined/65536/w1/througput/cld"],
    ["they have capitals", "D0/H2D/Pinned/65536/W1/throughput/cold"],
    ["the letters before numbers are wrong", "gpu0/h2d/pinned/65536/x1/throughput/cold"],
    ["these are forgotten", "0/h2d/pinned/65536/1/throughput/cold"],
    ["the usual end is left out", "d0/h2d/pinned/65536/w1"],
    ["a line ends after it", `${id}\n`],
    ["a part of that is left out", "d0/h2d/pinned/65536/w1/throughput"],
  ])("gives the one that was likely meant if %s", (_, text) => {
    expectHint(text, new RegExp(`^Did you mean ${id}\\?$`));
  });

  it("says that sizes are in bytes if one has a unit", () => {
    const text = "d0/h2d/pinned/64KiB/w1/throughput/cold";
    expectHint(text, new RegExp(`^Did you mean ${id}\\? Ids have sizes in bytes\\.$`));
  });

  it("says that patterns are not taken", () => {
    expectHint("d0/h2d/*", /^--cells takes whole ids, not patterns\. Write for example /);
  });

  it.each([
    "",
    "old.json",
    "d0/h2d/pinned",
    "d0/h2d/cuddly/65536/w1/throughput/cold",
    "d0/h2d/pinned/big/w1/throughput/cold",
    "d0/h2d/pinned/65536/w01/throughput/cold",
    `${id}/procss`,
    `${id}/`,
    id.replace("65536", "-1"),
    id.replace("65536", "99999999999999999"),
    "/".repeat(10_000),
  ])("shows an example if nothing shows what was meant: %s", (text) => {
    expectHint(text, example);
  });
});
