import type { Socket } from 'node:net';
import postgres from 'postgres';
import type { Clock } from '../clock.ts';
import type { PostgresTarget } from '../state/postgres-address.ts';
import { kindOfFailure, unavailableError } from './postgres-errors.ts';
import { openSocket } from './postgres-socket.ts';

export interface ConnectionDeps {
  readonly target: PostgresTarget;
  readonly clock: Clock;
  readonly random: () => number;
  /** Aborts waiting for the database. */
  readonly abortSignal: AbortSignal;
  readonly limits?: ConnectionLimits;
}

/** In milliseconds. */
export interface ConnectionLimits {
  /** How long the server may send nothing while a statement waits. */
  readonly silence: number;
  /** How long to retry. */
  readonly persistence: number;
  /** How long to retry if no connection has worked yet. */
  readonly firstPersistence: number;
}

const LIMITS: ConnectionLimits = { silence: 10_000, persistence: 15_000, firstPersistence: 5000 };

type Parameters = readonly postgres.ParameterOrJSON<never>[];
type Rows = postgres.RowList<postgres.Row[]>;

/** One connection. Never reconnects: statements without a result are repeated on another one. */
class Session {
  /** Rejects when the connection is lost. */
  readonly lost: Promise<never>;
  private readonly sql: postgres.Sql;
  private socket: Socket | undefined;
  private isOpened = false;
  private reject: (error: unknown) => void = () => undefined;

  constructor({ host, port, ssl, ...login }: PostgresTarget['connection']) {
    this.lost = new Promise((_, reject) => {
      this.reject = reject;
    });
    this.lost.catch(() => undefined);
    const open = (): Promise<Socket> => this.open({ host, port, ssl });
    const options = {
      ...login,
      max: 1,
      prepare: false,
      fetch_types: false,
      connect_timeout: 0,
      idle_timeout: 0,
      max_lifetime: 0,
      onnotice: () => undefined,
      ssl: false,
      connection: { application_name: 'partnerctl' },
      // The driver's own socket reconnects silently, and cannot parse IPv6 addresses.
      socket: open,
    };
    // The driver always reads this variable, and rejects values that other programs accept. Nothing else in this process reads
    // it.
    delete process.env.PGTARGETSESSIONATTRS;
    this.sql = postgres(options);
  }

  private async open(endpoint: Pick<PostgresTarget['connection'], 'host' | 'port' | 'ssl'>): Promise<Socket> {
    if (this.isOpened) throw new Error('The connection was lost.');
    this.isOpened = true;
    try {
      const opened = await openSocket(endpoint, (socket) => {
        this.socket = socket;
      });
      opened.on('error', this.reject);
      opened.on('close', () => this.abandon(new Error('The server closed the connection.')));
      return opened;
    } catch (error) {
      this.reject(error);
      throw error;
    }
  }

  /** Runs a statement. @throws the error of the server or of the connection */
  query(text: string, parameters: Parameters): Promise<Rows> {
    return Promise.race([this.sql.unsafe(text, [...parameters]), this.lost]);
  }

  /** The bytes received so far. */
  get received(): number {
    return this.socket?.bytesRead ?? 0;
  }

  abandon(error: unknown): void {
    this.reject(error);
    this.socket?.destroy();
  }

  async close(): Promise<void> {
    await this.sql.end({ timeout: 1 });
    this.abandon(new Error('The connection was closed.'));
  }
}

/**
 * Runs statements on one connection at a time. If the result of a statement is lost, runs it again on a new connection,
 * although the server may still complete the first one: statements must be safe to repeat.
 */
export class PostgresConnection {
  private readonly deps: ConnectionDeps;
  private readonly limits: ConnectionLimits;
  private session: Session | undefined;
  private hasWorked = false;

  constructor(deps: ConnectionDeps) {
    this.deps = deps;
    this.limits = deps.limits ?? LIMITS;
    deps.abortSignal.addEventListener('abort', this.onAbort, { once: true });
  }

  private readonly onAbort = (): void => this.session?.abandon(this.deps.abortSignal.reason);

  /** Throws once nothing has been received for too long. */
  private async watch(session: Session, signal: AbortSignal): Promise<never> {
    for (;;) {
      const before = session.received;
      await this.deps.clock.sleep(this.limits.silence, signal);
      if (session.received === before) throw new Error(`The server sent nothing for ${this.limits.silence / 1000}s.`);
    }
  }

  private async attempt(session: Session, text: string, parameters: Parameters): Promise<Rows> {
    const done = new AbortController();
    const watched = this.watch(session, done.signal);
    watched.catch(() => undefined);
    try {
      const rows = await Promise.race([session.query(text, parameters), watched]);
      this.hasWorked = true;
      return rows;
    } catch (error) {
      if (kindOfFailure(error) === 'conflict') {
        this.hasWorked = true;
      } else {
        if (this.session === session) this.session = undefined;
        session.abandon(error);
      }
      throw error;
    } finally {
      done.abort();
    }
  }

  /**
   * Runs one statement. Repeats it if the connection is lost, or if another writer was first.
   * @param isDone whether the result is final; if not, another writer was first
   * @throws StateUnavailableError if the database cannot be reached or refuses the statement; the reason of the signal
   */
  async run(text: string, parameters: Parameters, isDone: (rows: Rows) => boolean = () => true): Promise<Rows> {
    const { clock, random, abortSignal, target } = this.deps;
    const start = clock.monotonic();
    for (let attempt = 0; ; attempt += 1) {
      abortSignal.throwIfAborted();
      this.session ??= new Session(target.connection);
      let isConflict = true;
      try {
        const rows = await this.attempt(this.session, text, parameters);
        if (isDone(rows) || this.isLate(start)) return rows;
      } catch (error) {
        abortSignal.throwIfAborted();
        const kind = kindOfFailure(error);
        if (kind === 'permanent' || this.isLate(start)) throw unavailableError(error, target);
        isConflict = kind === 'conflict';
      }
      const longest = isConflict ? 5 * 2 ** Math.min(attempt, 5) : 100 * 2 ** Math.min(attempt, 4);
      await clock.sleep(longest * random(), abortSignal);
    }
  }

  private isLate(start: number): boolean {
    const { persistence, firstPersistence } = this.limits;
    return this.deps.clock.monotonic() - start >= (this.hasWorked ? persistence : firstPersistence);
  }

  async close(): Promise<void> {
    this.deps.abortSignal.removeEventListener('abort', this.onAbort);
    await this.session?.close();
    this.session = undefined;
  }
}
