import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { validateXML } from "xmllint-wasm";
import { junitReport } from "../../../src/compare/report/junit.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildGroup,
  buildInconclusive,
  buildMissing,
  buildMixedCells,
  buildNew,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";

/** The schema of Jenkins' xunit plugin, unchanged. */
const schema = readFileSync(new URL("junit-10.xsd", import.meta.url), "utf8");

const render = (part: ComparisonPart) => junitReport(buildComparison(part));

/** The element of the test whose name begins so. */
function testNamed(xml: string, name: string): string {
  const test = xml.split("<testcase ").find((one) => one.includes(` name="${name}`));
  return test?.split("</testcase>")[0] ?? "";
}

const notComparable = {
  outcome: "not comparable",
  cells: buildCellComparisons(2, { change: null, verdict: "not comparable", reason: "The driver differs." }),
  differences: [{ fact: "driver", baseline: "580", candidate: "590", blocks: true, isOverruled: false }],
} as const satisfies ComparisonPart;

describe("the schema", () => {
  const odd = { id: oddText, memory: oddText, reason: oddText };

  const parts: [string, ComparisonPart][] = [
    ["a pass", {}],
    ["every verdict", { outcome: "regression", cells: [...buildMixedCells(), ...notComparable.cells] }],
    ["what is not comparable", notComparable],
    ["a failure", { outcome: "failed", cells: [buildMissing()], notes: ["out of memory"] }],
    ["strictness", { outcome: "inconclusive", cells: [buildInconclusive()], rule: { strict: true } }],
    ["the emulated device", { backend: "emulated" }],
    ["no cells", { cells: [] }],
    ["no intervals", { cells: buildCellComparisons(3, { margin: null }) }],
    [
      "quotes, markup and control characters",
      { outcome: "regression", cells: [buildCellComparison(odd), buildSlower(odd)], notes: [oddText] },
    ],
  ];

  it(`is kept by ${parts.map(([name]) => name).join(", ")}`, async () => {
    // All at once, as each call starts a thread for it.
    const result = await validateXML({
      xml: parts.map(([name, part]) => ({ fileName: `${name}.xml`, contents: render(part) })),
      schema: { fileName: "junit-10.xsd", contents: schema },
    });
    expect(result.errors).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it("would notice a report that breaks it", async () => {
    const broken = render({}).replace(' classname="pinbench" name="comparison"', "");
    expect((await validateXML({ xml: broken, schema })).valid).toBe(false);
  });
});

describe("tests", () => {
  it("are one a cell, and one for the comparison as a whole", () => {
    const xml = render({ cells: buildCellComparisons(3) });
    expect(xml.match(/<testcase /g)).toHaveLength(4);
    expect(testNamed(xml, "comparison")).toContain(
      "<system-out>Nothing is slower. Pinned: a loss of 3.3 % would show.</system-out>",
    );
    expect(xml).toContain(
      '<testcase classname="pinbench.d0.h2d.pinned" name="H2D pinned 16 MiB x1" time="0">',
    );
    expect(testNamed(xml, "H2D pinned 16 MiB x1")).toContain("\nd0/h2d/pinned/16777216/w1/");
    const second = render({ cells: [0, 3].map((device) => buildCellComparison({ device })) });
    expect(second).toContain('<testcase classname="pinbench.d3.h2d.pinned" name="d3 H2D pinned 16 MiB x1"');
  });

  it("are named by ids if these are asked for", () => {
    expect(junitReport(buildComparison(), { showsIds: true })).toContain(
      '<testcase classname="pinbench.d0.h2d.pinned" name="d0/h2d/pinned/16777216/w1/',
    );
  });

  it("have the check's time for the whole, and none for existing results", () => {
    const took = { createdAt: "2026-11-20T10:02:30.500Z" };
    const xml = render(took);
    expect(testNamed(xml, "comparison")).toContain('time="150.5"');
    expect(xml.match(/time="150\.5"/g)).toHaveLength(3);
    expect(render({ ...took, command: "compare" })).not.toMatch(/ time="[^0]/);
    expect(render({ createdAt: "2026-11-20T09:00:00.000Z" })).not.toMatch(/ time="[^0]/);
    const { candidate } = buildComparison();
    expect(render({ candidate: { ...candidate, startedAt: "" } })).not.toMatch(/ time="[^0]/);
  });

  it("fail for a cell that is slower, with its figures", () => {
    const xml = render({ outcome: "regression", cells: [buildSlower()] });
    const failed = testNamed(xml, "D2H");
    expect(xml.match(/<failure /g)).toHaveLength(1);
    expect(failed).toContain(
      '<failure type="slower" message="61.3 GB/s before, 55.3 GB/s now: −9.9 % (−10.2 to −9.5 %); ' +
        'confirmed by 5 fresh processes">',
    );
    expect(failed).toContain("The drop exceeds the threshold");
  });

  it("name the other cells of a failing cell's pattern", () => {
    const cells = [1, 2, 4].map((workers) => buildSlower({ workers }));
    expect(testNamed(render({ outcome: "regression", cells }), "D2H pinned 16 MiB x2")).toContain(
      "; one of: D2H pinned: −9.9 %, 3 of 3 cells slower; confirmed by 5 fresh processes",
    );
  });

  it("fail as a whole if a group fails and none of its cells does", () => {
    const cells = [1, 2, 4].map((workers) => buildInconclusive({ workers }));
    const groups = [buildGroup(cells, { change: -0.1, verdict: "probably slower" })];
    const xml = render({ outcome: "regression", cells, groups });
    expect(testNamed(xml, "comparison")).toContain(
      '<failure type="regression" message="H2D pageable, 3 cells',
    );
    expect(xml).toContain('failures="1"');
  });

  it("are skipped for an undecided cell, but fail with --strict", () => {
    const cells = [buildInconclusive()];
    expect(testNamed(render({ cells }), "H2D")).toContain('<skipped type="inconclusive"');
    expect(testNamed(render({ cells, rule: { strict: true } }), "H2D")).toContain(
      '<failure type="inconclusive"',
    );
  });

  it.each(["unsteady", "uneven"] as const)(
    "fail for an %s cell of steady memory, others with --strict",
    (verdict) => {
      const resultOf = (memory: string, strict: boolean) => {
        const cells = [buildCellComparison({ memory, verdict })];
        return /<(failure|skipped) type="(\w+)"/
          .exec(testNamed(render({ cells, rule: { strict } }), "H2D"))
          ?.slice(1);
      };
      expect(resultOf("pinned", false)).toEqual(["failure", verdict]);
      expect(resultOf("pageable", false)).toEqual(["skipped", verdict]);
      expect(resultOf("pageable", true)).toEqual(["failure", verdict]);
    },
  );

  it("are skipped for a missing cell, but fail with --strict or after a failure", () => {
    const cells = [buildMissing()];
    expect(testNamed(render({ cells }), "H2D")).toContain('<skipped type="missing"');
    expect(testNamed(render({ cells, rule: { strict: true } }), "H2D")).toContain('<failure type="missing"');
    const failed = render({ cells, outcome: "failed" });
    expect(testNamed(failed, "H2D")).toContain('<error type="missing"');
    expect(testNamed(failed, "comparison")).toContain('<error type="failed"');
  });

  it("pass for a new cell, and say that it is new", () => {
    expect(testNamed(render({ cells: [buildNew()] }), "H2D")).toMatch(/>\s*<system-out>new: /);
  });

  it("fail as a whole if the results are not comparable", () => {
    const xml = render(notComparable);
    expect(testNamed(xml, "comparison")).toContain(
      '<failure type="not comparable" message="Not comparable: driver differs.">',
    );
    expect(xml.match(/<skipped /g)).toHaveLength(2);
    expect(xml).toContain('tests="3" failures="1" errors="0" time="86400" skipped="2"');
  });

  it("fail as a whole if a link lost lanes, because no cell is to blame", () => {
    const lost = { generation: 5, width: 8 };
    const linkLosses = [{ device: 0, baseline: { ...lost, width: 16 }, candidate: lost, runs: 5, of: 5 }];
    const xml = render({ outcome: "regression", linkLosses });
    expect(testNamed(xml, "comparison")).toMatch(
      /<failure type="regression" message="The link of GPU 0 runs at x8, the baseline's at x16\. /,
    );
  });

  it("are counted", () => {
    const xml = render({ outcome: "failed", cells: buildMixedCells() });
    expect(xml).toContain(
      '<testsuites name="pinbench check" tests="7" failures="1" errors="2" time="86400">',
    );
  });
});

it("says that the device is emulated, as a property and in its output", () => {
  const xml = render({ backend: "emulated" });
  const notice = emulatedNotice;
  expect(xml).toContain(`<property name="pinbench.notice" value="${notice}"/>`);
  expect(testNamed(xml, "comparison")).toContain(notice);
});

it("has both sides as properties, and notes in the output of the whole", () => {
  const { baseline, candidate } = buildComparison();
  const devices = ["NVIDIA H200", "NVIDIA L4"];
  const xml = render({
    ...{
      baseline: { ...baseline, path: "before" },
      candidate: { ...candidate, path: "after", deviceNames: devices },
    },
    ...{ unfinished: ["a run has not ended"], notes: ["a note"], tool: { name: "pinbench", version: "9.8" } },
  });
  const properties = [...xml.matchAll(/<property name="pinbench.(\w+)" value="(.*)"\/>/g)].map((one) =>
    one.slice(1),
  );
  expect(Object.fromEntries(properties)).toEqual({
    ...{ version: "9.8", backend: "cuda", outcome: "pass" },
    ...{ baseline: "before", candidate: "after", devices: "NVIDIA H200, NVIDIA L4" },
  });
  expect(testNamed(xml, "comparison")).toContain("\na run has not ended\na note</system-out>");
});

it("keeps line breaks in attributes and replaces characters that XML forbids", () => {
  const xml = render({ cells: [buildCellComparison({ id: "a\nb\t\u0000\u001b\ud800" })] });
  expect(xml).toContain('name="a&#10;b&#9;\ufffd\ufffd\ufffd"');
});
