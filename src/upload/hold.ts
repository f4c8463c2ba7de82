const LEAST_MS = 25;
const LONGEST_MS = 300;

/** How much longer than the slowest refusal so far the next one may take. */
const SPREAD = 4;

/**
 * How long the last bytes of a body are kept back: a refusal that comes before they left may be followed by another attempt,
 * one that comes after them may not. A service that was seen to take its time over refusing is given more.
 */
export class Hold {
  private slowest = 0;

  /**
   * @param connectMs what a way there and back takes, at the most
   * @returns milliseconds
   */
  ms(connectMs: number): number {
    return Math.min(LONGEST_MS, Math.max(LEAST_MS, 1.5 * connectMs, SPREAD * this.slowest));
  }

  /** An upload failed so many milliseconds after all but its last bytes were handed over. */
  failedAfter(ms: number): void {
    this.slowest = Math.max(this.slowest, ms);
  }
}
