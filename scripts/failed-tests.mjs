// Prints the failed tests of vitest's JSON reports, because logs often keep only the end of a long output: file, full
// name, start of the message, and line. Prints nothing if none failed.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

const shownLines = 6;

for (const path of process.argv.slice(2)) {
  for (const file of read(path).testResults ?? []) {
    for (const text of failuresIn(file)) console.log(text);
  }
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Its tests never ran.
    return {};
  }
}

function failuresIn({ name, status, message, assertionResults = [] }) {
  const file = relative(process.cwd(), name);
  const failed = assertionResults.filter((test) => test.status === "failed");
  // A file that cannot be loaded has no tests; a file with a failed hook has no failed tests.
  if (failed.length === 0 && status === "failed") {
    return [describe(file, message || "a hook failed, or the file could not be loaded")];
  }
  return failed.map(({ fullName, failureMessages }) =>
    describe(`${file}: ${fullName}`, failureMessages.join("\n")),
  );
}

function describe(title, message) {
  const lines = stripVTControlCharacters(message)
    // Vitest's message for a test that took too long.
    .replace(/^Error: STACK_TRACE_ERROR$/m, "it did not end within its time")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const isFrame = (line) => /^\s+at /.test(line);
  const said = lines.filter((line) => !isFrame(line)).slice(0, shownLines);
  const where = lines.find((line) => isFrame(line) && !line.includes("node_modules")) ?? null;
  return [title, ...said.map((line) => `    ${line}`), ...(where === null ? [] : [where])].join("\n");
}
