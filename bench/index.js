// `node bench NAME [ARGUMENT…]`: a benchmark of pinbench itself; lists all without a NAME. Each file describes its
// arguments.
import { join } from "node:path";

const benchmarks = {
  self: "the overhead of pinbench itself",
  regress: "how reliable the verdicts of check and compare are, on simulated noise",
  history: "how reliable the findings of history are, in synthetic series",
  fleet: "how reliably fleet finds slow nodes, in simulated fleets",
  doctor: "how reliably doctor finds causes, on emulated devices and on this GPU",
  check: "check on this machine: without a change, and with real slow-downs",
  tune: "the recommendation of tune, against a grid and an article's search",
  live: "tune -- COMMAND in real trainings, against a grid",
  gpu: "the figures of pinbench's claims, on this machine's GPU",
  load: "load, against a bare program and the code that it prints",
  trace: "trace, of programs whose copies are known",
  processes: "worker processes, against plain programs that copy at once",
  page: "the size of HTML pages, and how fast a browser opens them",
};

const [name = "", ...rest] = process.argv.slice(2);
if (Object.hasOwn(benchmarks, name)) {
  const program = join(import.meta.dirname, `${name}.mjs`);
  process.argv = [process.argv[0], program, ...rest];
  await import(program);
} else {
  const lines = Object.entries(benchmarks).map(([one, about]) => `  ${one.padEnd(9)}  ${about}`);
  console.log(`node bench NAME\n${lines.join("\n")}`);
  if (name !== "") {
    console.error(`There is no benchmark ${name}.`);
    process.exitCode = 2;
  }
}
