import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { withoutComments } from "../../scripts/lib/build.mjs";

/** Reads pairs of sources as JSON, and prints for each whether both do the same, docstrings aside. */
const comparing = `
import ast, json, sys

def statements(source):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node) is not None:
                node.body[0].value.value = ""
    return ast.dump(tree, include_attributes=False)

print(json.dumps([statements(one) == statements(other) for one, other in json.load(sys.stdin)]))
`;

test("Python is shipped without comments, with the same statements on the same lines", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".py"),
  );
  const sources = files.map((file) => readFileSync(join("src", file), "utf8"));
  const shipped: string[] = sources.map(withoutComments);
  const input = JSON.stringify(sources.map((source, i) => [source, shipped[i]]));
  const same = JSON.parse(execFileSync("python3", ["-c", comparing], { input, encoding: "utf8" }));
  expect(files.filter((_, i) => !same[i])).toEqual([]);
  const linesOf = (text: string) => text.split("\n").length;
  expect(shipped.map(linesOf)).toEqual(sources.map(linesOf));
  expect(shipped.join().length).toBeLessThan(0.85 * sources.join().length);
});
