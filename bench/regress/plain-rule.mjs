// The rule to compare pinbench's with: a t test on means of log medians, its variance moderated by memory
// kind, Holm's correction over all cells at 5 %, a drop above 5 %, and the same test again, at 5 %, by fresh processes.
import { holm, studentTail } from "../../dist/stats/hypothesis-tests.js";
import { fitVariancePrior, moderate } from "../../dist/stats/variance.js";

const logDrop = -Math.log(0.95);
const level = 0.05;

export function slowerByPlainRule(model, { baseline, first, fresh }) {
  const found = test(model, baseline, first);
  const adjusted = holm(found.map(({ p }) => p));
  const suspects = [...found.keys()].filter((i) => -found[i].change > logDrop && adjusted[i] < level);
  if (suspects.length === 0) return suspects;
  const again = test(model, baseline, fresh);
  return suspects.filter((i) => -again[i].change > logDrop && again[i].p < level);
}

function test(model, baseline, candidate) {
  const cells = model.cells.map(({ cell }, i) => {
    const [before, now] = [baseline, candidate].map((session) => session.map((run) => run[i]));
    const degreesOfFreedom = before.length + now.length - 2;
    return {
      memory: cell.memory,
      change: mean(now) - mean(before),
      own: { variance: (squares(before) + squares(now)) / degreesOfFreedom, degreesOfFreedom },
    };
  });
  const priors = {};
  for (const { memory } of cells) {
    priors[memory] ??= fitVariancePrior(cells.filter((one) => one.memory === memory).map(({ own }) => own));
  }
  return cells.map(({ memory, change, own }) => {
    const { variance, degreesOfFreedom } = moderate(own, priors[memory]);
    const error = Math.sqrt(variance * (1 / baseline.length + 1 / candidate.length));
    return { change, p: studentTail(-change / error, degreesOfFreedom) };
  });
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function squares(values) {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}
