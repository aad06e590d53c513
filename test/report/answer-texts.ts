import { answer } from "../../src/report/findings/answer.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  type CellPart,
  type DocumentPart,
  ofFiveProcesses,
} from "../helpers/result-document.js";

/** The sentences of a document's answer. */
export const textsOf = (part: DocumentPart) => answer(buildDocument(part)).map(({ text }) => text);

/** Without a link, of which a sentence of its own would tell. */
export const noLink = { devices: [buildDevice({ link: null, linkLimitGBps: null })] };

/** Of five processes, whose intervals hold as they are. */
export const textsOfProcesses = (cells: CellResult[], part: DocumentPart = noLink) =>
  textsOf({ cells: cells.map(ofFiveProcesses), ...part });

/** The same copies from pageable and from pinned memory. */
export function pair(pageable: number, pinned: number, part: CellPart = {}): CellResult[] {
  return [
    buildCell({ ...part, memory: "pageable", GBps: pageable }),
    buildCell({ ...part, memory: "pinned", GBps: pinned }),
  ];
}
