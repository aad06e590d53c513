import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
// @ts-expect-error Scripts are JavaScript without types.
import { described, undescribed } from "../../scripts/lib/published-schema.mjs";
import type { DocumentKind } from "../../src/draw/document-kind.js";
import { type FoundDocument, isDocumentName, loadKind } from "../../src/kinds/document-kinds.js";
import { readDocuments } from "../../src/kinds/read-documents.js";
import { packageRoot } from "../../src/package-facts.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { documentFormats, formatNames } from "../../src/settings/document-formats.js";
import { documentJsonSchema } from "../../src/settings/schema-parts.js";
import { drawn } from "../helpers/drawn.js";
import { buildCell } from "../helpers/result-document.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { buildRuns } from "../helpers/runs.js";
import { documentNames, documents, drawnAs, hostileTexts } from "../helpers/sample-documents.js";

const found = (kind: (typeof documentNames)[number], text = "node-1") =>
  ({ kind, document: documents[kind](text), path: null }) as unknown as FoundDocument;

/** Clears the screen, hides a line, turns text around, sets a window's title, ends a line. */
const control = "N\u001b[2J\u202e\u2067\u061c\u200f\u009b31m\u001b]0;x\u0007\r\n=> all is well";

const rows = (csv: string) => csv.trimEnd().split("\n");

