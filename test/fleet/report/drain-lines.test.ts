import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../../src/draw/screen.js";
import { isListable, nodeList } from "../../../src/fleet/report/drain-lines.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { drawn } from "../../helpers/drawn.js";
import { buildFleet, buildLacking, buildMixedFleet, buildOutlier, pinnedTo } from "../../helpers/fleet.js";
import { trialSeed } from "../../helpers/trials.js";

const drain = (...args: Parameters<typeof buildFleet>) =>
  drawn(fleetKind, buildFleet(...args), "drain", fileScreen());
const list = (...args: Parameters<typeof buildFleet>) =>
  drawn(fleetKind, buildFleet(...args), "nodelist", fileScreen());

const healthy = Array.from({ length: 9 }, (_, i) => `n0${i + 1}`);
const hostile = [
  ...["$(touch /tmp/x)", "`id`", 'a" b', "n1\nscontrol shutdown", "\u202en", "\u001b[2J", "n[1-9]", "--all"],
  ...["ALL", "all", "aLl", "n1,n2"],
];

describe("the list of bad nodes", () => {
  it("has all nodes that are slow or have no valid result", () => {
    expect(drawn(fleetKind, buildMixedFleet(), "nodelist", fileScreen())).toBe("n[007,042,097-100]\n");
  });

  it("has no node whose result is unknown, and no suspect that was cleared", () => {
    expect(
      list({
        nodes: [...healthy, buildLacking("broken.json", "unreadable", "It is no JSON.")],
        cleared: [buildOutlier("n03", { confirmed: false })],
      }),
    ).toBe("\n");
  });
});

