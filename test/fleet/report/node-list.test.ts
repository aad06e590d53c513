import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isListable, nodeList } from "../../../src/fleet/report/drain-lines.js";
import { trialSeed } from "../../helpers/trials.js";

/** What `scontrol show hostlistsorted` of Slurm 22.05 makes of the same names. */
const asSlurm: readonly (readonly [string, string])[] = [
  ["n01,n02,n03,n07,login1", "login1,n[01-03,07]"],
  ["rack1n01,rack1n02,rack2n01", "rack1n[01-02],rack2n01"],
  ["n9,n10,n11", "n[9-11]"],
  ["n11,n09,n10", "n[09-11]"],
  ["n099,n100,n101", "n[099-101]"],
  ["n99,n100", "n[99-100]"],
  ["n3,n1,n10,n5,n4", "n[1,3-5,10]"],
  ["n8,n9,n10,n08,n09", "n[8-10,08-09]"],
  ["n00,n0,n000", "n[0,00,000]"],
  ["n,n0,n1", "n,n[0-1]"],
  ["b1,a2,a1,a,a-1", "a,a[1-2],a-1,b1"],
  ["n1.a,n2.a", "n1.a,n2.a"],
  ["n_1,n-1,n.1,n1", "n1,n-1,n.1,n_1"],
  ["b,B,a,C", "B,C,a,b"],
  ["001,002", "[001-002]"],
];

describe("a list of nodes", () => {
  it.each(asSlurm)("is written as Slurm does: %s is %s", (names, list) => {
    expect(nodeList(names.split(","))).toBe(list);
  });

  it("has each node once, and is empty for none", () => {
    expect(nodeList(["n2", "n1", "n2"])).toBe("n[1-2]");
    expect(nodeList([])).toBe("");
  });

  it("puts no number that has lost a zero into a range: its names would be others", () => {
    expect(nodeList(["n009", "n10"])).toBe("n[009,10]");
    expect(nodeList(["n09", "n010"])).toBe("n[09,010]");
  });

  it("does not shorten a number with too many digits to be exact", () => {
    expect(nodeList(["n9007199254740992000", "n9007199254740993000"])).toBe(
      "n9007199254740992000,n9007199254740993000",
    );
  });

  it("names the nodes that it was made of, whatever zeros their numbers have", () => {
    const host = fc
      .tuple(fc.constantFrom("n", "rack1n", "gpu-", "a.b"), fc.nat(1200), fc.integer({ min: 1, max: 5 }))
      .map(([prefix, number, width]) => prefix + String(number).padStart(width, "0"));
    fc.assert(
      fc.property(fc.array(host, { maxLength: 60 }), (hosts) => {
        expect(expanded(nodeList(hosts)).sort()).toEqual([...new Set(hosts)].sort());
      }),
      { seed: trialSeed },
    );
  });
});

/** The names of a list, as Slurm's manual says how to read one: a range has the width of its first number. */
function expanded(list: string): string[] {
  const parts = list.match(/[^,[]+(\[[^\]]*\])?|\[[^\]]*\]/g) ?? [];
  return parts.flatMap((part) => {
    const [, prefix = "", spans] = /^([^[]*)\[(.*)\]$/.exec(part) ?? [];
    if (spans === undefined) return [part];
    return spans.split(",").flatMap((span) => {
      const [first = "", last = first] = span.split("-");
      const count = Number(last) - Number(first) + 1;
      return Array.from(
        { length: count },
        (_, i) => prefix + String(Number(first) + i).padStart(first.length, "0"),
      );
    });
  });
}

describe("a name that may stand in a list", () => {
  it.each(["n07", "login1", "gpu-01.cluster.example", "NODE_3", "10"])("is a host's, such as %s", (name) => {
    expect(isListable(name)).toBe(true);
  });

  it.each([
    "",
    "-n1",
    "n1,n2",
    "n[1-3]",
    "n1 n2",
    "n1\nn2",
    "$(rm -rf .)",
    "`id`",
    'n"1',
    "n'1",
    "n;1",
    "n*",
    "ALL",
    "all",
    "All",
    "ALL\u202e",
    "\u001b[2J",
    "ñ1",
    "n".repeat(254),
  ])("is none that Slurm or a shell would obey: %j", (name) => {
    expect(isListable(name)).toBe(false);
  });
});
