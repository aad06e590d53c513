import { it } from "vitest";
import { hostileTexts } from "../helpers/hostile-documents.js";
import { writeFileSync, mkdirSync } from "node:fs";
import { buildPinning } from "../helpers/pinning.js";
import { buildTuning, buildTried, buildFailure } from "../helpers/tuning.js";
import { buildComparison, buildMixedCells, buildGroup } from "../helpers/comparison.js";
import { buildMixedFleet } from "../helpers/fleet.js";
import { buildSlowDiagnosis } from "../helpers/diagnosis.js";
import { buildExplanation } from "../helpers/explanation.js";
import { buildCourse, buildEntry, buildFigure, pinnedId } from "../helpers/history.js";
import { describeHistory } from "../../src/compare/courses.js";
import { usualSetting } from "../../src/results/loader-setting.js";
it("x", async () => {
  mkdirSync("/tmp/house-docs", { recursive: true });
  const course = buildCourse({ checks: 90, steps: { 60: -0.05 } });
  const cells = buildMixedCells();
  const docs = { pinning: buildPinning(), tuning: buildTuning({ tried: [...buildTuning().tried, buildTried(usualSetting(12, false), null, { failure: buildFailure() })] }),
   comparison: buildComparison({ outcome: "regression", cells, groups: [buildGroup(cells.slice(0,2), { verdict: "slower" })], notes: ["the spread is that of these runs"] }), comparison2: buildComparison(), fleet: buildMixedFleet(), diagnosis: buildSlowDiagnosis(), explanation: buildExplanation(),
   history: describeHistory({ version: "0.1.0", path: "history", cells: ["*"], history: { notes: ["line 3 is left out"], entries: course.map((factor, day) => buildEntry(day, { fingerprint: { driver: day < 60 ? "570.1" : "580.2" }, series: [buildFigure({ figure: 55 * factor }), buildFigure({ id: pinnedId.replace("h2d", "d2h"), moved: "d2h", figure: 50 * factor })] })) } }) };
  for (const [k, d] of Object.entries(docs)) writeFileSync(`/tmp/house-docs/${k}.json`, JSON.stringify(d));
});
it("y", async () => {
  mkdirSync("/tmp/house-hostile", { recursive: true });
  const odd = "N\u001b[2J\u202e\u2067\u061c\u200f\u009b31m\u001b]0;x\u0007\r\n=> all is well";
  for (const [k, f, t] of await hostileTexts(odd)) writeFileSync(`/tmp/house-hostile/odd-${k}.${f}`, t);
  const hostile = "@org/team #1 ![x](https://evil.example/i.png) <img src=x onerror=y> | **ok** `code`\n```\n```\n# x";
  for (const [k, f, t] of await hostileTexts(hostile)) writeFileSync(`/tmp/house-hostile/md-${k}.${f}`, t);
});
