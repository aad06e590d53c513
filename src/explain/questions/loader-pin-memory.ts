import { torchQuestion } from "../question.js";
import { figureText, isAtLeast, medianFigure } from "../run-figures.js";

/** Smallest saved share of an epoch that counts as faster. */
const worthwhile = 0.02;

export const loaderPinMemory = torchQuestion({
  name: "loader-pin-memory",
  title: "does pin_memory make a DataLoader of small batches faster?",
  claim:
    "A DataLoader is faster with pin_memory=True: measured over 10 000 rows of 256 floats, in batches of 128.",
  times: {
    pinned: "an epoch with pin_memory",
    unpinned: "an epoch without pin_memory",
    uncopied: "an epoch without copying",
  },
  conclude({ pinned, unpinned, uncopied }, rounds) {
    // Compared within each round, whose epochs ran one after the other.
    const less = (name: string, timesNs: readonly number[]) =>
      medianFigure(
        name,
        "share",
        rounds.unpinned.map((ns, round) => (ns - timesNs[round]!) / ns),
      );
    const gain = less("saved by pinning, of an epoch", rounds.pinned);
    const copying = less("copying, of an epoch without pin_memory", rounds.uncopied);
    return {
      holds: isAtLeast(gain, worthwhile),
      summary: `An epoch takes ${figureText(pinned)} with pin_memory and ${figureText(unpinned)} without, of which copying takes ${figureText(copying)} and making the batches the rest.`,
      figures: [pinned, unpinned, uncopied, gain, copying],
    };
  },
});
