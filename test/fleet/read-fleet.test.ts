import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NodeFigures } from "../../src/fleet/node-figures.js";
import { readFleet } from "../../src/fleet/read-fleet.js";
import { judged, manifest, nodeResult, nodeResults, pinnedAt } from "../helpers/node-results.js";
import { buildMismatch } from "../helpers/result-document.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pinbench-test-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a document, or a text as it is, and returns the path. */
function write(name: string, content: object | string): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  return path;
}

const described = (nodes: readonly NodeFigures[]) =>
  nodes.map(({ host, state, reason }) => [host, state, reason]);

describe("results of nodes", () => {
  it("are read once from files, and from folders with all subfolders", async () => {
    const results = nodeResults(4);
    write("rack1/n00.json", results[0]!);
    write("rack1/more/n01.json", results[1]!);
    const file = write("n02.json", results[2]!);
    symlinkSync(write("elsewhere/n03.json", results[3]!), join(folder, "rack1/linked.json"));
    const fleet = await readFleet([join(folder, "rack1"), file, file]);
    expect(fleet.nodes.map(({ host }) => host)).toEqual(["n00", "n01", "n02", "n03"]);
    expect(fleet.fresh).toEqual([]);
    const asRead = fleet.nodes.map((node) => ({ ...node, file: null }));
    expect(judged([], { nodes: asRead })).toEqual(judged(results));
    expect(fleet.nodes[2]!.file).toBe(file);
  });

  it("are missing with the reason of the latest launch, if several launches lack them", async () => {
    const [early, late] = ["2026-11-20", "2026-11-21"].map((day) => `${day}T10:00:00.000Z`);
    const lost = (reason: string) => manifest([{ host: "n1", state: "failed", reason }]);
    // The order of folder names is the opposite.
    write("a/fleet-run.json", { ...lost("It was on Saturday."), startedAt: late });
    write("b/fleet-run.json", { ...lost("It was on Friday."), startedAt: early });
    expect(described((await readFleet([folder])).nodes)).toEqual([["n1", "failed", "It was on Saturday."]]);
  });

  it("are found among other documents and files, which are ignored", async () => {
    write("n00.json", nodeResult("n00"));
    write("fleet.json", judged(nodeResults(2)));
    const others = ["comparison", "tuning", "history", "baseline", "diagnosis", "explanation", "pinning"];
    for (const kind of [...others, "fleet-run"]) write(`${kind}.json`, { kind, schemaVersion: 1 });
    write(".n01.json", nodeResult("n01"));
    write(".fleet-run/order.json", { schemaVersion: 1, settings: {} });
    write("n02.json.partial", nodeResult("n02"));
    write("notes.txt", "none");
    symlinkSync(folder, join(folder, "circle"));
    expect(described((await readFleet([folder])).nodes)).toEqual([["n00", "measured", null]]);
  });

  it("that cannot be read are listed with the reason, and the others are read", async () => {
    write("n00.json", nodeResult("n00"));
    const [odd, without, twice] = ["n05", "n06", "n07"].map((host) => nodeResult(host));
    const [cell] = odd!.cells;
    const unread: [name: string, content: object | string, reason: string][] = [
      ["n01", "", "is empty."],
      ["n02", '{"schemaVersion": 1, "cells": [', "is not JSON"],
      ["n03", { ...odd!, devices: "none" }, "is not a valid pinbench result at devices: "],
      ["n04", { schemaVersion: 7 }, "has schemaVersion 7, and this pinbench reads version 1"],
      ["n05", { ...odd!, cells: [{ ...cell!, id: "d0/h2d" }] }, "is not a cell id"],
      [
        "n06",
        { ...without!, cells: [{ ...cell!, samples: [], stats: [] }] },
        `has no figures of the cell ${cell!.id}`,
      ],
      ["n07", { ...twice!, cells: [cell, cell] }, `has the cell ${cell!.id} twice`],
    ];
    for (const [name, content] of unread) write(`${name}.json`, content);
    expect(described((await readFleet([folder])).nodes)).toEqual([
      ...unread.map(([name, , reason]) => [
        join(folder, `${name}.json`),
        "unreadable",
        expect.stringContaining(reason),
      ]),
      ["n00", "measured", null],
    ]);
  });

  it("without a host name are named by their files, and those without GPUs are refused", async () => {
    const [first, second] = ["a.json", "b.json"].map((name, i) => {
      const { host, run, ...result } = nodeResult(`n${i}`);
      return write(name, { ...result, run: { ...run, id: name }, host: null });
    });
    const { run, ...result } = nodeResult("n3");
    const bare = write("c.json", { ...result, run: { ...run, id: "c" }, host: null, devices: [] });
    expect(described((await readFleet([folder])).nodes)).toEqual([
      [first, "measured", null],
      [second, "measured", null],
      [bare, "unreadable", expect.stringMatching(/^its result lists no GPU, so nothing shows which/)],
    ]);
  });

  it("with the label node belong to the node of that name", async () => {
    const result = nodeResult("login1");
    write("a.json", { ...result, run: { ...result.run, labels: { node: "n17", rack: "7" } } });
    const { nodes } = await readFleet([folder]);
    expect(nodes.map(({ host, labels }) => [host, labels.rack])).toEqual([["n17", "7"]]);
  });

  it("are a usage error if all are older than --since", async () => {
    for (const [day, name] of [20, 21, 19].map((one) => [one, `n${one}`] as const)) {
      const run = { startedAt: `2026-11-${day}T10:00:00.000Z` };
      write(`${name}.json`, nodeResult(name, { document: { run } }));
    }
    const read = readFleet([folder], "2026-11-22T00:00:00.000Z");
    await expect(read).rejects.toThrow("there is no result of a node from 2026-11-22 00:00 UTC on in");
  });

  it("are a usage error if there are none", async () => {
    await expect(readFleet([folder])).rejects.toMatchObject({
      kind: "usage",
      message: `there is no result of a node in ${folder}.`,
    });
    await expect(readFleet([join(folder, "gone")])).rejects.toMatchObject({ kind: "usage" });
  });
});

