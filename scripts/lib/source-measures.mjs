import { spawnSync } from "node:child_process";
import { dirname, extname, join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";

/** Functions of more lines than this are counted as long. */
const longFunction = 40;

const scripts = new Set([".ts", ".js", ".mjs"]);
const cLike = new Set([".cpp", ".hpp", ".cu", ".c", ".h", ".css"]);

/** Extensions of the files whose code is measured. */
export const measuredExtensions = new Set([...scripts, ...cLike, ".py", ".sh"]);

const cToken = /R"([^(\s]*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/.*|\/\*[\s\S]*?\*\//g;

const withoutCComments = (text) =>
  text.replace(cToken, (token) => (token[0] === "/" ? blanked(token) : token));

/** The text reduced to its line breaks. */
const blanked = (text) => text.replace(/[^\n]+/g, "");

const filledLines = (text) => text.split("\n").filter((line) => line.trim() !== "").length;

/**
 * Measures of source files by path: `raw` lines, lines of `code` (no blanks, no comments), number of `long` functions,
 * exported names, and names used from other files. `texts` maps paths to contents.
 */
export function measuresOf(texts) {
  const python = pythonMeasures(texts);
  const entries = [...texts].map(([path, text]) => {
    const raw = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    const measure = { raw, code: filledLines(text), long: 0, exports: [], uses: [] };
    const extension = extname(path);
    if (scripts.has(extension)) Object.assign(measure, scriptMeasures(path, text));
    else if (cLike.has(extension)) {
      const code = withoutCComments(text);
      measure.code = filledLines(code);
      if (extension !== ".css") measure.long = longFunctionsByIndentation(code);
    } else if (extension === ".sh") measure.code = filledLines(text.replace(/^\s*#.*$/gm, ""));
    return [path, { ...measure, ...python.get(path) }];
  });
  return new Map(entries);
}

function scriptMeasures(path, text) {
  const { program, module, comments } = parseSync(path, text);
  let code = text;
  for (const { start, end } of comments) {
    code = code.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, " ") + code.slice(end);
  }
  const uses = [
    ...module.staticImports.flatMap(({ moduleRequest, entries }) =>
      entries.map(({ importName }) => ({ module: moduleRequest.value, name: nameOf(importName) })),
    ),
    ...module.staticExports.flatMap(({ entries }) =>
      entries
        .filter(({ moduleRequest }) => moduleRequest !== null)
        .map(({ moduleRequest, importName }) => ({ module: moduleRequest.value, name: nameOf(importName) })),
    ),
    ...[...code.matchAll(/\bimport\(\s*["']([^"']+)/g)].map((found) => ({ module: found[1], name: null })),
  ];
  const exports = module.staticExports
    .flatMap(({ entries }) => entries.map(({ exportName }) => nameOf(exportName)))
    .filter((name) => name !== null);
  const words = new Set(uses.some(({ name }) => name === null) ? code.match(/\w+/g) : []);
  return { code: filledLines(code), long: longFunctionsOf(program, text), exports, uses, words };
}

/** Null for a namespace, which stands for everything that a module exports. */
const nameOf = ({ kind, name }) => (kind === "Default" ? "default" : name);

function longFunctionsOf(program, text) {
  // Functions around a whole group of tests do not count.
  const groups = new Set();
  let long = 0;
  const count = (node) => {
    const { start, end } = node;
    if (!groups.has(start) && text.slice(start, end).split("\n").length > longFunction) long++;
  };
  new Visitor({
    CallExpression(node) {
      if (!/^describe\b/.test(text.slice(node.start, node.end))) return;
      for (const { start } of node.arguments) groups.add(start);
    },
    FunctionDeclaration: count,
    FunctionExpression: count,
    ArrowFunctionExpression: count,
  }).visit(program);
  return long;
}

const noFunction =
  /^(if|else|for|while|do|switch|case|default|try|catch|namespace|class|struct|union|enum|extern)\b/;

/**
 * Counts long functions in C++ formatted by clang-format. A block ends in a line with only a brace, and starts at the
 * last line before it with the same indentation. Lambdas end in other ways, and count as part of their function.
 */
function longFunctionsByIndentation(code) {
  const heads = new Map();
  let long = 0;
  for (const [i, line] of code.split("\n").entries()) {
    const indentation = line.search(/\S/);
    if (indentation < 0 || line[indentation] === "#") continue;
    const text = line.trim();
    const head = heads.get(indentation);
    if (text === "}" && head?.text.includes("(") && !noFunction.test(head.text)) {
      if (i - head.i + 1 > longFunction) long++;
    }
    heads.set(indentation, { i, text });
  }
  return long;
}

/** Reads a list of texts; writes each one's lines of code and of every function, or null if it is invalid. */
const pythonProgram = `
import ast, io, json, sys, tokenize
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
def measure(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    functions = []
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            functions.append(node.end_lineno - node.lineno + 1)
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    filled = text.split("\\n")
    return {"code": sum(1 for line in lines if filled[line - 1].strip()), "functions": functions}
json.dump([measure(text) for text in json.load(sys.stdin)], sys.stdout)
`;

function pythonMeasures(texts) {
  const paths = [...texts.keys()].filter((path) => path.endsWith(".py"));
  if (paths.length === 0) return new Map();
  const input = JSON.stringify(paths.map((path) => texts.get(path)));
  const { stdout, stderr, status } = spawnSync("/usr/bin/python3", ["-c", pythonProgram], {
    input,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`Python could not measure its files: ${stderr}`);
  const found = JSON.parse(stdout);
  return new Map(
    paths.flatMap((path, i) => {
      if (found[i] === null) return [];
      const { code, functions } = found[i];
      return [[path, { code, long: functions.filter((lines) => lines > longFunction).length }]];
    }),
  );
}

/**
 * Exports that no other file uses, and those that only test/ uses: lists of names by path. If a file imports a whole
 * module, each exported name that occurs in it counts as used.
 */
export function unusedExports(measures) {
  const users = new Map();
  for (const [path, { uses, words }] of measures) {
    for (const { module, name } of uses) {
      const target = targetOf(path, module, measures);
      if (target === null) continue;
      const names = name === null ? measures.get(target).exports.filter((one) => words.has(one)) : [name];
      for (const one of names) {
        const key = `${target} ${one}`;
        users.set(key, [...(users.get(key) ?? []), path]);
      }
    }
  }
  const entries = [...measures].map(([path, { exports }]) => {
    const usersOf = (name) => users.get(`${path} ${name}`) ?? [];
    return [
      path,
      {
        unused: exports.filter((name) => usersOf(name).length === 0),
        onlyInTests: exports.filter(
          (name) => usersOf(name).length > 0 && usersOf(name).every((user) => user.startsWith("test/")),
        ),
      },
    ];
  });
  return new Map(entries);
}

/** The file behind a module's name, or null. Compiled names differ: another extension, or a path below dist/. */
function targetOf(path, module, measures) {
  if (!module.startsWith(".")) return null;
  const target = join(dirname(path), module);
  const source = target.replace(/^dist\/(?!program\/)/, "src/").replace(/\.js$/, ".ts");
  return [target, source].find((one) => measures.has(one)) ?? null;
}
