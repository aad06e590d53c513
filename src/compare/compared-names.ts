import { cellNames, groupName as nameOfGroup } from "../results/naming/wording.js";
import type { CellComparison, Comparison, GroupComparison } from "./comparison.js";

export type NameOfCompared = (cell: CellComparison) => string;

export function comparedNames({ cells }: Pick<Comparison, "cells">): NameOfCompared {
  const names = cellNames(cells.map(({ id }) => id));
  return ({ id, moved }) => names(id, moved);
}

export function groupName(group: GroupComparison, groups: readonly GroupComparison[]): string {
  const isOneOfSeveral = groups.some((other) => other.device !== group.device);
  return nameOfGroup(group, isOneOfSeveral ? group.device : null);
}
