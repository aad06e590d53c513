import { asciiText, printableText } from "../../draw/printable-text.js";
import { counted } from "../../draw/words.js";
import { groupBy } from "../../stats/group-by.js";
import type { FleetDocument } from "../fleet-document.js";
import { lossText } from "../fleet-wording.js";
import { fleetCellNames, slowPart } from "./fleet-text.js";

/** Output for Slurm: a list of nodes to avoid, and commands that drain them. */

/**
 * Nodes that are slow, incomplete or have no valid result, compressed on one line, which may be empty. Leaves
 * out names that are no host names, and unreadable results, whose nodes are unknown.
 */
export function nodeListReport(document: FleetDocument): string {
  return `${nodeList(badNodes(document).flatMap(({ host }) => (isListable(host) ? [host] : [])))}\n`;
}

export function unlistedHosts(document: FleetDocument): string[] {
  return badNodes(document).flatMap(({ host }) => (isListable(host) ? [] : [host]));
}

/**
 * Shell commands that drain nodes in Slurm, one per reason, for the user to run. They are commented out if most nodes
 * are bad, and for the slower part of a group.
 */
export function drainReport(document: FleetDocument): string {
  const { notice, nodes, groups } = document;
  const bad = badNodes(document).filter(({ host }) => isListable(host));
  const isMost = bad.length > 1 && 2 * bad.length > nodes.length;
  const named = new Set(bad.map(({ host }) => host));
  const parts = groups.flatMap(({ slowPart: part }) => part?.hosts ?? []);
  const others = parts.filter((host) => isListable(host) && !named.has(host));
  const commands = [...groupBy(bad, ({ reason }) => reason)].map(([reason, ofReason]) => {
    const hosts = ofReason.map(({ host }) => host);
    return `${isMost ? "# " : ""}${drainLine(hosts, reason)}`;
  });
  const common = `${bad.length} of ${counted(nodes.length, "node")} are bad: look for a common cause (the run, driver, firmware, power, cooling) before most of the fleet is drained`;
  const lines = [
    ...(notice === null ? [] : [comment(notice)]),
    ...(isMost ? [comment(common)] : []),
    ...commands,
    ...(others.length === 0 ? [] : [comment("the slower of two parts of their group:")]),
    ...(others.length === 0 ? [] : [`# ${drainLine(others, "slower part of its group")}`]),
    ...unlistedHosts(document).map((host) =>
      comment(`left out, because it is not the name of a host: ${host}`),
    ),
    ...(bad.length + others.length === 0 ? [comment("no node needs to be drained")] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Both values are in double quotes, and contain no special characters: isListable() checks names, quotable() cleans
 * reasons.
 */
function drainLine(hosts: readonly string[], reason: string): string {
  return `scontrol update nodename="${nodeList(hosts)}" state=drain reason="pinbench: ${quotable(reason)}"`;
}

/** A comment line; line breaks in the text are escaped. */
function comment(text: string): string {
  return `# ${asciiText(printableText(text))}`;
}

/** The text in ASCII, with blanks for characters that are special in a shell or in Slurm. */
function quotable(text: string): string {
  const safe = asciiText(printableText(text)).replaceAll(/[^A-Za-z0-9 .,:;%/+()_-]/g, " ");
  return safe.replaceAll(/ +/g, " ").trim();
}

/** Nodes to avoid, slow ones first, each with its largest loss or its state. */
function badNodes(document: FleetDocument): { host: string; reason: string }[] {
  const nameOf = fleetCellNames(document);
  const slow = groupBy(document.outliers, ({ host }) => host);
  const lacking = document.nodes.filter(
    ({ state, host }) => state !== "measured" && state !== "unreadable" && !slow.has(host),
  );
  return [
    ...[...slow].map(([host, outliers]) => {
      const [cell] = outliers[0]!.cells;
      const reason = `${slowPart(outliers)} ${lossText(-cell!.change)} slower (${nameOf(cell!)})`;
      return { host, reason };
    }),
    ...lacking.map(({ host, state }) => ({ host, reason: state })),
  ];
}

/**
 * Host names that are not special in Slurm lists or a shell: letters, digits, dots, hyphens and underscores, beginning
 * with a letter or digit.
 */
const listableName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** scontrol reads this name, in upper or lower case, as all nodes (read_config.c, nodespec_to_hostlist()). */
const allNodes = /^all$/i;

/** Whether a name is safe in a node list; others could be read as several nodes, or be executed. */
export function isListable(host: string): boolean {
  return listableName.test(host) && !allNodes.test(host);
}

/**
 * The listable names, each once, in Slurm's format (its hostlist.c): names that differ only in their last number share
 * brackets, "login1,n[01-03,07]". Leading zeros are part of the name.
 */
export function nodeList(hosts: Iterable<string>): string {
  const families = groupBy(new Set(hosts), (host) => host.replace(/\d+$/, "#"));
  const parts = [...families].map(([family, members]) => {
    if (members.length === 1) return members[0]!;
    const prefix = family.slice(0, -1);
    return `${prefix}[${spansOf(members.map((host) => host.slice(prefix.length))).join(",")}]`;
  });
  return parts.sort().join(",");
}

/** Ranges of consecutive numbers with equal width: 8 and 08 differ. */
function spansOf(numbers: readonly string[]): string[] {
  const spans: [first: string, last: string][] = [];
  for (const next of numbers.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))) {
    const span = spans.at(-1);
    if (span?.[1].length === next.length && BigInt(span[1]) + 1n === BigInt(next)) span[1] = next;
    else spans.push([next, next]);
  }
  return spans.map(([first, last]) => (first === last ? first : `${first}-${last}`));
}
