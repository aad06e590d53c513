import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { expectSentence } from "../helpers/baseline-folder.js";
import { buildCellComparisons, buildComparison, buildSlower } from "../helpers/comparison.js";
import { callCli } from "../helpers/in-process.js";
import { temporaryFolder } from "../helpers/run-cli.js";
import { documentNames, documents } from "../helpers/sample-documents.js";

const recorded = fileURLToPath(new URL("../../results/nvidia-h200/quick.json", import.meta.url));

function fileOf(kind: (typeof documentNames)[number], document: unknown = documents[kind]("node-1")): string {
  const path = join(temporaryFolder(), `${kind}.json`);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

it.each(documentNames)("prints a saved %s as a table, and as it was with --json", async (kind) => {
  const file = fileOf(kind);
  const table = await callCli(["show", file]);
  expect(table).toMatchObject({ exitCode: 0, stderr: "" });
  expect(table.stdout).toMatch(/^pinbench \S/);
  const { stdout } = await callCli(["show", file, "--json"]);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync(file, "utf8")));
});

it("prints several files one after the other, in formats of their kind", async () => {
  const { exitCode, stdout } = await callCli(["show", recorded, fileOf("pinning"), "--format", "markdown"]);
  expect(exitCode).toBe(0);
  expect(stdout.match(/^## pinbench[ a-z]*:/gm)).toEqual(["## pinbench:", "## pinbench pin:"]);
  expect((await callCli(["show", fileOf("tuning"), "--format", "env"])).stdout).toMatch(/^\w+=/);
});

it("shows all cells only with --all", async () => {
  const cells = [...buildCellComparisons(3), buildSlower()];
  const file = fileOf("comparison", buildComparison({ outcome: "regression", cells }));
  const shown = async (...flags: string[]) => (await callCli(["show", file, ...flags])).stdout;
  expect(await shown()).not.toContain("H2D pinned 16 MiB x2");
  expect(await shown("--all")).toContain("H2D pinned 16 MiB x2");
});

it("names the formats that a document has if the one that is asked for is none of them", async () => {
  const finished = await callCli(["show", fileOf("diagnosis"), "--format", "csv"]);
  expectSentence(
    finished,
    2,
    /has no format csv\. Use one of table, json, markdown, html, nhc, nagios, openmetrics\./,
  );
});

it("refuses what pinbench did not write", async () => {
  expectSentence(await callCli(["show", "nosuch.json"]), 2, /there is no such file/);
});