describe("a folder that `fleet run` filled", () => {
  it("has rows for the nodes of its list that left no result", async () => {
    write("n1.json", nodeResult("n1"));
    write(
      "fleet-run.json",
      manifest([
        { host: "n1", file: "n1.json" },
        { host: "n2", state: "late", reason: "it had not answered after 60 s" },
        { host: "n3", state: "failed", reason: "it ended with exit code 3" },
        { host: "n4", state: "missing", reason: "nothing came of it" },
        { host: "n5", state: "running" },
        { host: "n6", file: "n6.json" },
      ]),
    );
    expect(described((await readFleet([folder])).nodes)).toEqual([
      ["n1", "measured", null],
      ["n2", "late", "it had not answered after 60 s"],
      ["n3", "failed", "it ended with exit code 3"],
      ["n4", "missing", "nothing came of it"],
      ["n5", "late", "it had not finished when the run ended"],
      ["n6", "missing", "its result is gone, or cannot be read"],
    ]);
  });

  it("has a row for a node that failed, even if another folder has its older result", async () => {
    for (const host of ["n1", "n2"]) {
      const before = { document: { run: { startedAt: "2026-11-19T10:00:00.000Z" } } };
      write(`monday/${host}.json`, nodeResult(host, before));
    }
    const after = { document: { run: { id: "later", startedAt: "2026-11-20T10:00:09.000Z" } } };
    write("tuesday/n1.json", nodeResult("n1", after));
    const failed = { host: "n2", state: "failed", reason: "it fell over" } as const;
    write("tuesday/fleet-run.json", manifest([{ host: "n1", file: "n1.json" }, failed]));
    const { nodes } = await readFleet([folder]);
    expect(described(nodes)).toEqual([
      ["n1", "measured", null],
      ["n2", "failed", "it fell over"],
    ]);
    expect(nodes[1]!.notes).toEqual(["an older result of it does not count"]);
  });

  it.each([
    ["measured", "missing", "its result is gone, or cannot be read"],
    ["failed", "failed", "it fell over"],
  ] as const)(
    "has a row for a node that %s and left a file that cannot be read, and one for the file",
    async (...row) => {
      const [listed, state, reason] = row;
      const file = write("tuesday/n1.json", "");
      write("tuesday/fleet-run.json", manifest([{ host: "n1", state: listed, reason, file: "n1.json" }]));
      const before = { document: { run: { startedAt: "2026-11-18T10:00:00.000Z" } } };
      write("sunday/n1.json", nodeResult("n1", before));
      expect(described((await readFleet([folder])).nodes)).toEqual([
        [file, "unreadable", `${file} is empty.`],
        ["n1", state, reason],
      ]);
    },
  );

  it("has the result of a node's latest launch, though its clock is behind an earlier one that failed", async () => {
    write("monday/fleet-run.json", manifest([{ host: "n1", state: "failed" }]));
    const tuesday = manifest([{ host: "n1", file: "n1.json" }]);
    write("tuesday/fleet-run.json", { ...tuesday, startedAt: "2026-11-21T10:00:00.000Z" });
    const behind = { document: { run: { startedAt: "1970-01-01T00:00:09.000Z" } } };
    write("tuesday/n1.json", nodeResult("n1", behind));
    expect(described((await readFleet([folder])).nodes)).toEqual([["n1", "measured", null]]);
  });

  it.each([
    ["ended before", "2026-11-20T12:00:00.000Z", ["n2"], []],
    ["was running at", "2026-11-20T10:00:30.000Z", ["n2"], [["n3", "failed", "it fell over"]]],
  ])("that %s --since has no rows for results that do not count", async (_, since, leftOutHosts, failed) => {
    const at = (startedAt: string) => ({ document: { run: { startedAt, id: startedAt } } });
    const [before, after] = [at("2026-11-20T10:00:05.000Z"), at("2026-11-21T10:00:05.000Z")];
    for (const host of ["n1", "n2"]) write(`monday/${host}.json`, nodeResult(host, before));
    const launched = ["n1", "n2"].map((host) => ({ host, file: `${host}.json` }));
    const third = { host: "n3", state: "failed", reason: "it fell over" } as const;
    write("monday/fleet-run.json", manifest([...launched, third]));
    write("tuesday/n1.json", nodeResult("n1", after));
    const { nodes, leftOut } = await readFleet([folder], since);
    expect(described(nodes)).toEqual([["n1", "measured", null], ...failed]);
    expect(leftOut).toEqual(leftOutHosts);
  });

  it("may have no result, and a folder named confirm counts as results if it has no list", async () => {
    write("monday/fleet-run.json", manifest([{ host: "n1", state: "failed", reason: "it fell over" }]));
    expect(described((await readFleet([folder])).nodes)).toEqual([["n1", "failed", "it fell over"]]);
    write("confirm/n00.json", nodeResult("n00"));
    const since = "2026-11-20T10:00:30.000Z";
    expect((await readFleet([folder], since)).nodes.map(({ host }) => host)).toEqual(["n1"]);
    expect(await readFleet([join(folder, "confirm")])).toMatchObject({ nodes: [{ host: "n00" }], fresh: [] });
  });

  it("is read without its list if that is broken", async () => {
    write("n1.json", nodeResult("n1"));
    write("fleet-run.json", '{"schemaVersion": 1, "kind": "fle');
    expect(described((await readFleet([folder])).nodes)).toEqual([["n1", "measured", null]]);
  });

  it("keeps the second measurements of slow nodes apart", async () => {
    for (const result of nodeResults(6, { n03: { speed: pinnedAt(0.5) } })) {
      write(`${result.host!.hostname}.json`, result);
    }
    write("fleet-run.json", manifest([{ host: "n03", file: "n03.json" }]));
    const run = { id: "fresh", startedAt: "2026-11-19T10:00:00.000Z" };
    write("confirm/n03.json", nodeResult("n03", { speed: pinnedAt(0.5), document: { run } }));
    const again = manifest([
      { host: "n03", file: "n03.json" },
      { host: "n04", state: "late" },
    ]);
    write("confirm/fleet-run.json", { ...again, startedAt: "2026-11-21T10:00:00.000Z" });
    const { nodes, fresh } = await readFleet([folder]);
    expect(nodes.map(({ state }) => state)).toEqual(Array(6).fill("measured"));
    expect(fresh.map(({ host, runId }) => [host, runId])).toEqual([["n03", "fresh"]]);
    expect(judged([], { nodes, fresh }).outliers).toMatchObject([{ host: "n03", confirmed: true }]);
    expect((await readFleet([folder], "2026-11-19T12:00:00.000Z")).fresh).toEqual([]);
  });
});

it("a node with wrong data has the state of its later results, if --since leaves out the wrong ones", async () => {
  const at = (time: string) =>
    nodeResult("n00", {
      document: { run: { id: `run at ${time}`, startedAt: `2026-11-20T${time}:00.000Z` } },
    });
  const wrong = at("10:00");
  const mismatch = buildMismatch({ device: 0, sizeBytes: 1024 });
  write("wrong.json", { ...wrong, cells: [...wrong.cells.slice(1), mismatch] });
  write("clean.json", at("14:00"));
  write("copy.json", at("14:00"));
  const reason =
    "copies of GPU 0 came back wrong at 2026-11-20 10:00 UTC; later copies were right: after a repair, leave older results out with --since";
  expect(described((await readFleet([folder])).nodes)).toEqual([["n00", "wrong data", reason]]);
  const repaired = await readFleet([folder], "2026-11-20T10:00:30.000Z");
  expect(described(repaired.nodes)).toEqual([["n00", "measured", null]]);
});
