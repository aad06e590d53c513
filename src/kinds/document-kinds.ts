import type { Comparison } from "../compare/comparison.js";
import type { HistoryDocument } from "../compare/history-document.js";
import type { Diagnosis } from "../doctor/diagnosis.js";
import type { DocumentKind } from "../draw/document-kind.js";
import type { Explanation } from "../explain/explanation.js";
import type { FleetDocument } from "../fleet/fleet-document.js";
import type { Pinning } from "../pin/pinning-document.js";
import type { ResultDocument } from "../results/schema.js";
import type { Tuning } from "../results/tuning.js";
import type { DocumentName } from "../settings/document-formats.js";

/*
 * The kinds of documents. What each of them is stands in its feature's folder, and is loaded when it is needed; its
 * formats are in settings/document-formats.ts.
 */

/** The type of each kind's document. */
export interface DocumentOf extends Record<DocumentName, unknown> {
  result: ResultDocument;
  comparison: Comparison;
  history: HistoryDocument;
  fleet: FleetDocument;
  tuning: Tuning;
  diagnosis: Diagnosis;
  pinning: Pinning;
  explanation: Explanation;
}

const kinds: { readonly [Name in DocumentName]: () => Promise<DocumentKind<DocumentOf[Name]>> } = {
  result: async () => (await import("../report/result-report.js")).resultKind,
  comparison: async () => (await import("../compare/report/comparison-report.js")).comparisonKind,
  history: async () => (await import("../compare/report/history-report.js")).historyKind,
  fleet: async () => (await import("../fleet/report/fleet-report.js")).fleetKind,
  tuning: async () => (await import("../tune/report/tuning-formats.js")).tuningKind,
  diagnosis: async () => (await import("../doctor/diagnosis-report.js")).diagnosisKind,
  pinning: async () => (await import("../pin/pinning-report.js")).pinningKind,
  explanation: async () => (await import("../explain/explanation-report.js")).explanationKind,
};

/** A document with the name of its kind. */
export type KnownDocument = {
  [Name in DocumentName]: { kind: Name; document: DocumentOf[Name] };
}[DocumentName];

/** Loads what a kind of document is. */
export function loadKind<Name extends DocumentName>(name: Name): Promise<DocumentKind<DocumentOf[Name]>> {
  return kinds[name]();
}

/** Whether `value` names a kind, as the `kind` of a document does; a result has none. */
export function isDocumentName(value: unknown): value is DocumentName {
  return typeof value === "string" && Object.hasOwn(kinds, value);
}
