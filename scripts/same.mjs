// `npm run same -- REV [COMMAND...]`: compares the outputs of the working tree's program with those of REV's, for the
// same inputs (test/outputs/drawn). Prints equal differences once, with the number of outputs that have them. Exit code
// 1 if anything differs.
import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, join } from "node:path";
import { ensureBuilt } from "./lib/build.mjs";
import { differences } from "./lib/differences.mjs";
import { main, run, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";

const git = (...args) => run("git", args, { cwd: root, capture: true });

/** The folder of that commit with its program built; kept for later calls. */
async function builtCommit(commit) {
  const place = join(tmpdir(), `pinbench-same-${userInfo().uid}`, commit);
  const mark = join(place, "build/same");
  if (existsSync(mark)) return place;
  await git("worktree", "prune");
  rmSync(place, { recursive: true, force: true });
  await git("worktree", "add", "--detach", place, commit);
  const lock = (folder) => readFileSync(join(folder, "package-lock.json"), "utf8");
  if (lock(root) === lock(place)) symlinkSync(inRoot("node_modules"), join(place, "node_modules"));
  else await run("npm", ["ci", "--ignore-scripts"], { cwd: place, quiet: true });
  // With copied outputs, the build compiles only what differs.
  mkdirSync(join(place, "build"));
  for (const part of ["build/Release", "dist"]) cpSync(inRoot(part), join(place, part), { recursive: true });
  cpSync(inRoot("build/stamp.json"), join(place, "build/stamp.json"));
  await run(process.execPath, ["scripts/build.mjs"], { cwd: place, quiet: true });
  writeFileSync(mark, "");
  return place;
}

/** Draws topics with the program in `place`. Resolves with the topics that failed, and the printed text. */
function draw({ place, tests, topics, outputs, commands }) {
  mkdirSync(outputs, { recursive: true });
  const env = { ...process.env, PINBENCH_OUTPUTS: outputs, PINBENCH_OUTPUTS_OF: commands.join(" ") };
  const args = [inRoot("scripts/lib/draw-outputs.mjs"), tests, ...topics];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: place, env, stdio: ["ignore", "pipe", "pipe"] });
    const printed = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => printed.push(chunk));
    child.on("error", reject);
    child.on("close", () => {
      const missing = topics.filter((topic) => !existsSync(join(outputs, topic)));
      resolve({ missing, printed: Buffer.concat(printed).toString() });
    });
  });
}

const topicsIn = (folder) =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith(".ts"))
        .map((name) => basename(name, ".ts"))
    : [];

/** The topics whose names begin with one of these commands, and the topic `commands`. */
function chosenTopics(commands) {
  const isOf = (topic) => topic === "commands" || commands.some((word) => `${topic}-`.startsWith(`${word}-`));
  return topicsIn(inRoot("test/outputs/drawn")).filter((topic) => commands.length === 0 || isOf(topic));
}

await main(async () => {
  const [rev, ...commands] = process.argv.slice(2);
  if (rev === undefined) throw new ScriptError("Usage: npm run same -- REV [COMMAND...]");
  const commit = (await git("rev-parse", "--verify", `${rev}^{commit}`)).trim();
  await ensureBuilt({ quiet: true });
  const place = await builtCommit(commit);
  // Both programs draw the working tree's inputs, so that differences come from the program.
  rmSync(join(place, "test-now"), { recursive: true, force: true });
  cpSync(inRoot("test"), join(place, "test-now"), { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), "pinbench-outputs-"));
  try {
    const sides = { before: join(folder, "before"), after: join(folder, "after") };
    const topics = chosenTopics(commands);
    const [before, after] = await Promise.all([
      draw({ place, tests: "test-now", topics, outputs: sides.before, commands }),
      draw({ place: root, tests: "test", topics, outputs: sides.after, commands }),
    ]);
    if (after.missing.length > 0)
      throw new ScriptError(`The working tree cannot draw ${after.missing.join(", ")}:\n${after.printed}`);
    if (before.missing.length > 0) {
      console.log(`${rev} cannot draw these inputs, and draws its own: ${before.missing.join(", ")}`);
      await draw({ place, tests: "test", topics: before.missing, outputs: sides.before, commands });
    }
    const lines = differences(sides);
    console.log(lines.length === 0 ? "Nothing differs." : lines.join("\n"));
    process.exitCode = lines.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
});
