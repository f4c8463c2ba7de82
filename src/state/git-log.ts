import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { describeFileError, type ErrorInfo, LocalError, StateUnavailableError } from '../errors.ts';
import { backOff, PERSISTENCE_MS, persist } from './backoff.ts';
import { GitError, runGit } from './git.ts';
import type { LoadedLines, LogDriver, StoreDeps } from './log.ts';

/*
 * The log is the file state.jsonl, alone on a branch that only moves forward. An append is a commit, pushed on the
 * condition that the branch has not moved: the server decides the order. After a failed push, whatever its message, the
 * branch itself says whether it has the lines. Each process has a shallow clone of its own, because processes that
 * share one collide on git's locks.
 */

const FILE = 'state.jsonl';
/** No further attempt helps: the repository is not there, this user may not use it, or its rules refuse a push. */
const FINAL =
  /not found|does not exist|not appear to be a git|permission denied|authentication failed|could not read (username|password)|host key verification|not support|hook declined|protected branch|currently checked out/i;

/** The branch at one moment. */
interface Tip {
  readonly commit: string;
  /** The log. */
  readonly text: string;
}

/** Before the branch is created. */
const NONE: Tip = { commit: '', text: '' };

function isUnreachable(error: unknown): error is StateUnavailableError {
  return error instanceof StateUnavailableError && error.info.cause instanceof GitError;
}

/** The log on a branch of a git repository: `git+ssh://host/path#branch`. Connects with the first read or write. */
export class GitLog implements LogDriver {
  readonly label: string;
  readonly batch = 50;
  private readonly deps: StoreDeps;
  private readonly url: string;
  private readonly branch: string;
  /** One at a time: commands would collide on the clone's locks. */
  private readonly inTurn = pLimit(1);
  private clone: Promise<string> | undefined;
  /** The branch as this process saw it last. */
  private known = NONE;
  /** The length of the text that was loaded, up to the end of its last line, and the number of its lines. */
  private loaded = { length: 0, lines: 0 };

  constructor(deps: StoreDeps) {
    const url = new URL(deps.location.address);
    this.branch = decodeURIComponent(url.hash.slice(1)) || 'partnerctl-state';
    url.hash = '';
    this.url = url.href.replace(/^git\+/, '');
    this.label = deps.location.address;
    this.deps = deps;
  }

  load(): Promise<LoadedLines | undefined> {
    return this.inTurn(async () => {
      const tip = await this.fetchAgain();
      if (tip === NONE) return undefined;
      // The branch only moves forward.
      const { length, lines: from } = this.loaded;
      const lines = tip.text.slice(length).split(/\r?\n/);
      this.loaded = { length: tip.text.lastIndexOf('\n') + 1, lines: from + lines.length - 1 };
      return { from, lines };
    });
  }

  /** Commands read the log before they write. */
  write(lines: readonly string[]): Promise<void> {
    return this.inTurn(() => this.append(lines));
  }

  async prepare(): Promise<undefined> {
    await this.inTurn(async () => {
      if ((await this.fetchAgain()) === NONE) await this.append([]);
    });
  }

  async check(): Promise<void> {
    await this.inTurn(() => this.fetchAgain());
  }

  async close(): Promise<void> {
    const directory = await this.clone?.catch(() => undefined);
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }

  /** Pushes until the branch has the lines. Gives up if nobody else moves the branch, and it cannot either. */
  private async append(lines: readonly string[]): Promise<void> {
    const { clock } = this.deps;
    let until = clock.monotonic() + PERSISTENCE_MS;
    for (let attempt = 0; ; attempt += 1) {
      const base = this.known;
      const why = await this.push(base, lines);
      if (why === undefined) return;
      await backOff(this.deps, attempt);
      const isLate = clock.monotonic() >= until;
      const now = await this.fetch().catch((error: unknown) => {
        if (!isUnreachable(error) || isLate) throw error;
        return base;
      });
      // A push arrived although its answer did not.
      if (now !== NONE && lines.every((line) => now.text.includes(line))) return;
      // Others were first: as long as they make progress, this process will.
      if (now.commit !== base.commit) until = clock.monotonic() + PERSISTENCE_MS;
      else if (isLate || FINAL.test(why)) {
        const hint = 'Allow this user to push to the branch: it must not be protected, and only moves forward.';
        throw this.unavailable('cannot be updated', { why, hint });
      }
    }
  }

