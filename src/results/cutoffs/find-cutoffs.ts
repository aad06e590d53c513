import { type BlockCell, blockColumns } from "./block-columns.js";
import { cutoffsOf, verdictsOf } from "./block-cutoffs.js";
import type { BlockCutoffs, BlockWayRecord } from "./cutoff-schema.js";

/** What the cells of a search tell, a column for each number of blocks. */
export function findBlockCutoffs(cells: readonly BlockCell[]): BlockCutoffs[] {
  return blockColumns(cells).map((column) => {
    const { sizes: _, ...route } = column;
    const verdicts = verdictsOf(column);
    return {
      ...route,
      sizes: verdicts.map(({ bytes, fastest, best }) => ({
        blockBytes: bytes,
        fastest: wayOf(fastest.cell),
        isCertain: best !== null,
      })),
      cutoffs: cutoffsOf(verdicts).map(({ below, above, ...sizes }) => ({
        ...sizes,
        below: wayOf(below.cell),
        above: wayOf(above.cell),
      })),
    };
  });
}

function wayOf({ blockWay, blockSms }: BlockCell): BlockWayRecord {
  return { way: blockWay!, multiprocessors: blockSms ?? null };
}
