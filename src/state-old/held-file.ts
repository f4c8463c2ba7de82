import { type FileHandle, stat } from 'node:fs/promises';

/** How long an unused file stays open. */
const IDLE_MS = 100;

/** The parts of a file status that identify the file. */
interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** A file, and its status when it was requested. */
export interface OpenedFile {
  readonly file: FileHandle;
  readonly status: FileIdentity;
}

/**
 * Keeps the file at a path open for a short time after each use. Each use checks that the path still leads to it: another
 * process may have replaced or removed the file. Uses must not overlap.
 */
export class HeldFile {
  private readonly path: string;
  private readonly open: () => Promise<FileHandle | undefined>;
  private held: OpenedFile | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @param open opens the file; undefined if there is none */
  constructor(path: string, open: () => Promise<FileHandle | undefined>) {
    this.path = path;
    this.open = open;
  }

  /** Returns the file at the path for use until `rest` is called; undefined if there is none. @throws as `open` */
  async use(): Promise<OpenedFile | undefined> {
    clearTimeout(this.timer);
    const current = await this.current();
    if (current) return current;
    await this.close();
    const file = await this.open();
    if (file) this.held = { file, status: await file.stat() };
    return this.held;
  }

  /** Returns the open file with its current status; undefined if the path leads to another file, or to none. */
  async current(): Promise<OpenedFile | undefined> {
    if (!this.held) return undefined;
    const { file, status } = this.held;
    const now = await stat(this.path).catch(() => undefined);
    return now && now.ino === status.ino && now.dev === status.dev ? { file, status: now } : undefined;
  }

  /** Ends a use. */
  rest(): void {
    clearTimeout(this.timer);
    if (this.held) this.timer = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    const { held } = this;
    this.held = undefined;
    await held?.file.close();
  }
}