  private fetchAgain(): Promise<Tip> {
    return persist(
      this.deps,
      () => this.fetch(),
      (error) => {
        if (!isUnreachable(error) || FINAL.test(error.info.why ?? '')) throw error;
      },
    );
  }

  /** @returns `NONE` without a branch @throws StateUnavailableError if it is unreachable, no state, or set back */
  private async fetch(): Promise<Tip> {
    const tip = await this.fetchTip();
    // What the branch no longer has may be the record of something that exists.
    if (this.known !== NONE && (tip === NONE || !tip.text.startsWith(this.known.text))) {
      throw this.unavailable('was deleted or set back during this run', {
        why: 'It no longer has the records that this run has read.',
        hint: 'Restore the branch, and forbid force pushes and deletion there.',
      });
    }
    this.known = tip;
    return tip;
  }

  private async fetchTip(): Promise<Tip> {
    const ref = `+refs/heads/${this.branch}:refs/state`;
    try {
      await this.git(['fetch', '--quiet', '--depth=1', '--no-tags', this.url, ref]);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      const { why = '' } = error.info;
      if (/couldn't find remote ref/i.test(why)) return NONE;
      const hint = `Check the address, and that git can log in without a question: git ls-remote '${this.url}'`;
      throw this.unavailable('cannot be reached', { why, hint, cause: error });
    }
    const commit = (await this.git(['rev-parse', 'refs/state'])).trim();
    if (commit === this.known.commit) return this.known;
    const files = (await this.git(['ls-tree', '--name-only', commit])).trim();
    // An append would remove other files, and one that starts anew does not know what exists.
    if (files !== FILE) {
      throw this.unavailable('is not a state', {
        why: `It must have the file ${FILE}, and no other. It has: ${files.replaceAll('\n', ', ') || 'none'}`,
        hint: 'Check the address. Restore the file if it was there, and remove other files.',
      });
    }
    return { commit, text: await this.git(['cat-file', 'blob', `${commit}:${FILE}`]) };
  }

  /** Commits the log, and pushes it unless the branch moved. @returns why it failed; a failed push may still arrive */
  private async push({ commit, text: before }: Tip, lines: readonly string[]): Promise<string | undefined> {
    const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`;
    const text = `${ended}${lines.map((line) => `${line}\n`).join('')}`;
    const blob = (await this.git(['hash-object', '-w', '--stdin'], text)).trim();
    const tree = (await this.git(['mktree'], `100644 blob ${blob}\t${FILE}\n`)).trim();
    const parents = commit === '' ? [] : ['-p', commit];
    const next = (await this.git(['commit-tree', tree, ...parents, '-m', 'Add records'])).trim();
    const ref = `refs/heads/${this.branch}`;
    const lease = `--force-with-lease=${ref}:${commit}`;
    try {
      await this.git(['push', '--porcelain', '--no-verify', lease, this.url, `${next}:${ref}`]);
    } catch (error) {
      if (error instanceof GitError) return error.info.why ?? '';
      throw error;
    }
    this.known = { commit: next, text };
    return undefined;
  }

  private async makeClone(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-git-')).catch((cause: unknown) => {
      const info = { why: describeFileError(cause), hint: 'Set TMPDIR to another directory.', cause };
      throw new LocalError(`A temporary directory cannot be made in ${tmpdir()}.`, info);
    });
    await runGit(['init', '--quiet', '--bare', '--template=', directory], this.deps);
    return directory;
  }

  private async git(args: readonly string[], input = ''): Promise<string> {
    this.clone ??= this.makeClone();
    const { env, signal } = this.deps;
    return await runGit([`--git-dir=${await this.clone}`, ...args], { env, signal, input });
  }

  private unavailable(what: string, { hint, ...info }: ErrorInfo): StateUnavailableError {
    return new StateUnavailableError(`The branch ${this.branch} of the state ${what}: ${this.label}`, {
      ...info,
      hint: `Nothing more is sent to the service. ${hint}`,
    });
  }
}
