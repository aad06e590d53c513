// Prints the totals of vitest's JSON reports in one line, `N passed, N failed, N skipped`. A missing report counts as
// zeros: its tests never ran.
import { readFileSync } from "node:fs";

function read(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}

const reports = process.argv.slice(2).map(read);
const total = (name) => reports.reduce((sum, report) => sum + (report[name] ?? 0), 0);
const skipped = total("numPendingTests") + total("numTodoTests");
console.log(`${total("numPassedTests")} passed, ${total("numFailedTests")} failed, ${skipped} skipped`);