describe("lines that drain nodes", () => {
  it("have the slowest of several slow GPUs, and the number of the others", () => {
    const worse = [0.75, 0.1].map((loss) => {
      return { ...pinnedTo, figure: 55.4 * (1 - loss), expected: 55.4, change: -loss };
    });
    const outliers = [buildOutlier("n02", { device: 3, cells: worse }), buildOutlier("n02", { device: 0 })];
    expect(drain({ outliers })).toContain('"pinbench: GPU 3 and 1 more GPU 75.0 % slower (H2D pinned');
  });

  it("have a reason each, in the words of the report", () => {
    expect(drawn(fleetKind, buildMixedFleet(), "drain", fileScreen())).toBe(
      `scontrol update nodename="n007" state=drain reason="pinbench: GPU 1 50.0 % slower (H2D pinned 64 MiB)"
scontrol update nodename="n042" state=drain reason="pinbench: all GPUs 11.1 % slower (D2H pinned 64 MiB)"
scontrol update nodename="n097" state=drain reason="pinbench: late"
scontrol update nodename="n[098-099]" state=drain reason="pinbench: missing"
scontrol update nodename="n100" state=drain reason="pinbench: wrong data"
`,
    );
  });

  it("are replaced by a comment if no node is to be drained", () => {
    expect(drain()).toBe("# no node needs to be drained\n");
  });

  it("are comments if most nodes are bad: a common cause is not mended by draining them", () => {
    const slow = (...hosts: string[]) => hosts.map((host) => buildOutlier(host));
    const missing = (...hosts: string[]) =>
      hosts.map((host) => buildLacking(host, "missing", "Nothing came."));
    expect(drain({ outliers: slow("n01", "n02", "n03") }).split("\n")).toEqual([
      "# 3 of 4 nodes are bad: look for a common cause (the run, driver, firmware, power, cooling) before most of the fleet is drained",
      expect.stringMatching(/^# scontrol update nodename="n\[01-03\]" /),
      "",
    ]);
    expect(drain({ nodes: ["n1", ...missing("n2", "n3")], outliers: slow("n1") })).toMatch(
      /^# 3 of 3 .*\n# scontrol .*"n1" .*\n# scontrol .*"n\[2-3\]" .*\n$/,
    );
    expect(drain({ outliers: slow("n01", "n02") })).toMatch(/^scontrol update nodename="n\[01-02\]" /);
    // A single node has no common cause with others.
    expect(drain({ nodes: ["n01"], outliers: slow("n01") })).toMatch(/^scontrol update nodename="n01" /);
  });

  it("are comments for the slower part of a group, as figures do not show which part is at fault", () => {
    const slowPart = {
      hosts: ["n01", "n02"],
      change: -0.5,
      reason: "The nodes fall into two parts.",
      action: "monitor" as const,
    };
    expect(drain({ group: { slowPart } })).toBe(
      `# the slower of two parts of their group:
# scontrol update nodename="n[01-02]" state=drain reason="pinbench: slower part of its group"
`,
    );
  });

  it("leave out nodes of the slower part that are already drained, and invalid host names", () => {
    const hosts = ["n01", "n02", "n[1-9]"];
    const slowPart = {
      hosts,
      change: -0.5,
      reason: "The nodes fall into two parts.",
      action: "monitor" as const,
    };
    const text = drain({
      nodes: [...healthy, "n[1-9]"],
      outliers: [buildOutlier("n01")],
      group: { slowPart },
    });
    expect(text.match(/nodename="[^"]*"/g)).toEqual(['nodename="n01"', 'nodename="n02"']);
  });

  it("begin with the notice of emulated devices", () => {
    expect(drain({ notice: "These are no GPUs.", outliers: [buildOutlier("n01")] })).toMatch(
      /^# These are no GPUs\.\nscontrol /,
    );
  });

  it("say which names are left out, on a line that does nothing", () => {
    const text = drain({
      nodes: [...healthy, ...hostile],
      outliers: hostile.map((host) => buildOutlier(host)),
    });
    expect(text.match(/^scontrol/gm)).toBeNull();
    expect(text).toContain("# left out, because it is not the name of a host: n1\\nscontrol shutdown\n");
    expect(text.split("\n").filter((line) => line !== "" && !line.startsWith("# "))).toEqual([]);
  });

  it("make a shell run only scontrol, whatever a cell is called", () => {
    const cell = 'x";$(touch hacked)`id`\\\u001b\n!!*';
    const [outlier] = [buildOutlier("n05")];
    const text = drain({
      nodes: healthy,
      outliers: [{ ...outlier, cells: [{ ...outlier.cells[0]!, cell }] }],
    });
    const program = `scontrol() { printf "%s|" "$@"; }\n${text}`;
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", program], { encoding: "utf8" });
    expect({ stdout, stderr }).toEqual({
      stdout: expect.stringMatching(
        /^update\|nodename=n05\|state=drain\|reason=pinbench: GPU 1 50\.0 % slower \([\w .;:%/+()-]*\)?\|$/,
      ),
      stderr: "",
    });
  });
});

/** Names, and their list in Slurm's syntax. */
const asSlurm: readonly (readonly [string, string])[] = [
  ["n01,n02,n03,n07,login1", "login1,n[01-03,07]"],
  ["rack1n01,rack1n02,rack2n01", "rack1n[01-02],rack2n01"],
  ["n9,n10,n11", "n[9,10-11]"],
  ["n11,n09,n10", "n[09-11]"],
  ["n099,n100,n101", "n[099-101]"],
  ["n99,n100", "n[99,100]"],
  ["n3,n1,n10,n5,n4", "n[1,3-5,10]"],
  ["n8,n9,n10,n08,n09", "n[8-9,08-10]"],
  ["n00,n0,n000", "n[0,00,000]"],
  ["n,n0,n1", "n,n[0-1]"],
  ["b1,a2,a1,a,a-1", "a,a-1,a[1-2],b1"],
  ["n1.a,n2.a", "n1.a,n2.a"],
  ["n_1,n-1,n.1,n1", "n-1,n.1,n1,n_1"],
  ["b,B,a,C", "B,C,a,b"],
  ["001,002", "[001-002]"],
];

describe("a list of nodes", () => {
  it.each(asSlurm)("is in Slurm's syntax: %s is %s", (names, list) => {
    expect(nodeList(names.split(","))).toBe(list);
  });

  it("has each node once, and is empty for none", () => {
    expect(nodeList(["n2", "n1", "n2"])).toBe("n[1-2]");
    expect(nodeList([])).toBe("");
  });

  it("has no range of numbers with different leading zeros, which would change names", () => {
    expect(nodeList(["n009", "n10"])).toBe("n[10,009]");
    expect(nodeList(["n09", "n010"])).toBe("n[09,010]");
  });

  it("stands for exactly the given nodes, whatever zeros their numbers have", () => {
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

/** The names of a list by Slurm's manual: a range has the width of its first number. */
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

it.each(["n07", "login1", "gpu-01.cluster.example", "NODE_3", "10"])(
  "the node name %s is allowed in a list",
  (name) => {
    expect(isListable(name)).toBe(true);
  },
);

it.each([...hostile, ...["", "-n1", "n1 n2", "n'1", "n;1", "n*", "All", "ALL\u202e", "ñ1", "n".repeat(254)]])(
  "a node name that Slurm or a shell would interpret is not allowed in a list: %j",
  (name) => {
    expect(isListable(name)).toBe(false);
  },
);
