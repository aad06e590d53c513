import type { DocumentKind } from "../draw/document-kind.js";
import type { DocumentName } from "../settings/document-formats.js";

/*
 * The kinds of documents, loaded on demand. Each is defined in its feature's folder; settings/document-formats.ts has
 * its formats.
 */

const kinds = {
  result: async () => (await import("../report/result-report.js")).resultKind,
  comparison: async () => (await import("../compare/report/comparison-report.js")).comparisonKind,
  history: async () => (await import("../compare/report/history-report.js")).historyKind,
  fleet: async () => (await import("../fleet/report/fleet-report.js")).fleetKind,
  tuning: async () => (await import("../tune/report/tuning-formats.js")).tuningKind,
  diagnosis: async () => (await import("../doctor/diagnosis-report.js")).diagnosisKind,
  pinning: async () => (await import("../pin/pinning-report.js")).pinningKind,
  load: async () => (await import("../load/load-report.js")).loadKind,
  explanation: async () => (await import("../explain/explanation-report.js")).explanationKind,
  trace: async () => (await import("../trace/trace-report.js")).traceKind,
} satisfies Record<DocumentName, () => Promise<unknown>>;

export type DocumentOf = {
  [Name in DocumentName]: Awaited<ReturnType<(typeof kinds)[Name]>> extends DocumentKind<infer Document>
    ? Document
    : never;
};

export type KnownDocument = {
  [Name in DocumentName]: { kind: Name; document: DocumentOf[Name] };
}[DocumentName];

export function loadKind<Name extends DocumentName>(name: Name): Promise<DocumentKind<DocumentOf[Name]>> {
  const loads: { readonly [One in DocumentName]: () => Promise<DocumentKind<DocumentOf[One]>> } = kinds;
  return loads[name]();
}

/** Whether `value` names a kind. "result" does too, although result documents have no `kind`. */
export function isDocumentName(value: unknown): value is DocumentName {
  return typeof value === "string" && Object.hasOwn(kinds, value);
}

/** A document and its path; null for a new one. */
export type FoundDocument = KnownDocument & { path: string | null };
