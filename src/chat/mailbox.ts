/** Where what happens elsewhere is put down for one reader, who takes it in order and waits when there is nothing. */
export class Mailbox<Item> {
  private readonly items: Item[] = [];
  private wake: (() => void) | undefined;

  put(item: Item): void {
    this.items.push(item);
    this.stir();
  }

  /** Ends the reader's waiting though nothing was put down. */
  stir(): void {
    this.wake?.();
    this.wake = undefined;
  }

  take(): Item | undefined {
    return this.items.shift();
  }

  /** Resolves when something is there, or the reader is stirred. */
  async filled(): Promise<void> {
    if (this.items.length > 0) return;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
  }
}
