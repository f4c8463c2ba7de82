/** A partner request and the status of its response. Never has headers, which hold the token. */
export interface LoggedRequest {
  readonly seq: number;
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  /** As received, without the question mark. */
  readonly query: string;
  /** The pattern of the path, `/v1/automation/spaces/:space_id/agents/`; `/v1/*` for an unknown path. */
  readonly route: string;
  /** Null until there is a response, and forever if a fault suppressed it. */
  status: number | null;
  token_id: string | null;
  /** The injected fault, as `kind/stage`. */
  fault: string | null;
  /**
   * The parsed body of a write; null when there was none, it was not read, or it is over 64 KiB or 1,000 brackets. Of an
   * upload only `bytes` and `sha256`.
   */
  body: unknown;
  /** The stack of an error in the service itself. */
  crash: string | null;
}

const CAPACITY = 10_000;

/** The last 10,000 partner requests, and a count of all of them by route. */
export class RequestLog {
  #entries: LoggedRequest[] = [];
  #next = 0;
  #counts = new Map<string, number>();

  /** Logs a request on arrival; the caller completes the entry during processing. */
  add(request: Pick<LoggedRequest, 'at' | 'request_id' | 'method' | 'path' | 'query' | 'route'>): LoggedRequest {
    const pending = { status: null, token_id: null, fault: null, body: null, crash: null };
    const entry: LoggedRequest = { seq: this.#next, ...request, ...pending };
    this.#next += 1;
    this.#entries.push(entry);
    if (this.#entries.length > CAPACITY) this.#entries.shift();
    const key = `${request.method} ${request.route}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return entry;
  }

  /** The requests still held, oldest first. */
  entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  /** How many requests arrived since the log was cleared, by `METHOD route`. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  clear(): void {
    this.#entries = [];
    this.#next = 0;
    this.#counts = new Map();
  }
}
