import pLimit from 'p-limit';
import { StateUnavailableError } from '../errors.ts';
import { encodeLine, extendLog, type Redact } from './append.ts';
import { isLocked } from './git-errors.ts';
import { FILE_NAME, type GitDeps, GitRepository, type Snapshot } from './git-repository.ts';
import { contentSource, type FilePosition, readBlocks, splitLines, startOfFile } from './line-reader.ts';
import { MAX_LINE_BYTES, type NewRecord } from './record.ts';
import { removeRecovery, writeRecovery } from './recovery.ts';
import { entryOf, isKept, type ReadOptions, type RecordRole, type StateStore, type StoreEntry } from './store.ts';

/*
 * Keeps the log in a file of a git branch. An append is a commit that is pushed on the condition that the branch has not
 * moved. The server decides, so the order of commits is the order of the log.
 *
 * A push takes long, so records are published together: once all tasks wait, or when no further records come for a while.
 * The ends of reservations wait until all reservations of this process have ended. Until then, each is in a recovery file on
 * this machine, which the next run publishes.
 */

export interface GitStoreDeps extends GitDeps {
  readonly redact: Redact;
  /** Called when an append has created the branch. */
  readonly warn?: ((text: string) => Promise<void>) | undefined;
  /** The path beside which recovery files are written. */
  readonly localPath: string;
}

interface Waiting {
  readonly line: string;
  readonly role: RecordRole['kind'];
  readonly recoveryPath: string | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** How long to collect single records, and records of concurrent tasks. */
const [COLLECT_MS, LONGEST_COLLECT_MS] = [30, 2000];
/** How long the end of a reservation may wait for other ends. */
const LONGEST_WAIT_MS = 10_000;
/** How long to retry a push. */
const PERSISTENCE_MS = 60_000;
/** How long to retry while the server says that the branch is locked, and nobody pushes to it. */
const LOCKED_MS = 15_000;
/** How often other processes may push first. */
const MAX_ATTEMPTS = 1000;

class GitLog {
  private readonly deps: GitStoreDeps;
  readonly repository: GitRepository;
  private waiting: Waiting[] = [];
  private readonly open = new Set<string>();
  private publishing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  /** How many running tasks append records. */
  private tasks = 0;
  /** Runs reads and pushes one at a time, so that the known tip only moves forward. */
  private readonly inTurn = pLimit(1);
  /** Whether this process has just pushed, so that a read needs no fetch. */
  private isFresh = false;

  constructor(deps: GitStoreDeps) {
    this.deps = deps;
    this.repository = new GitRepository(deps);
  }

  async append(record: NewRecord, role: RecordRole): Promise<void> {
    const line = encodeLine(record, this.deps.target.label, this.deps.redact);
    if (role.kind === 'reserves') this.open.add(role.reservation);
    if (role.kind === 'ends') this.open.delete(role.reservation);
    const recoveryPath = isKept(role) ? await writeRecovery(this.deps.localPath, record) : undefined;
    await new Promise<void>((resolve, reject) => {
      this.waiting.push({ line, role: role.kind, recoveryPath, resolve, reject });
      this.schedule();
    });
  }

  async together<Value>(act: () => Promise<Value>): Promise<Value> {
    this.tasks += 1;
    try {
      return await act();
    } finally {
      this.tasks -= 1;
      this.schedule();
    }
  }

  /** Returns the log. @throws LocalError */
  read(): Promise<Buffer> {
    return this.inTurn(async () => {
      const { known } = this.repository;
      return this.contentOf(this.isFresh && known ? known : await this.repository.fetch());
    });
  }

  fetch(): Promise<Snapshot> {
    return this.inTurn(() => this.repository.fetch());
  }

  /** Creates the branch or the file, if it is missing. @throws LocalError */
  async init(): Promise<void> {
    const { tip, content } = await this.fetch();
    if (content !== undefined) return;
    await this.publish([], Buffer.alloc(0));
    if (tip === undefined) return;
    const { branch, label } = this.deps.target;
    await this.deps.warn?.(`Branch ${branch} already has other files; ${FILE_NAME} was added to it: ${label}`);
  }

  async close(): Promise<void> {
    await this.flush();
    await this.repository.close().catch(() => undefined);
  }

  /** Returns the log; empty if there is no branch. @throws StateUnavailableError if the branch has no log file */
  private contentOf({ tip, content }: Snapshot): Buffer {
    if (content !== undefined) return content;
    if (tip === undefined) return Buffer.alloc(0);
    const { branch, label } = this.deps.target;
    throw new StateUnavailableError(`There is no state at ${label}`, {
      why: `Branch ${branch} does not have the file ${FILE_NAME}.`,
      hint: `Check the address. For a new state: partnerctl state init '${label}'. If the file was there, restore it instead: a new one does not know what exists.`,
    });
  }

  /** Warns that the branch was created: its name may be mistyped, or someone may have deleted it. */
  private async warnOfNewBranch(): Promise<void> {
    const { branch, label } = this.deps.target;
    await this.deps.warn?.(
      `The branch ${branch} did not exist, and was created: ${label}. If the state should already be there, check the address.`,
    );
  }

  private async flush(): Promise<void> {
    while (this.waiting.length > 0 || this.publishing) await this.startPublishing().catch(() => undefined);
  }

  /** How long to wait for more records. */
  private delayMs(): number {
    const { tasks, waiting } = this;
    if (tasks > 0 && waiting.length >= tasks) return 0;
    if (this.open.size > 0 && waiting.every(({ role }) => role === 'ends')) return LONGEST_WAIT_MS;
    return tasks > 0 ? LONGEST_COLLECT_MS : COLLECT_MS;
  }

