import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { fileScreen, type Screen } from "../../src/draw/screen.js";
import { fleetKind } from "../../src/fleet/report/fleet-report.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { resultKind } from "../../src/report/result-report.js";
import { parseResult } from "../../src/results/parse.js";
import { drawn } from "../helpers/drawn.js";
import { buildMixedFleet } from "../helpers/fleet.js";
import { buildPinning } from "../helpers/pinning.js";
import { shownDocuments } from "../helpers/shown-documents.js";

const recorded = (name: string) =>
  parseResult(readFileSync(new URL(`../../results/nvidia-h200/${name}.json`, import.meta.url), "utf8"));

it.each([
  "quick",
  "default",
  "every-copy",
  "pinned",
  "fresh-process",
  "blocks",
  "at-once-together",
  "at-once-beside",
])("a run takes 25 lines at most in a terminal of 80 columns: %s", (name) => {
  const text = drawn(resultKind, recorded(name), "table", fileScreen({ columns: 80, showsAll: false }));
  const lines = text.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(25);
  expect(lines[2]).toMatch(/^=> /);
  expect(lines.at(-1)).toContain("--all");
});

it.each([
  ...["compare", "history", "fleet", "tune", "doctor", "doctor-slow", "explain"].map(
    (name) => [name, shownDocuments[name]!] as const,
  ),
  ["pin", (screen: Screen) => drawn(pinningKind, buildPinning(), "table", screen)] as const,
])("%s takes 25 lines at most in a terminal of 80 columns", (_, textOf) => {
  const lines = textOf(fileScreen({ columns: 80, showsAll: false }))
    .trimEnd()
    .split("\n");
  expect(lines.length).toBeLessThanOrEqual(25);
  expect(lines[2]).toMatch(/^=> /);
  expect(lines.join(" ")).toContain("--all shows");
});

it("a fleet's table in 80 columns shows the reason beside nodes without figures", () => {
  const text = drawn(fleetKind, buildMixedFleet(), "table", fileScreen({ columns: 80 }));
  expect(text).toMatch(/missing +2 +n\[098-099\] +monitor +The launcher/);
});
