import { mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import { LocalError, StateUnavailableError } from '../errors.ts';
import { makeDirectories } from '../make-directories.ts';
import { type GitResult, runGit } from './git.ts';
import type { Environment } from './location.ts';

/*
 * A branch of a remote repository that only moves forward and holds the log as one file. This machine keeps a bare,
 * shallow clone of it in its cache, and the last tip that it saw.
 */

/** The file of the branch that holds the records. */
const FILE_NAME = 'state.jsonl';

export interface GitTarget {
  /** The address without a password. */
  readonly label: string;
  /** As git takes it. */
  readonly url: string;
  readonly branch: string;
  /** Where this machine keeps its clone. */
  readonly cache: string;
}

export interface GitDeps {
  readonly target: GitTarget;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newId: () => string;
  readonly abortSignal: AbortSignal;
}

/** The branch at one moment. */
export interface Snapshot {
  /** The commit; undefined if the branch does not exist. */
  readonly tip: string | undefined;
  /** The log; empty if the branch does not exist. */
  readonly content: Buffer;
}

/** `rejected`: the server said no for a reason of its own. `unclear`: the answer does not tell whether the branch moved. */
export type PushResult = { readonly kind: 'landed' } | { readonly kind: 'rejected' | 'unclear'; readonly why: string };

function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.at(-1) ?? '';
}

/** What git said, without its hints. */
function explanation({ stderr, code }: GitResult): string {
  const lines = stderr.split('\n').filter((line) => /^(fatal|error|remote|ssh|.*denied|.*refused)/i.test(line));
  return (lines.length > 0 ? lines.join('\n') : lastLine(stderr)).trim() || `git ended with ${code ?? 'a signal'}.`;
}

/** A server that refuses a push by its own rules says so for the branch; other failures leave the outcome open. */
function isRefusal(line: string): boolean {
  return (
    /\[remote rejected\]/.test(line) && !/cannot lock ref|failed to update ref|reference already exists/.test(line)
  );
}

export class GitRepository {
  private readonly deps: GitDeps;
  private readonly ref: string;
  private readonly seenRef: string;
  private snapshot: Snapshot | undefined;

  constructor(deps: GitDeps) {
    this.deps = deps;
    this.ref = `refs/heads/${deps.target.branch}`;
    this.seenRef = `refs/partnerctl/${deps.target.branch}`;
  }

  /**
   * Fetches the branch.
   * @throws StateUnavailableError if the server cannot be reached; LocalError if the branch was rewritten or is gone
   */
  async fetch(): Promise<Snapshot> {
    await this.ensureClone();
    const tip = await this.fetchTip();
    if (tip !== undefined && tip === this.snapshot?.tip) return this.snapshot;
    await this.checkForward(tip);
    const content = tip === undefined ? Buffer.alloc(0) : await this.read(['cat-file', 'blob', `${tip}:${FILE_NAME}`]);
    this.snapshot = { tip, content };
    return this.snapshot;
  }

  /** Makes a commit of the log upon a tip. @returns its id */
  async commit({ tip }: Snapshot, content: Buffer, message: string): Promise<string> {
    const blob = await this.readId(['hash-object', '-w', '--stdin'], content);
    const others = tip === undefined ? '' : (await this.read(['ls-tree', tip])).toString();
    const kept = others.split('\n').filter((line) => line !== '' && !line.endsWith(`\t${FILE_NAME}`));
    const entries = [...kept, `100644 blob ${blob}\t${FILE_NAME}`].join('\n');
    const tree = await this.readId(['mktree'], Buffer.from(`${entries}\n`));
    const parents = tip === undefined ? [] : ['-p', tip];
    return await this.readId(['commit-tree', tree, ...parents, '-m', message]);
  }

  /** Moves the branch from a tip to a commit, unless it has moved meanwhile. */
  async push(commit: string, { tip }: Snapshot): Promise<PushResult> {
    const { url } = this.deps.target;
    const lease = `--force-with-lease=${this.ref}:${tip ?? ''}`;
    const result = await this.git(['push', '--porcelain', '--no-verify', lease, url, `${commit}:${this.ref}`]);
    if (result.code === 0) return { kind: 'landed' };
    const line = result.stdout
      .toString()
      .split('\n')
      .find((each) => each.startsWith('!'));
    const why = [line?.slice(1).trim(), explanation(result)].filter((each) => each).join('\n');
    return { kind: line !== undefined && isRefusal(line) ? 'rejected' : 'unclear', why };
  }