  private schedule(): void {
    if (this.waiting.length === 0 || this.publishing) return;
    const delayMs = this.delayMs();
    const dueAt = performance.now() + delayMs;
    // A further record restarts only the shortest delay.
    if (delayMs !== COLLECT_MS && dueAt >= this.dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = dueAt;
    this.timer = globalThis.setTimeout(() => void this.startPublishing(), delayMs);
  }

  private startPublishing(): Promise<void> {
    clearTimeout(this.timer);
    this.dueAt = Number.POSITIVE_INFINITY;
    this.publishing ??= this.publishWaiting().finally(() => {
      this.publishing = undefined;
      this.schedule();
    });
    return this.publishing;
  }

  private async publishWaiting(): Promise<void> {
    const batch = this.waiting;
    this.waiting = [];
    try {
      await this.publish(batch.map(({ line }) => line));
      for (const { recoveryPath, resolve } of batch) if (recoveryPath === undefined) resolve();
      for (const { recoveryPath, resolve } of batch) {
        if (recoveryPath !== undefined) await removeRecovery({ path: recoveryPath });
        resolve();
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /**
   * Appends lines to the current tip of the branch.
   * @param whenMissing the initial log, if there is none
   * @throws LocalError; the log may still contain the lines
   */
  publish(lines: readonly string[], whenMissing?: Buffer): Promise<void> {
    return this.inTurn(() => this.publishNow(lines, whenMissing));
  }

  private async publishNow(lines: readonly string[], whenMissing: Buffer | undefined): Promise<void> {
    const { clock, random, abortSignal } = this.deps;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      // The push fails if the branch has moved since.
      const base = this.repository.known ?? (await this.repository.fetch());
      const content = extendLog(base.content ?? whenMissing ?? this.contentOf(base), lines);
      const records = lines.length === 1 ? '1 record' : `${lines.length} records`;
      const commit = await this.repository.commit(base, content, `Add ${records}`);
      // Each attempt has its own time limit: it fails only because others succeed.
      if (await this.pushUntilCertain(commit, base, clock.monotonic() + PERSISTENCE_MS)) {
        await this.repository.remember(commit, content, base);
        if (base.tip === undefined && whenMissing === undefined) await this.warnOfNewBranch();
        // The caller reads next.
        this.isFresh = true;
        setImmediate(() => {
          this.isFresh = false;
        });
        return;
      }
      await clock.sleep(random() * 50 * 2 ** Math.min(attempt, 3), abortSignal);
    }
    throw this.repository.unavailable('Other processes kept pushing to the branch.');
  }

  /**
   * Pushes a commit until it is certain whether the branch has it, or has moved without it. After a lost response, pushes
   * the same commit again.
   * @param until a monotonic time in milliseconds
   * @returns whether the branch has the commit
   */
  private async pushUntilCertain(commit: string, base: Snapshot, until: number): Promise<boolean> {
    const { clock, abortSignal, target } = this.deps;
    const lockedUntil = clock.monotonic() + LOCKED_MS;
    for (let delayMs = 50; ; delayMs = Math.min(2 * delayMs, 2000)) {
      const pushed = await this.repository.push(commit, base);
      if (pushed.kind === 'landed') return true;
      const current = await this.repository.fetch().catch((error: unknown) => {
        if (error instanceof StateUnavailableError && clock.monotonic() < until) return base;
        throw error;
      });
      if (current.tip !== undefined && current.tip !== base.tip)
        return await this.repository.contains(current.tip, commit);
      if (pushed.kind === 'rejected') {
        throw new StateUnavailableError(`The git server refuses to update branch ${target.branch}: ${target.label}`, {
          why: pushed.why,
          hint: 'Nothing more is sent to the service. Allow this user to push to the branch: it must not be protected, and only moves forward.',
        });
      }
      const end = isLocked(pushed.why) ? lockedUntil : until;
      if (clock.monotonic() >= end) throw this.repository.unavailable(pushed.why);
      await clock.sleep(delayMs, abortSignal);
    }
  }
}

async function* entriesFrom(
  content: Buffer,
  place: FilePosition,
  { containing, isSkipped }: ReadOptions,
  sums: Set<string>,
): AsyncGenerator<StoreEntry> {
  for await (const block of readBlocks(contentSource(content), MAX_LINE_BYTES, place)) {
    if (block.kind === 'tooLong') {
      const tooLong = { why: `longer than ${MAX_LINE_BYTES} bytes`, bytes: undefined, digest: block.sha256 };
      yield { kind: 'damaged', line: block.line, ...tooLong };
      continue;
    }
    for (const line of splitLines(block, containing, isSkipped)) yield entryOf(line, sums);
  }
}

function contentReader(log: GitLog, options: ReadOptions): () => AsyncGenerator<StoreEntry> {
  let before: Buffer = Buffer.alloc(0);
  let place = startOfFile();
  let sums = new Set<string>();
  return async function* readNew() {
    const content = await log.read();
    // Someone has edited the file on the branch.
    if (!content.subarray(0, place.offset).equals(before.subarray(0, place.offset))) {
      yield { kind: 'restart' };
      place = startOfFile();
      sums = new Set();
    }
    before = content;
    yield* entriesFrom(content, place, options, sums);
  };
}

/** Returns the log on a branch of a git repository. Connects with the first read or write. */
export function gitStore(deps: GitStoreDeps): StateStore {
  const log = new GitLog(deps);
  return {
    label: deps.target.label,
    reservationsAtOnce: 200,
    open: (options = {}) => ({
      readNew: contentReader(log, options),
      append: (record, role) => log.append(record, role),
    }),
    together: (act) => log.together(act),
    appendLines: (lines) => log.publish(lines),
    async init() {
      await log.init();
      return undefined;
    },
    exists: async () => (await log.fetch()).tip !== undefined,
    async check() {
      await log.read();
    },
    close: () => log.close(),
  };
}
