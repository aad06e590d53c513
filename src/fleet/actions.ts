import type { Action, FleetNode, FleetOutlier } from "./fleet-document.js";

/** A loss from which on jobs are not to go there. */
const isolatedFrom = 0.1;

/** What to do about a slow GPU or node: one whose link has trained down comes back by a reset. */
export function actionOnOutlier({
  cells,
  confirmed,
  isTrainedDown,
}: Pick<FleetOutlier, "cells" | "confirmed"> & { isTrainedDown: boolean }): Action {
  if (confirmed === false) return "none";
  if (isTrainedDown) return "reset";
  const most = Math.max(...cells.map(({ change }) => -change));
  return most >= isolatedFrom ? "isolate" : "monitor";
}

/** What to do about a node by what became of it. */
export function actionOnNode(state: FleetNode["state"]): Action {
  if (state === "wrong data") return "isolate";
  if (state === "failed" || state === "late" || state === "missing") return "reset";
  return state === "unreadable" ? "monitor" : "none";
}
