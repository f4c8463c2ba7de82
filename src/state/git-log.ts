import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { LocalError, StateUnavailableError } from '../errors.ts';
import { type GitResult, runGit } from './git.ts';
import type { LogDriver, StoreDeps } from './log.ts';

/*
 * The log is the file state.jsonl, alone on a branch that only moves forward. An append is a commit, pushed on the
 * condition that the branch has not moved: the server decides the order. After a failed push, whatever its message, the
 * branch itself says whether it has the lines. Each process has a shallow clone of its own, because processes that
 * share one collide on git's locks.
 */

const FILE = 'state.jsonl';
/** How long to repeat a push while nobody else moves the branch. */
const PERSISTENCE_MS = 60_000;
/** The server refuses the push by its own rules. Otherwise, another pusher may have been faster. */
const REFUSED = /hook declined|protected branch|permission denied|currently checked out/i;

/** The branch at one moment. */
interface Tip {
  /** Undefined if there is no branch. */
  readonly commit: string | undefined;
  /** The log. */
  readonly text: string;
}

class GitLog implements LogDriver {
  readonly label: string;
  private readonly deps: StoreDeps;
  private readonly url: string;
  private readonly branch: string;
  /** One at a time: commands would collide on the clone's locks. */
  private readonly inTurn = pLimit(1);
  private clone: Promise<string> | undefined;
  /** The branch as this process saw it last. */
  private known: Tip | undefined;

  constructor(deps: StoreDeps) {
    const url = new URL(deps.location.address);
    this.branch = decodeURIComponent(url.hash.slice(1)) || 'partnerctl-state';
    url.hash = '';
    this.url = url.href.replace(/^git\+/, '');
    this.label = deps.location.address;
    this.deps = deps;
  }

  load(): Promise<readonly string[] | undefined> {
    return this.inTurn(async () => {
      const { commit, text } = await this.fetch();
      return commit === undefined ? undefined : text.split(/\r?\n/);
    });
  }

  write(lines: readonly string[]): Promise<void> {
    return this.inTurn(async () => {
      const base = this.known ?? (await this.fetch());
      await this.append(base, lines);
      if (base.commit !== undefined) return;
      await this.deps.warn(
        `The branch ${this.branch} did not exist, and was created: ${this.label}. If the state should already be there, check the address.`,
      );
    });
  }

  async prepare(): Promise<undefined> {
    await this.inTurn(async () => {
      const base = await this.fetch();
      if (base.commit === undefined) await this.append(base, []);
    });
  }

  async check(): Promise<void> {
    await this.load();
  }

  async close(): Promise<void> {
    const directory = await this.clone?.catch(() => undefined);
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }

  /** Pushes until the branch has the lines. Gives up if nobody else moves the branch, and it cannot either. */
  private async append(start: Tip, lines: readonly string[]): Promise<void> {
    const { clock, random, signal } = this.deps;
    let base = start;
    let until = clock.monotonic() + PERSISTENCE_MS;
    for (let attempt = 0; ; attempt += 1) {
      const why = await this.push(base, lines);
      if (why === undefined) return;
      await clock.sleep(random() * 50 * 2 ** Math.min(attempt, 4), signal);
      const isLate = clock.monotonic() >= until;
      const now = await this.fetch().catch((error: unknown) => {
        if (error instanceof StateUnavailableError && !isLate) return base;
        throw error;
      });
      // What the branch no longer has may be the record of something that exists.
      if (base.commit !== undefined && (now.commit === undefined || !now.text.startsWith(base.text))) {
        throw this.unavailable('was deleted or set back during this run', {
          why: 'It no longer has the records that this run has read.',
          hint: 'Restore the branch, and forbid force pushes and deletion there.',
        });
      }
      // A push arrived although its answer did not.
      if (now.commit !== undefined && lines.every((line) => now.text.includes(line))) return;
      // Others were first: as long as they make progress, this process will.
      if (now.commit !== base.commit) until = clock.monotonic() + PERSISTENCE_MS;
      else if (isLate || REFUSED.test(why)) {
        throw this.unavailable('cannot be updated', {
          why,
          hint: 'Allow this user to push to the branch: it must not be protected, and only moves forward.',
        });
      }
      base = now;
    }
  }

