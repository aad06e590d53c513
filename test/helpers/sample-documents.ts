import { describeHistory } from "../../src/compare/history/trends.js";
import type { DocumentKind } from "../../src/draw/document-kind.js";
import {
  type DocumentOf,
  type FoundDocument,
  type KnownDocument,
  loadKind,
} from "../../src/kinds/document-kinds.js";
import { pageOfDocuments } from "../../src/kinds/draw-documents.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import { checkedResult } from "../../src/results/parse.js";
import { type DocumentName, documentFormats, formatNames } from "../../src/settings/document-formats.js";
import { buildComparison, buildGroup } from "./comparison.js";
import { buildSlowDiagnosis } from "./diagnosis.js";
import { drawn } from "./drawn.js";
import { buildExplanation } from "./explanation.js";
import { buildFleet, buildLacking, buildNode, buildOutlier } from "./fleet.js";
import { buildEntry } from "./history.js";
import { buildLoad } from "./load.js";
import { buildPinning, buildUnmeasured, h200Pools } from "./pinning.js";
import { buildCell, buildDevice, buildDocument, buildFailed, buildHost } from "./result-document.js";
import { buildProcess, buildTrace, buildTraced } from "./trace.js";
import { buildTuning } from "./tuning.js";

/** A document of each kind, with the text as each text and key that its builders take. */
export const documents: { readonly [Name in DocumentName]: (text: string) => DocumentOf[Name] } = {
  result: (text) =>
    buildDocument({
      devices: [buildDevice({ name: text })],
      host: buildHost({ hostname: text, cpuModel: text }),
      fingerprint: { kernel: text },
      cells: [buildCell({ GBps: 55 }), buildFailed({ sizeBytes: 1024 }, text, text)],
    }),
  comparison: (text) =>
    buildComparison({
      outcome: "regression",
      groups: [
        buildGroup({ ids: [text] }),
        buildGroup({ direction: "d2h", kind: text, change: -0.1, verdict: "slower", reason: text }),
      ],
      notes: [text],
      baseline: { ...buildComparison().baseline, path: text, deviceNames: [text] },
      candidate: { ...buildComparison().candidate, path: text, fingerprint: { [text]: text } },
    }),
  history: (text) => {
    const machine = { hostName: [text], gpuUuids: [text], pciAddresses: [text] };
    const entries = [buildEntry(1), buildEntry(2, { machine, fingerprint: { [text]: text } })];
    return describeHistory({
      version: "0.1.0",
      path: text,
      history: { entries, notes: [text] },
      cells: null,
    });
  },
  fleet: (text) =>
    buildFleet({
      notice: text,
      nodes: [
        buildNode(text, { labels: { [text]: text }, notes: [text], runId: text, file: text }),
        buildLacking(`2${text}`, "failed", text),
        buildLacking(`3${text}`, "unreadable", text),
      ],
      outliers: [buildOutlier(text, { evidence: [text] })],
      cleared: [buildOutlier(text, { confirmed: false })],
      group: {
        facts: { gpu: text },
        slowPart: { hosts: [text], change: -0.5, reason: text, action: "monitor" },
        notes: [text],
      },
      notes: [text],
    }),
  tuning: (text) =>
    buildTuning({
      probe: { source: text },
      recommendation: { setting: usualSetting(8, true) },
      skipped: [{ setting: usualSetting(4, true), reason: text }],
    }),
  diagnosis: (text) => ({ ...buildSlowDiagnosis(), labels: { [text]: text } }),
  pinning: (text) =>
    buildPinning([...h200Pools, buildUnmeasured({ way: "register-hugetlb", threads: 1 }, "refused", text)], {
      labels: { [text]: text },
      others: [text],
    }),
  load: (text) => buildLoad({ host: text, others: [text] }),
  explanation: () => buildExplanation(),
  trace: (text) => {
    const more = { rank: text, error: text, cupti: text, isComplete: false, isSilent: true };
    const processes = [buildProcess([buildTraced({ call: text, range: text })], more), buildProcess()];
    return buildTrace(processes, { host: text, command: text, pinnedRates: text });
  },
};

/** The same documents, with the text as each other text that their schemas leave open. */
async function hostileDocument(kind: DocumentName, text: string): Promise<KnownDocument> {
  const document: unknown = structuredClone(documents[kind](text));
  const { schema } = await loadKind(kind);
  const isValid = () => {
    if (kind !== "result") return schema.safeParse(document).success;
    try {
      checkedResult(document, "it");
      return true;
    } catch {
      return false;
    }
  };
  const replace = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const holder = value as Record<string, unknown>;
    for (const [key, old] of Object.entries(holder)) {
      if (typeof old !== "string") {
        replace(old);
        continue;
      }
      holder[key] = text;
      if (!isValid()) holder[key] = old;
    }
  };
  replace(document);
  return { kind, document } as KnownDocument;
}

/** Drawings of documents with this text, of each kind in each format except JSON. */
export async function hostileTexts(
  text: string,
): Promise<[kind: DocumentName, format: string, drawn: string][]> {
  const all = documentNames.map(async (kind) => {
    const known = await hostileDocument(kind, text);
    const formats = formatNames(kind).filter((format) => !["json", "reference"].includes(format));
    return Promise.all(
      formats.map(
        async (format): Promise<[DocumentName, string, string]> => [
          kind,
          format,
          await drawnAs({ ...known, path: text }, format),
        ],
      ),
    );
  });
  return (await Promise.all(all)).flat();
}

/** The names of all kinds. */
export const documentNames = Object.keys(documentFormats) as DocumentName[];

/** A document of any kind in one of its formats. */
export async function drawnAs(found: FoundDocument, format: string): Promise<string> {
  if (format === "html") return pageOfDocuments([found]);
  const kind = (await loadKind(found.kind)) as DocumentKind<unknown>;
  return drawn(kind, found.document, format);
}
