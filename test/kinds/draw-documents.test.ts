import { describe, expect, it } from "vitest";
import { differenceOf } from "../../src/kinds/difference.js";
import type { FoundDocument } from "../../src/kinds/document-kinds.js";
import { pageOfDocuments } from "../../src/kinds/draw-documents.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildDocument, buildEmulatedDocument, defaultSweepCells } from "../helpers/result-document.js";
import { documentAtSpeed } from "../helpers/runs.js";

const pageWithDifference = async (documents: FoundDocument[]) =>
  pageOfDocuments(documents, await differenceOf(documents));

const found = (document: ResultDocument, path: string): FoundDocument => ({ kind: "result", document, path });

/** A sweep, and a later one that is 10 % slower. */
function beforeAndAfter(): [ResultDocument, ResultDocument] {
  const runOf = (id: string) => buildDocument({ cells: defaultSweepCells(), run: { id } });
  return [runOf("before"), documentAtSpeed(runOf("after"), 0.9)];
}

const headings = (html: string) =>
  [...html.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, text]) => text!.replace(/: NVIDIA.*$/, ""));

describe("a page of two results", () => {
  it("says first what they differ in, and has the files' names in its headings", async () => {
    const [before, after] = beforeAndAfter();
    const html = await pageWithDifference([found(before, "old.json"), found(after, "new.json")]);
    expect(headings(html)).toEqual(["Difference: old.json → new.json", "1. old.json", "2. new.json"]);
    expect(html).toContain("Cells of a kind together");
    expect(html).toMatch(/−10\.\d %/);
    expect(Buffer.byteLength(html)).toBeLessThan(300_000);
  });

  it("says nothing of that where they cannot be compared: of other machines, of one run, of several", async () => {
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

  it("obeys no name of a file", async () => {
    const [before, after] = beforeAndAfter();
    const html = await pageWithDifference([found(before, "<img src=x>"), found(after, "\u202enosj")]);
    expect(html).not.toMatch(/<img|\u202e/);
  });
});
