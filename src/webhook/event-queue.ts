/** Passes events from where they happen to one reader. */
export class EventQueue<Event> implements AsyncIterable<Event> {
  private readonly events: Event[] = [];
  private isClosed = false;
  private wake = (): void => undefined;

  /** How many events wait for the reader. */
  get size(): number {
    return this.events.length;
  }

  push(event: Event): void {
    this.events.push(event);
    this.wake();
  }

  /** Lets the reader end after the events that wait. */
  close(): void {
    this.isClosed = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, void> {
    while (true) {
      const event = this.events.shift();
      if (event !== undefined) yield event;
      else if (this.isClosed) return;
      else
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
    }
  }
}
