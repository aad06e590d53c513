import { type Note, note } from "../../draw/report.js";
import { counted, listed, withoutFullStop } from "../../draw/words.js";
import { groupBy } from "../../stats/group-by.js";
import type { FleetDocument, FleetNode } from "../fleet-document.js";
import { lossText, someOf } from "../fleet-wording.js";
import { isListable, nodeList } from "./drain-lines.js";
import { lackingNodes, slowPart } from "./fleet-text.js";

const mostSentences = 3;

/**
 * The conclusions: wrong data, slow nodes, a slower part of a group, and nodes without a valid, complete or comparable
 * result. `shown` ones are the headline, `others` are notes.
 */
export function fleetAnswers(document: FleetDocument): { shown: Note[]; others: Note[] } {
  const all = [
    ...wrongNotes(document),
    ...slowNotes(document),
    ...partNotes(document),
    ...lackingNotes(document),
    ...aloneNotes(document),
  ];
  return { shown: all.slice(0, mostSentences), others: all.slice(mostSentences) };
}

function wrongNotes(document: FleetDocument): Note[] {
  const wrong = document.nodes.filter(({ state }) => state === "wrong data");
  if (wrong.length === 0) return [];
  return [
    note(`${counted(wrong.length, "node")} copied wrong data: ${nodesText(wrong)}: isolate`, "mismatch"),
  ];
}

function slowNotes({ nodes, groups, outliers }: FleetDocument): Note[] {
  const judged = nodes.filter(({ group }) => group !== null).length;
  if (judged === 0) return [note("no node has figures to judge", "failure")];
  const count = nodes.filter(({ compared }) => compared).length;
  if (outliers.length > 0)
    return [slowNote(outliers, counted(count, count === judged ? "node" : "compared node"))];
  if (count === 0 || groups.some(({ slowPart }) => slowPart !== null)) return [];
  return [note(`none is slow: ${counted(count, "node")} compared`)];
}

function slowNote(outliers: FleetDocument["outliers"], compared: string): Note {
  const byHost = [...groupBy(outliers, ({ host }) => host)];
  // "GPU 3 of n07 (50.0 % slower)".
  const described = byHost.map(
    ([host, slow]) => `${slowPart(slow)} of ${host} (${lossText(-slow[0]!.cells[0]!.change)} slower)`,
  );
  const verb = byHost.length === 1 ? "is" : "are";
  const unconfirmed = outliers.some(({ confirmed }) => confirmed === null);
  const found = `${byHost.length} of ${compared} ${verb} slow: ${someOf(described)}`;
  return note(`${found}, ${unconfirmed ? "not confirmed: measure again" : "confirmed"}`, "failure");
}

function partNotes({ groups }: FleetDocument): Note[] {
  return groups.flatMap(({ slowPart }, index) =>
    slowPart === null ? [] : [groupNote(slowPart.reason, index, groups, "failure")],
  );
}

function lackingNotes(document: FleetDocument): Note[] {
  const lacking = lackingNodes(document).filter(([state]) => state !== "wrong data");
  const count = lacking.reduce((sum, [, nodes]) => sum + nodes.length, 0);
  if (count === 0) return [];
  const states = lacking.map(([state, nodes]) => `${nodes.length} ${state} (${nodesText(nodes)})`);
  const verb = count === 1 ? "has" : "have";
  const all = counted(document.nodes.length, "node");
  return [note(`${count} of ${all} ${verb} no complete result: ${listed(states)}`, "failure")];
}

function aloneNotes({ nodes }: FleetDocument): Note[] {
  const judged = nodes.filter(({ group }) => group !== null);
  const alone = judged.filter(({ compared }) => !compared);
  if (alone.length === 0) return [];
  const text = `no similar node and no reference to compare ${alone.length} of ${counted(judged.length, "node")} with: ${nodesText(alone)}`;
  return [note(alone.length === judged.length ? `undecided: ${text}` : text, "warning")];
}

/** A sentence on a group, with its number if there are several. */
export function groupNote(text: string, index: number, groups: readonly unknown[], tone: Note["tone"]): Note {
  return note(`${groups.length > 1 ? `group ${index + 1}: ` : ""}${withoutFullStop(text)}`, tone);
}

const mostListed = 36;

/** Node names, compressed if all are host names; only the first ones if they do not fit on a line. */
export function nodesText(nodes: readonly Pick<FleetNode, "host">[]): string {
  const hosts = [...new Set(nodes.map(({ host }) => host))];
  const text = hosts.every(isListable) ? nodeList(hosts) : hosts.join(", ");
  return text.length <= mostListed ? text : someOf(hosts);
}
