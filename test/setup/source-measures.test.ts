import { expect, it } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { measuresOf, unusedExports } from "../../scripts/lib/source-measures.mjs";

const measure = (path: string, text: string) => measuresOf(new Map([[path, text]])).get(path);

it.each([
  ["a.ts", "// one\n\nconst a = 1; // two\n/* three\n\n   four */\nconst b = `\n// five\n`;\n", 9, 4],
  ["a.mjs", "export const a = 1;", 1, 1],
  ["a.cpp", '#include "b.hpp"\n\n// one\nint a = 1;  // two\n/* three\n*/ int b;\nauto c = "// d";\n', 7, 4],
  ["a.css", "/* one\n   two */\na {\n  color: red;\n}\n", 5, 3],
  ["a.sh", "#!/bin/sh\n# one\n\necho '#'\n", 4, 1],
  ["a.py", '"""One.\n\nTwo."""\n\n# three\ndef f():\n    """Four."""\n    return """\n\n# five"""\n', 10, 3],
  ["wrong.py", "def f(:\n\n# one\n", 3, 2],
])("counts lines of %s without blank ones and, if it parses, comments: %j", (path, text, raw, code) => {
  expect(measure(path, text)).toMatchObject({ raw, code });
});

it.each([
  ["a.ts", "function a() {\n", "  b();", "}\n", 2],
  ["a.ts", "const a = async () => {\n", "  b();", "};\n", 2],
  ["a.ts", "class A {\n  a() {\n", "    b();", "  }\n}\n", 2],
  ["a.ts", 'describe("a", () => {\n  it("b", () => {\n', "    b();", "  });\n});\n", 2],
  ["a.py", "class A:\n    def a(self):\n", "        b()", "        c()\n", 2],
  ["a.cpp", "namespace a {\n\nint a() {\n", "  b();", "}\n\n}  // namespace a\n", 2],
  ["a.cpp", "A::A(int a)\n    : a_(a) {\n", "  b();", "}\n", 3],
  ["a.hpp", "class A {\n public:\n  void a() {\n    if (b) {\n    }\n", "    c();", "  }\n};\n", 4],
])("counts in %s the function %j as long if it has more than 40 lines", (path, start, line, end, around) => {
  const longOf = (lines: number) => measure(path, `${start}${`${line}\n`.repeat(lines - around)}${end}`).long;
  expect([longOf(40), longOf(41)]).toEqual([0, 1]);
});

it("finds exports that no other file uses, and those that only tests use", () => {
  const measures = measuresOf(
    new Map([
      ["src/a.ts", "export const used = 1, alone = 2, tested = 3, whole = 4;\nexport type T = 5;\nalone;"],
      ["src/b.ts", "import { used } from './a.js';\nexport type { T } from './a.js';\nused;"],
      ["src/c.ts", "const { whole } = await import('./a.js');\nexport default whole;"],
      ["scripts/d.mjs", "import c from '../dist/c.js';\nc;"],
      ["test/e.test.ts", "import { tested, used } from '../src/a.js';\ntested + used;"],
    ]),
  );
  const { unused, onlyInTests } = unusedExports(measures).get("src/a.ts");
  expect({ unused, onlyInTests }).toEqual({ unused: ["alone"], onlyInTests: ["tested"] });
  expect(unusedExports(measures).get("src/b.ts").unused).toEqual(["T"]);
  expect(unusedExports(measures).get("src/c.ts").unused).toEqual([]);
});
