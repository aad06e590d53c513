import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  besides,
  blockWays,
  caches,
  directions,
  memories,
  modes,
  peerPaths,
  poolWays,
  verifyings,
  watchedCalls,
  weightsWays,
} from "../../src/settings/choices.js";
import { linkSchema, pinningCostSchema } from "../../src/settings/schema-parts.js";

/* The tables of cuda/addon/fields.hpp against the interfaces that src/native declares. */

const textOf = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const tables = textOf("cuda/addon/fields.hpp");
const contracts = [
  "src/native/contract.ts",
  "src/native/device-contract.ts",
  "src/native/loader-contract.ts",
  "src/host/other-programs.ts",
]
  .map(textOf)
  .join("\n");

const stringsIn = (text: string) => [...text.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);

/** The fields of an interface, those that it picks from a document's schema included. */
function declaredFields(type: string): string[] {
  if (type === "LinkRecord") return Object.keys(linkSchema.shape);
  if (type === "PinningCost") return Object.keys(pinningCostSchema.shape);
  const [, picked = "", body = ""] = new RegExp(
    `^(?:export )?interface ${type}\\b([^{]*)\\{\n(.*?)^\\}`,
    "ms",
  ).exec(contracts)!;
  const own = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name = ""]) => name);
  return [
    ...stringsIn(picked.slice(picked.indexOf("Pick<"))).filter((name) => name !== "verification"),
    ...own,
  ];
}

/** Tables of parts that are in no interface of their own. */
const parts = ["Placement", "Mismatch", "DirectedMismatch", "MemoryInfo", "PoolReport"];

const structures = [
  ...tables.matchAll(
    /^(?:\/\/ (\w+)\n)?(?:PINBENCH_FIELDS\((\w+)\)|inline constexpr auto k\w+) = std::tuple\{([^;]*)\};/gm,
  ),
]
  .map(([, named, structure = "", body = ""]) => ({ type: named ?? structure, fields: stringsIn(body) }))
  .filter(({ type }) => !parts.includes(type));

/** Fields that stand in a table of their own: those of a part, and an object made of the same structure. */
const elsewhere: Record<string, readonly string[]> = {
  SessionOptions: ["cpus", "threads", "numaNode"],
  MeasureResult: ["verification"],
};

const choices: Record<string, readonly string[]> = {
  ArenaKinds: stringsIn(/type ArenaKind = (.*);/.exec(contracts)![1]!),
  Directions: directions,
  Memories: memories,
  Modes: modes,
  Caches: caches,
  Verifyings: ["none", ...verifyings],
  PeerPaths: peerPaths,
  BlockWays: blockWays,
  LoadKinds: [...besides.filter((beside) => beside !== "none"), ...watchedCalls],
  PoolWays: poolWays,
  PoolDirections: ["h2d", "d2h"],
  WeightsWays: weightsWays,
};

describe("the tables of fields in the addon", () => {
  it("are found in cuda/addon/fields.hpp", () => {
    expect(structures.length).toBeGreaterThan(20);
    expect(tables.match(/inline constexpr Choice</g)).toHaveLength(Object.keys(choices).length);
  });

  it.each(structures)("list exactly the fields of $type in TypeScript", ({ type, fields }) => {
    expect([...fields, ...(elsewhere[type] ?? [])].sort()).toEqual(declaredFields(type).sort());
  });

  it.each(Object.entries(choices))("list exactly the names of %s in TypeScript", (name, names) => {
    const [, body = ""] = new RegExp(`Choice<[^>]+> k${name}\\[\\] = ([^;]*);`).exec(tables)!;
    expect(stringsIn(body).sort()).toEqual([...names].sort());
  });
});