  /** Whether a commit is in the history of another. */
  async contains(tip: string, commit: string): Promise<boolean> {
    const { code } = await this.git(['merge-base', '--is-ancestor', commit, tip]);
    return code === 0;
  }

  /** Remembers that the branch holds this content at this commit, without fetching it. */
  async remember(tip: string, content: Buffer): Promise<void> {
    this.snapshot = { tip, content };
    await this.git(['update-ref', this.seenRef, tip]);
  }

  unavailable(why: string): StateUnavailableError {
    return new StateUnavailableError(`The git repository of the state cannot be reached: ${this.deps.target.label}`, {
      why,
      hint: 'Nothing more is sent to the service while the state cannot be read and written. Check the address and that git can log in without a question: git ls-remote <address>',
    });
  }

  private git(args: readonly string[], input?: Buffer): Promise<GitResult> {
    const { target, env, abortSignal: signal } = this.deps;
    return runGit(args, { directory: target.cache, env, input, signal });
  }

  private async read(args: readonly string[], input?: Buffer): Promise<Buffer> {
    const result = await this.git(args, input);
    if (result.code === 0) return result.stdout;
    throw new LocalError(`git ${args[0]} failed in ${this.deps.target.cache}`, {
      why: explanation(result),
      hint: 'This directory only holds copies. Remove it, and run the command again.',
    });
  }

  private async readId(args: readonly string[], input?: Buffer): Promise<string> {
    return (await this.read(args, input)).toString().trim();
  }

  /** Makes the clone at once under its name, so that processes that start together do not see half of one. */
  private async ensureClone(): Promise<void> {
    const { cache } = this.deps.target;
    if (await stat(join(cache, 'HEAD')).catch(() => undefined)) return;
    await makeDirectories(dirname(cache));
    const fresh = await mkdtemp(join(dirname(cache), `${basename(cache)}-`));
    try {
      const options = { ...this.deps, directory: fresh, signal: this.deps.abortSignal };
      const made = await runGit(['init', '--quiet', '--bare', fresh], options);
      if (made.code !== 0) throw new LocalError(`git cannot make a repository in ${fresh}`, { why: explanation(made) });
      const fetched = await runGit(this.fetchCommand('--depth=1', this.ref), options);
      if (fetched.code !== 0 && !this.saysMissing(fetched)) throw this.unavailable(explanation(fetched));
      await rename(fresh, cache).catch(async (error: unknown) => {
        // Another process made it first.
        if (!(await stat(join(cache, 'HEAD')).catch(() => undefined))) throw error;
      });
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }

  private fetchCommand(option: string, to: string): readonly string[] {
    const refspec = `+${this.ref}:${to}`;
    return ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', option, this.deps.target.url, refspec];
  }

  private saysMissing({ stderr }: GitResult): boolean {
    return /couldn't find remote ref/i.test(stderr);
  }

  /** @returns undefined if the branch does not exist */
  private async fetchTip(): Promise<string | undefined> {
    // A ref of this fetch alone: other processes use the same clone.
    const ref = `refs/fetched/${this.deps.newId()}`;
    const fetched = await this.git(this.fetchCommand('--no-auto-gc', ref));
    if (fetched.code !== 0) {
      if (this.saysMissing(fetched)) return undefined;
      throw this.unavailable(explanation(fetched));
    }
    const tip = await this.readId(['rev-parse', ref]);
    await this.git(['update-ref', '-d', ref]);
    return tip;
  }

  /** @throws LocalError if the branch lost commits that this machine has seen */
  private async checkForward(tip: string | undefined): Promise<void> {
    const { target } = this.deps;
    const seen = await this.git(['rev-parse', '--verify', '--quiet', this.seenRef]);
    const last = seen.code === 0 ? seen.stdout.toString().trim() : undefined;
    if (tip !== undefined && (last === undefined || (await this.contains(tip, last)))) {
      await this.git(['update-ref', this.seenRef, tip]);
      return;
    }
    if (last === undefined) return;
    // Another process may have seen a newer tip after this one was fetched.
    const again = tip !== undefined && (await this.contains(last, tip)) ? await this.fetchTip() : tip;
    if (again !== undefined && again !== tip && (await this.contains(again, last))) return;
    throw new LocalError(`The history of the state was rewritten: ${target.label}`, {
      why: `This machine has seen commit ${last}, which branch ${target.branch} no longer contains. Records may be missing.`,
      hint: `Restore the branch: git push --force-with-lease ${target.url} ${last}:${this.ref} (from ${target.cache}). If the rewrite was meant, remove ${target.cache}.`,
    });
  }
}