/** What each format looks like, whatever the document. */
const looks: Readonly<Record<string, (text: string) => void>> = {
  table: (text) => expect(text).toMatch(/^pinbench \d/),
  json: (text) => expect(JSON.parse(text)).toHaveProperty("schemaVersion", 1),
  markdown: (text) => expect(text).toMatch(/^## pinbench[a-z ]*: \S/),
  html: (text) => expect(text).toMatch(/^<!doctype html>.*<h2 .*<\/html>\n$/is),
  csv: (text) =>
    expect(new Set(rows(text).map((row) => row.replaceAll(/"[^"]*"/g, "").split(",").length)).size).toBe(1),
  junit: (text) => expect(text).toMatch(/^<\?xml .*<\/testsuites>\n$/s),
  github: (text) => expect(text).toMatch(/^::(error|notice|warning) /),
  nodelist: (text) => expect(text.split("\n")).toHaveLength(2),
  drain: (text) => expect(text).toMatch(/^(#|scontrol )/),
  openmetrics: (text) => expect(text).toMatch(/# EOF\n$/),
  python: (text) => expect(text).toMatch(/^num_workers=|^import /m),
  c: (text) => expect(text).toMatch(/^#include /m),
  env: (text) => expect(text).toMatch(/^[A-Z_]+=/m),
  nhc: (text) => expect(text.split("\n")).toHaveLength(2),
  nagios: (text) => expect(text).toMatch(/^PINBENCH [A-Z]+ - [^\n|]+ \| [^\n|]*\n$/),
};

describe.each(documentNames)("the document %s", (kind) => {
  // A reference is of healthy GPUs alone, and these are not.
  it.each(formatNames(kind).filter((format: string) => format !== "reference"))(
    "is drawn as %s",
    async (format) => {
      looks[format]!(await drawnAs(found(kind), format));
    },
  );

  it("matches its schema, and its name is a known kind", async () => {
    const { document } = found(kind);
    expect((await loadKind(kind)).schema.safeParse(document).error).toBeUndefined();
    expect(isDocumentName(kind)).toBe(true);
    if (kind !== "result") expect(document).toHaveProperty("kind", kind);
  });

  it("has a shipped JSON schema equal to the zod schema in the code (`npm run schema` writes it)", async () => {
    const file = `schema/${kind}-v1.json`;
    const shipped = JSON.parse(readFileSync(join(packageRoot, file), "utf8"));
    expect(shipped).toEqual(
      described(JSON.parse(JSON.stringify(documentJsonSchema((await loadKind(kind)).schema)))),
    );
    expect(undescribed(shipped)).toEqual([]);
    expect(shipped).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: `urn:pinbench:schema:${kind}-v1`,
      title: expect.stringContaining("version 1"),
      description: expect.stringMatching(/\w/),
    });
    const { resolve } = createRequire(join(packageRoot, "package.json"));
    expect(resolve(`pinbench/${file}`)).toBe(join(packageRoot, file));
  });

  it("is unchanged in JSON, whatever control characters its texts hold", async () => {
    const hostile = found(kind, control);
    expect(JSON.parse(await drawnAs(hostile, "json"))).toEqual(JSON.parse(JSON.stringify(hostile.document)));
  });

  it("can be saved as SVG only if it has charts", async () => {
    expect("svg" in documentFormats[kind]).toBe((await loadKind(kind)).pictures !== undefined);
  });
});

it("a name such as constructor, which every object inherits, is no document kind", () => {
  for (const name of ["constructor", "toString", "", undefined]) expect(isDocumentName(name)).toBe(false);
});

const markup =
  "@org/team #1 ![x](https://evil.example/i.png) <img src=x onerror=y> | **ok** `code`\n```\n```\n# x";

/** What Markdown has no other use for than to obey a text; the tags are pinbench's own. */
const obeyed =
  /@org|#1 |(?<!\\)\[|(?<!\\):\/\/|(?<!\\)<(?!!-- -->|\/?(?:details|summary)>)|\*\*ok|(?<!\\)`code|^# x/m;
const fenced = /^(`{3,})\w*\n.*?^\1$/gms;

describe("control characters or markup in an untrusted document", async () => {
  it.each(await hostileTexts(control))(
    "are shown as escapes in the document %s drawn as %s",
    (kind, format, text) => {
      // Only what pinbench itself writes is left: line breaks.
      expect(text.match(/(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu)).toBeNull();
      // Code that a document holds has lines of its own.
      if (kind !== "pinning") expect(text).not.toMatch(/^=> all is well/m);
      if (["table", "csv", "junit", "github", "html"].includes(format))
        expect(text).toContain("N\\x1b[2J\\u202e");
      if (format === "markdown") expect(text).toContain("\\\\x1b");
    },
  );

  it("appear only in comments of a tuning's Python output", async () => {
    const text = await drawnAs(found("tuning", control), "python");
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(lines.filter((line) => !/^\w+=\w+,$/.test(line))).toEqual([]);
    expect(lines).not.toEqual([]);
  });

  it.each((await hostileTexts(markup)).filter(([, format]) => format === "markdown"))(
    "are plain text in Markdown of the document %s",
    (_, __, text) => {
      expect(text).toContain("evil.example");
      expect(text.replaceAll(fenced, "").match(obeyed)).toBeNull();
    },
  );

  it.each((await hostileTexts(markup)).filter(([, format]) => format === "html"))(
    "are plain text on an HTML page of the document %s",
    (_, __, text) => {
      expect(text).toContain("&lt;img src=x onerror=y&gt;");
      expect(text).not.toContain("<img");
    },
  );
});

it("a negative number in CSV is written as a number, not escaped like a formula", () => {
  const toy: DocumentKind<{ GBps: number }> = {
    schema: z.object({ GBps: z.number() }),
    report: () => ({ command: "toy", version: "1.0.0", name: "Toy", hasTerms: false, blocks: [] }),
    rows: ({ GBps }) => [["GBps"], [GBps], [-GBps]],
  };
  expect(drawn(toy, { GBps: 55 }, "csv")).toBe("GBps\n55\n-55\n");
});

describe("a folder of runs", () => {
  /** Written in the order of names, which is not that of measuring. */
  async function readBack(runs: readonly ResultDocument[]) {
    const folder = temporaryFolder();
    for (const [i, run] of runs.toReversed().entries())
      writeFileSync(join(folder, `${i}.json`), JSON.stringify(run));
    return (await readDocuments(folder)).map(({ document }) => document as ResultDocument);
  }
  const runs = buildRuns({ count: 3 });
  const ids = runs.map(({ run }) => run.id);

  it("is shown as one result of several processes, in the order of measuring", async () => {
    const [joined, ...others] = await readBack(runs);
    expect(others).toEqual([]);
    expect(joined!.run.startedAt).toBe(runs[0]!.run.startedAt);
    expect(joined!.run.runs!.map(({ id }) => id)).toEqual(ids);
  });

  it("with a run that itself joins several processes is shown run by run", async () => {
    const [first, ...others] = runs as [ResultDocument, ...ResultDocument[]];
    const processes = ["a", "b"].map((id) => ({ id, startedAt: first.run.startedAt, wallNs: 1e9 }));
    const several = { ...first, run: { ...first.run, runs: processes } };
    const shown = await readBack([several, ...others]);
    expect(shown.map(({ run }) => run.id)).toEqual(ids);
    expect(shown[0]!.run.runs).toEqual(processes);
  });

  it.each<[string, (run: ResultDocument, i: number) => Partial<ResultDocument>]>([
    ["three machines", ({ fingerprint }, i) => ({ fingerprint: { ...fingerprint, cpuModel: `CPU ${i}` } })],
    ["different cells", (_, i) => ({ cells: [buildCell({ workers: i + 1, GBps: 50 })] })],
    ["two backends", (_, i) => (i === 1 ? { backend: "emulated" } : {})],
    ["which one ended early", ({ run }, i) => (i === 1 ? { run: { ...run, status: "aborted" } } : {})],
    ["unknown devices", () => ({ devices: [] })],
  ])("of %s is shown run by run, in the order of measuring", async (_, part) => {
    const unlike = runs.map((run, i) => ({ ...run, ...part(run, i) }));
    expect((await readBack(unlike)).map(({ run }) => run.id)).toEqual(ids);
  });

  it("of the same cells in another order is shown as several processes", async () => {
    const [first, ...others] = buildRuns({ count: 3, cells: [{ GBps: 50 }, { GBps: 50, workers: 2 }] });
    const reversed = { ...first!, cells: first!.cells.toReversed() };
    expect(await readBack([reversed, ...others])).toHaveLength(1);
  });
});