  /** @throws StateUnavailableError if the server cannot be reached, or if the branch is no state */
  private async fetch(): Promise<Tip> {
    const ref = `+refs/heads/${this.branch}:refs/state`;
    const { isDone, why } = await this.git(['fetch', '--quiet', '--depth=1', '--no-tags', this.url, ref]);
    if (!isDone && /couldn't find remote ref/i.test(why)) return { commit: undefined, text: '' };
    if (!isDone) {
      const hint = `Check the address, and that git can log in without a question: git ls-remote '${this.url}'`;
      throw this.unavailable('cannot be reached', { why, hint });
    }
    const commit = (await this.local(['rev-parse', 'refs/state'])).trim();
    if (commit === this.known?.commit) return this.known;
    const files = (await this.local(['ls-tree', '--name-only', commit])).trim();
    // An append would remove other files, and one that starts anew does not know what exists.
    if (files !== FILE) {
      throw this.unavailable('is not a state', {
        why: `It must have the file ${FILE}, and no other. It has: ${files.replaceAll('\n', ', ') || 'none'}`,
        hint: 'Check the address. Restore the file if it was there, remove other files, or name a branch that does not exist.',
      });
    }
    this.known = { commit, text: await this.local(['cat-file', 'blob', `${commit}:${FILE}`]) };
    return this.known;
  }

  /**
   * Commits the log, and pushes it unless the branch has moved since.
   * @returns why it failed; undefined if it did not. A failed push may still arrive
   */
  private async push({ commit, text: before }: Tip, lines: readonly string[]): Promise<string | undefined> {
    const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`;
    const text = `${ended}${lines.map((line) => `${line}\n`).join('')}`;
    const blob = (await this.local(['hash-object', '-w', '--stdin'], text)).trim();
    const tree = (await this.local(['mktree'], `100644 blob ${blob}\t${FILE}\n`)).trim();
    const parents = commit === undefined ? [] : ['-p', commit];
    const next = (await this.local(['commit-tree', tree, ...parents, '-m', 'Add records'])).trim();
    const ref = `refs/heads/${this.branch}`;
    const lease = `--force-with-lease=${ref}:${commit ?? ''}`;
    const { isDone, why } = await this.git(['push', '--porcelain', '--no-verify', lease, this.url, `${next}:${ref}`]);
    if (!isDone) return why;
    this.known = { commit: next, text };
    return undefined;
  }

  private async makeClone(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-git-'));
    this.stdoutOf(await runGit(['init', '--quiet', '--bare', '--template=', directory], this.deps));
    return directory;
  }

  private async git(args: readonly string[], input = ''): Promise<GitResult> {
    this.clone ??= this.makeClone();
    const { env, signal } = this.deps;
    return await runGit([`--git-dir=${await this.clone}`, ...args], { env, signal, input });
  }

  /** Runs a command in the clone, which needs no server. */
  private async local(args: readonly string[], input?: string): Promise<string> {
    return this.stdoutOf(await this.git(args, input));
  }

  private stdoutOf({ isDone, stdout, why }: GitResult): string {
    if (isDone) return stdout;
    throw new LocalError(`git failed in ${tmpdir()}`, {
      why,
      hint: 'Nothing was sent to the service. Is there space left, and is git 2.29 or newer? TMPDIR names another directory.',
    });
  }

  private unavailable(what: string, { why, hint }: { readonly why: string; readonly hint: string }) {
    return new StateUnavailableError(`The branch ${this.branch} of the state ${what}: ${this.label}`, {
      why,
      hint: `Nothing more is sent to the service. ${hint}`,
    });
  }
}

/** The log on a branch of a git repository: `git+ssh://host/path#branch`. Connects with the first read or write. */
export function gitLog(deps: StoreDeps): LogDriver {
  return new GitLog(deps);
}
