/** All numeric constants of a search, with their reasons. Times are in ns. */
export const constants = {
  /** A trial is long enough when its interval is within this share of its rate. Half of what a choice must tell apart. */
  precision: 0.03,
  /**
   * Relative difference in rate that does not justify another worker. A loss in a job lasts as long as the training, and
   * the hand-over of a pinned batch takes up to 1.5 % of a loop.
   */
  tolerance: { alone: 0.02, live: 0.01 },
  /**
   * Shortest and longest timed span of a trial. Steps of a job are long and uneven: a training of Transformers on an H200
   * was a fifth slower for over a second (results/nvidia-h200/tune-live.txt).
   */
  leastTimedNs: 0.5e9,
  mostTimedNs: { alone: 1.2e9, live: 4e9 },
  /** Fewest cycles with an interval, and most blocks of cycles that it compares (batch means: Law, section 9.5.3). */
  leastCycles: 4,
  mostBlocks: 10,
  /**
   * Smallest relative half-width. A second may lack the rare slow batches that empty a queue: they take 1 % of the rate in
   * the simulated loaders of test/tune/search/estimator.test.ts.
   */
  leastHalfWidth: 0.01,
  /** Deviation between trials of one setting before any was repeated; it counts as the turns of one setting. */
  assumedDeviation: 0.02,
  /**
   * A worker may be this many times as fast as in a timed trial, which shares caches and clocks with others. So numbers of
   * workers that are tried are further apart.
   */
  workerSlack: 1.2,
  /**
   * Share of their time from which workers are, or soon become, the limit. Three that were busy for 74 % waited for nobody
   * during a search, and cost 7 % afterwards (results/nvidia-h200/tune-live.txt). From this share of its rate on, the link
   * is the limit as well.
   */
  busyShare: 0.7,
  /** Workers of the first trial with any, if nothing says how many a loop needs. More take seconds to start. */
  firstWorkers: 16,
  /**
   * Factor by which 0 workers must be faster if no step was measured. They make nothing during a step that blocks;
   * workers cost only the hand-over.
   */
  overlapWorth: 1.25,
  /**
   * How far a running job's speed wanders: trials of one setting, half a minute apart, differed by up to 17 % on an H200
   * (results/nvidia-h200/tune-live.txt).
   */
  wander: 0.17,
  /**
   * Slowest rate of pageable copies, in bytes a second, as pinning saved 12 ms of a batch of 38.5 MB in a training of
   * ResNet-50 on an H200.
   */
  copyRate: 3e9,
  /** Share of the budget for finding candidates; the rest confirms. No trial takes longer than the rest. */
  exploringShare: 0.65,
  /** Most repetitions of each candidate: the middle one of three is not disturbed by one. */
  turns: 3,
  /** Pipes and queues of each worker in the training process, in torch 2. */
  filesPerWorker: 8,
  /** A batch is freed only after the next one has come: two more than are in flight. */
  batchesBeyondFlight: 2,
} as const;
