/** One partner request as it was received and answered. Headers are never part of it. */
export interface LoggedRequest {
  readonly seq: number;
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  /** The query as it came, without the question mark. */
  readonly query: string;
  /** The pattern of the path, `/v1/automation/spaces/:space_id/agents/`; `/v1/*` for a path that there is not. */
  readonly route: string;
  /** Null while there is no answer, and for good where a fault kept it back. */
  status: number | null;
  token_id: string | null;
  /** The fault that struck, as `kind/stage`. */
  fault: string | null;
  /**
   * The parsed body of a write; null when there was none, it was not read, or it is over 64 KiB or 1,000 brackets. Of an
   * upload only `bytes` and `sha256`.
   */
  body: unknown;
  /** What crashed, when the service itself is at fault. */
  crash: string | null;
}

const CAPACITY = 10_000;

/** The last 10,000 partner requests, and how many there were of each sort. */
export class RequestLog {
  #entries: LoggedRequest[] = [];
  #next = 0;
  #counts = new Map<string, number>();

  /** Enters a request as it arrives; the entry is completed while the request is processed. */
  arrive(request: Pick<LoggedRequest, 'at' | 'request_id' | 'method' | 'path' | 'query' | 'route'>): LoggedRequest {
    const entry: LoggedRequest = {
      seq: this.#next,
      ...request,
      status: null,
      token_id: null,
      fault: null,
      body: null,
      crash: null,
    };
    this.#entries[this.#next % CAPACITY] = entry;
    this.#next += 1;
    const sort = `${request.method} ${request.route}`;
    this.#counts.set(sort, (this.#counts.get(sort) ?? 0) + 1);
    return entry;
  }

  /** The requests still held, oldest first. */
  entries(): readonly LoggedRequest[] {
    if (this.#next <= CAPACITY) return [...this.#entries];
    const oldest = this.#next % CAPACITY;
    return [...this.#entries.slice(oldest), ...this.#entries.slice(0, oldest)];
  }

  /** How many requests came since the last clearing, by `METHOD route`. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  clear(): void {
    this.#entries = [];
    this.#next = 0;
    this.#counts = new Map();
  }
}
