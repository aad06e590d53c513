import { describe, expect, it } from "vitest";
import { differenceOf } from "../../src/kinds/difference.js";
import type { FoundDocument } from "../../src/kinds/document-kinds.js";
import { chartOfDocuments, pageOfDocuments } from "../../src/kinds/draw-documents.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildDocument, buildEmulatedDocument, sweepCells } from "../helpers/result-document.js";
import { documentAtSpeed } from "../helpers/runs.js";
import { documents } from "../helpers/sample-documents.js";

const pageWithDifference = async (documents: FoundDocument[]) =>
  pageOfDocuments(documents, await differenceOf(documents));

const found = (document: ResultDocument, path: string): FoundDocument => ({ kind: "result", document, path });

/** A sweep, and a later one that is 10 % slower. */
function beforeAndAfter(): [ResultDocument, ResultDocument] {
  const runOf = (id: string) => buildDocument({ cells: sweepCells(), run: { id } });
  return [runOf("before"), documentAtSpeed(runOf("after"), 0.9)];
}

const headings = (html: string) =>
  [...html.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, text]) =>
    text!.replace(/: (Copy speed: )?NVIDIA.*$/, ""),
  );

describe("a page of two results", () => {
  it("begins with their differences, and has the files' names in its headings", async () => {
    const [before, after] = beforeAndAfter();
    const html = await pageWithDifference([found(before, "old.json"), found(after, "new.json")]);
    expect(headings(html)).toEqual(["Difference: old.json → new.json", "1. old.json", "2. new.json"]);
    expect(html).toContain("Groups of cells, by speed");
    expect(html).toMatch(/−10\.\d %/);
    expect(Buffer.byteLength(html)).toBeLessThan(300_000);
  });

  it("shows no difference for different machines, the same run twice, or three results", async () => {
    const [before, after] = beforeAndAfter();
    const emulated = buildEmulatedDocument();
    for (const documents of [
      [before, emulated],
      [before, before],
      [before, after, after],
    ]) {
      const html = await pageWithDifference(documents.map((one, index) => found(one, `${index}.json`)));
      expect(headings(html)).toHaveLength(documents.length);
      expect(html).not.toContain("Difference:");
    }
  });

  it("has the conclusions, tables and charts of the difference, and folds what is undecided", async () => {
    const [before, after] = beforeAndAfter();
    const { report, charts } = (await differenceOf([
      found(before, "old.json"),
      { kind: "result", document: after, path: null },
    ]))!;
    expect(report.name).toBe("Difference: old.json → measured now");
    const types = new Set(report.blocks.map(({ type }) => type));
    expect([types.has("table"), types.has("facts"), types.has("fold")]).toEqual([true, false, true]);
    expect(charts.length).toBeGreaterThan(0);
  });

  it("escapes markup in the names of files", async () => {
    const [before, after] = beforeAndAfter();
    const html = await pageWithDifference([found(before, "<img src=x>"), found(after, "\u202enosj")]);
    expect(html).not.toMatch(/<img|\u202e/);
  });
});

it("a page of one result names its file among the facts, not in its heading", async () => {
  const [before] = beforeAndAfter();
  const html = await pageOfDocuments([found(before, "old.json")]);
  expect(headings(html)[0]).not.toContain("old.json");
  expect(html).toContain("<dt>File</dt><dd>old.json</dd>");
});

describe("an unknown chart", () => {
  const hintOf = (documents: FoundDocument[]) =>
    chartOfDocuments(documents, "nosuch").catch(({ kind, hint }) => ({ kind, hint }));

  it("is refused with a list of the existing charts", async () => {
    const [before, after] = beforeAndAfter();
    const { kind, hint } = (await hintOf([found(before, "a"), found(after, "b")])) as {
      kind: string;
      hint: string;
    };
    expect(kind).toBe("usage");
    expect(hint.match(/\bh2d-by-size\b/g)).toHaveLength(1);
  });

  it("is refused for a document without charts too", async () => {
    const document = documents.diagnosis("node-1");
    expect(await hintOf([{ kind: "diagnosis", document, path: null } as FoundDocument])).toEqual({
      ...{ kind: "usage", hint: null },
    });
  });
});
