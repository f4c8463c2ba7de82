/** Passes events from where they happen to one reader. */
export class EventQueue<Event> implements AsyncIterable<Event> {
  private readonly events: { readonly event: Event; readonly bytes: number }[] = [];
  private waiting = 0;
  private isClosed = false;
  private wake = (): void => undefined;

  /** The size of all events that wait for the reader, in bytes. */
  get bytes(): number {
    return this.waiting;
  }

  /** @param bytes about how much memory the event takes */
  push(event: Event, bytes: number): void {
    this.events.push({ event, bytes });
    this.waiting += bytes;
    this.wake();
  }

  /** Lets the reader end after the events that wait. */
  close(): void {
    this.isClosed = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, void> {
    while (true) {
      const next = this.events.shift();
      if (next) {
        this.waiting -= next.bytes;
        yield next.event;
      } else if (this.isClosed) return;
      else
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
    }
  }
}
