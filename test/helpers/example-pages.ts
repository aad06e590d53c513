import { fileURLToPath } from "node:url";
import { differenceOf } from "../../src/kinds/difference.js";
import type { FoundDocument, KnownDocument } from "../../src/kinds/document-kinds.js";
import { pageOfDocuments } from "../../src/kinds/draw-documents.js";
import { readDocuments } from "../../src/kinds/read-documents.js";
import { buildSlowDiagnosis } from "./diagnosis.js";
import { buildLoad } from "./load.js";
import { buildPinning } from "./pinning.js";
import { comparison, fleet, history, slowed, tuning } from "./shown-documents.js";

/** Pages of every kind, as `pinbench show` draws them: of results recorded on a GPU, if there are any. */

async function recorded(name: string): Promise<FoundDocument[]> {
  const path = fileURLToPath(new URL(`../../results/nvidia-h200/${name}.json`, import.meta.url));
  return (await readDocuments(path)).map((one) => ({ ...one, path: `${name}.json` }));
}

const from = (path: string, one: KnownDocument): FoundDocument[] => [{ ...one, path }];

async function beforeAndAfter(): Promise<FoundDocument[]> {
  const [before] = await recorded("default");
  if (before?.kind !== "result") return [];
  const { document } = before;
  const run = { ...document.run, id: "later", startedAt: "2026-11-22T08:31:05.005Z" };
  return [
    { ...before, path: "before.json" },
    { ...before, path: "after.json", document: slowed({ ...document, run }) },
  ];
}

const examples: Readonly<Record<string, () => FoundDocument[] | Promise<FoundDocument[]>>> = {
  result: () => recorded("default"),
  results: beforeAndAfter,
  beside: () => recorded("at-once-beside"),
  together: () => recorded("at-once-together"),
  blocks: () => recorded("blocks"),
  explain: () => recorded("explain"),
  comparison: () => from("comparison.json", { kind: "comparison", document: comparison }),
  history: () => from("history", { kind: "history", document: history }),
  fleet: () => from("fleet.json", { kind: "fleet", document: fleet }),
  tune: () => from("tuning.json", { kind: "tuning", document: tuning }),
  doctor: () => from("doctor.json", { kind: "diagnosis", document: buildSlowDiagnosis() }),
  pin: () => from("pin.json", { kind: "pinning", document: buildPinning() }),
  load: () => from("load.json", { kind: "load", document: buildLoad() }),
};

export const exampleNames = Object.keys(examples);

export async function examplePage(name: string): Promise<string> {
  const found = await examples[name]!();
  return pageOfDocuments(found, await differenceOf(found));
}
