import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { LocalError, StateUnavailableError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import type { StateLocation } from './location.ts';
import type { LogDriver } from './log.ts';
import { explanation, type GitResult, runGit } from './run-git.ts';

/*
 * The log is the file state.jsonl of a branch that only moves forward. An append is a commit, pushed on the condition that the
 * branch has not moved: the server decides the order. After a failed push, whatever its message, the branch itself says whether
 * it has the lines. Each process has a shallow clone of its own, because processes that share one collide on git's locks.
 */

const FILE = 'state.jsonl';
/** How long to repeat a push while nobody else moves the branch. */
const PERSISTENCE_MS = 60_000;

/** A branch of a git repository. */
export interface GitTarget {
  /** The address without a password. */
  readonly label: string;
  /** The URL for git. */
  readonly url: string;
  readonly branch: string;
}

/** Reads `git+ssh://host/path#branch`. @throws UsageError if a part of it is not valid */
export function gitTarget({ address, password }: Pick<StateLocation, 'address' | 'password'>): GitTarget {
  const url = new URL(address);
  const branch = decodeURIComponent(url.hash.slice(1)) || 'partnerctl-state';
  // The rules of `git check-ref-format`.
  if (!/^[A-Za-z0-9_][A-Za-z0-9_./-]*$/.test(branch) || /\.\.|\/\/|\/$|\.$|\.lock(\/|$)|\/\./.test(branch)) {
    throw new UsageError(`${JSON.stringify(branch)} is not the name of a branch.`, {
      hint: 'Put the branch behind #, for example: git+ssh://git@host/path.git#partnerctl-state',
    });
  }
  // ssh would read them as options.
  if ([url.hostname, decodeURIComponent(url.username)].some((name) => name.startsWith('-'))) {
    throw new UsageError('The host and the user in the address of the state must not start with "-".', {
      hint: 'For example: git+ssh://git@host/path.git#branch',
    });
  }
  if (password !== undefined) {
    throw new UsageError('The address of the state must not hold a password for git.', {
      hint: 'git keeps passwords in its credential helper: git help credentials',
    });
  }
  url.hash = '';
  return { label: address, url: url.href.replace(/^git\+/, ''), branch };
}

export interface GitDeps {
  readonly target: GitTarget;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends every wait. */
  readonly signal: AbortSignal;
  readonly warn: (text: string) => Promise<void>;
}

/** Whether the server refuses the push by its own rules. Another pusher may have been faster otherwise. */
function isRefusal(why: string): boolean {
  const isContention =
    /lock|failed to update ref|already (exists|been updated)|incorrect old value|internal|stale info/i;
  return /\[remote rejected\]/.test(why) && !isContention.test(why);
}

/** The branch at one moment. */
interface Tip {
  /** Undefined if there is no branch. */
  readonly commit: string | undefined;
  /** The log; undefined if the branch has no such file. */
  readonly text: string | undefined;
}

/** The branch, and this process's clone of it. Its methods must not overlap: they would collide on the clone's locks. */
class Branch {
  private readonly deps: GitDeps;
  private readonly ref: string;
  private clone: Promise<string> | undefined;
  /** The branch as this process saw it last. */
  known: Tip | undefined;

  constructor(deps: GitDeps) {
    this.deps = deps;
    this.ref = `refs/heads/${deps.target.branch}`;
  }

  /** @throws StateUnavailableError if the server cannot be reached */
  async fetch(): Promise<Tip> {
    const { url } = this.deps.target;
    const fetched = await this.git(['fetch', '--quiet', '--depth=1', '--no-tags', url, `+${this.ref}:refs/state`]);
    if (fetched.code !== 0) {
      if (!/couldn't find remote ref/i.test(fetched.stderr)) throw this.unavailable(explanation(fetched));
      return { commit: undefined, text: undefined };
    }
    const commit = (await this.output(['rev-parse', 'refs/state'])).trim();
    if (commit === this.known?.commit) return this.known;
    const file = await this.git(['cat-file', 'blob', `${commit}:${FILE}`]);
    this.known = { commit, text: file.code === 0 ? file.stdout : undefined };
    return this.known;
  }

  /**
   * Commits the log beside the other files of the branch, and pushes it unless the branch has moved since.
   * @returns why it failed; undefined if it did not. A failed push may still arrive
   */
  async push({ commit }: Tip, text: string, message: string): Promise<string | undefined> {
    const blob = (await this.output(['hash-object', '-w', '--stdin'], text)).trim();
    const all = commit === undefined ? [] : (await this.output(['ls-tree', '-z', commit])).split('\0');
    const others = all.filter((entry) => entry !== '' && !entry.endsWith(`\t${FILE}`));
    const entries = [...others, `100644 blob ${blob}\t${FILE}`].map((entry) => `${entry}\0`);
    const tree = (await this.output(['mktree', '-z'], entries.join(''))).trim();
    const parents = commit === undefined ? [] : ['-p', commit];
    const next = (await this.output(['commit-tree', tree, ...parents, '-m', message])).trim();
    const lease = `--force-with-lease=${this.ref}:${commit ?? ''}`;
    const target = [this.deps.target.url, `${next}:${this.ref}`];
    const pushed = await this.git(['push', '--porcelain', '--no-verify', lease, ...target]);
    if (pushed.code !== 0) return explanation(pushed);
    this.known = { commit: next, text };
    return undefined;
  }

  async close(): Promise<void> {
    const directory = await this.clone?.catch(() => undefined);
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }

  unavailable(why: string): StateUnavailableError {
    const { label, url } = this.deps.target;
    const advice = /host key/i.test(why)
      ? 'This machine does not know the key of the server, or knows another one. Check it, and accept it by logging in with ssh once; in CI, put it into ~/.ssh/known_hosts.'
      : `Check the address, and that git can log in without a question: git ls-remote '${url}'`;
    return new StateUnavailableError(`The git repository of the state cannot be reached: ${label}`, {
      why,
      hint: `Nothing more is sent to the service while the state cannot be read and written. ${advice}`,
    });
  }

  private async makeClone(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-git-'));
    const made = await runGit(['init', '--quiet', '--bare', '--template=', directory], this.deps);
    if (made.code === 0) return directory;
    throw new LocalError(`git cannot make a repository in ${directory}`, {
      why: explanation(made),
      hint: 'Nothing was sent to the service. Free some space, or name another directory with TMPDIR.',
    });
  }

  private async git(args: readonly string[], input?: string): Promise<GitResult> {
    this.clone ??= this.makeClone();
    const { env, signal } = this.deps;
    return await runGit([`--git-dir=${await this.clone}`, ...args], { env, signal, input });
  }

  private async output(args: readonly string[], input?: string): Promise<string> {
    const result = await this.git(args, input);
    if (result.code === 0) return result.stdout;
    throw new LocalError(`git ${args[0]} failed in ${await this.clone}`, {
      why: explanation(result),
      hint: 'Nothing was sent to the service. Is there space left, and is git 2.29 or newer?',
    });
  }
}

class GitLog implements LogDriver {
  private readonly deps: GitDeps;
  private readonly branch: Branch;
  private readonly inTurn = pLimit(1);

  constructor(deps: GitDeps) {
    this.deps = deps;
    this.branch = new Branch(deps);
  }

  get label(): string {
    return this.deps.target.label;
  }

  load(): Promise<readonly string[] | undefined> {
    return this.inTurn(async () => {
      const tip = await this.branch.fetch();
      return tip.commit === undefined ? undefined : this.textOf(tip).split(/\r?\n/);
    });
  }

  write(lines: readonly string[]): Promise<void> {
    return this.inTurn(async () => {
      const base = this.branch.known ?? (await this.branch.fetch());
      await this.append(base, lines, (tip) => this.textOf(tip));
      if (base.commit !== undefined) return;
      const { target, warn } = this.deps;
      await warn(
        `The branch ${target.branch} did not exist, and was created: ${target.label}. If the state should already be there, check the address.`,
      );
    });
  }

  async prepare(): Promise<undefined> {
    await this.inTurn(async () => {
      const base = await this.branch.fetch();
      if (base.text !== undefined) return;
      await this.append(base, [], ({ text = '' }) => text);
      if (base.commit === undefined) return;
      const { target, warn } = this.deps;
      await warn(`Branch ${target.branch} already has other files; ${FILE} was added to it: ${target.label}`);
    });
  }

  async check(): Promise<void> {
    await this.load();
  }

  close(): Promise<void> {
    return this.branch.close();
  }

  /** Returns the log; empty if there is no branch. @throws StateUnavailableError if the branch has other files only */
  private textOf({ commit, text }: Tip): string {
    if (text !== undefined || commit === undefined) return text ?? '';
    const { branch, label } = this.deps.target;
    throw new StateUnavailableError(`There is no state at ${label}`, {
      why: `Branch ${branch} does not have the file ${FILE}.`,
      hint: `Check the address. For a new state: partnerctl state init '${label}'. If the file was there, restore it instead: a new one does not know what exists.`,
    });
  }

  /** Pushes until the branch has the lines. Gives up if nobody else moves the branch, and it cannot either. */
  private async append(start: Tip, lines: readonly string[], textOf: (tip: Tip) => string): Promise<void> {
    const { clock, random, signal } = this.deps;
    const message = `Add ${lines.length} ${lines.length === 1 ? 'record' : 'records'}`;
    let base = start;
    let until = clock.monotonic() + PERSISTENCE_MS;
    for (let attempt = 0; ; attempt += 1) {
      const before = textOf(base);
      const ended = before === '' || before.endsWith('\n') ? before : `${before}\n`;
      const why = await this.branch.push(base, `${ended}${lines.map((line) => `${line}\n`).join('')}`, message);
      if (why === undefined) return;
      await clock.sleep(random() * 50 * 2 ** Math.min(attempt, 4), signal);
      const now = await this.fetchAfter(base, until);
      const wasSetBack = base.text !== undefined && now !== base && !now.text?.startsWith(base.text);
      if (wasSetBack) throw this.setBack();
      // A push arrived although its answer did not.
      if (now.text !== undefined && lines.every((line) => now.text?.includes(line))) return;
      // Others were first: as long as they make progress, this process will.
      if (now.commit !== base.commit) until = clock.monotonic() + PERSISTENCE_MS;
      else if (isRefusal(why)) throw this.refused(why);
      else if (clock.monotonic() >= until) throw this.branch.unavailable(why);
      base = now;
    }
  }

  /** @returns the branch as it is now; as it was if the server cannot be reached, until it is late */
  private async fetchAfter(base: Tip, until: number): Promise<Tip> {
    try {
      return await this.branch.fetch();
    } catch (error) {
      if (error instanceof StateUnavailableError && this.deps.clock.monotonic() < until) return base;
      throw error;
    }
  }

  /** Only additions are expected. What the branch no longer has may be the record of something that exists. */
  private setBack(): StateUnavailableError {
    const { branch, label } = this.deps.target;
    return new StateUnavailableError(`Branch ${branch} was deleted or set back during this run: ${label}`, {
      why: 'It no longer has the records that this run has read.',
      hint: 'Nothing more is sent to the service. Restore the branch, and forbid force pushes and deletion there.',
    });
  }

  private refused(why: string): StateUnavailableError {
    const { branch, label } = this.deps.target;
    return new StateUnavailableError(`The git server refuses to update branch ${branch}: ${label}`, {
      why,
      hint: 'Nothing more is sent to the service. Allow this user to push to the branch: it must not be protected, and only moves forward.',
    });
  }
}

/** The log on a branch of a git repository. Connects with the first read or write. */
export function gitLog(deps: GitDeps): LogDriver {
  return new GitLog(deps);
}
