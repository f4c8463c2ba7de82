import { mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import { makeDirectories } from '../config/make-directories.ts';
import { describeFileError, LocalError, PartnerctlError, StateUnavailableError } from '../errors.ts';
import { explanation, isRefusal, loginHint } from './git-errors.ts';
import { removeLeftovers } from './git-leftovers.ts';
import { type GitResult, runGit } from './run-git.ts';
import type { Environment } from '../state/location.ts';

/*
 * A branch of a remote repository that only moves forward and has the log as one file. This machine caches a bare, shallow
 * clone of it, and the last tip that it saw. The clone is not partial: an update fetches only a delta, whereas a partial
 * clone fetches the whole file each time.
 */

/** The file with the records. */
export const FILE_NAME = 'state.jsonl';

export interface GitTarget {
  /** The address without a password. */
  readonly label: string;
  /** The URL for git. */
  readonly url: string;
  readonly branch: string;
  /** The directory of this machine's clone. */
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
  /** The log; undefined if the branch does not have it. */
  readonly content: Buffer | undefined;
}

/** `rejected`: the server rejects the push by its own rules. `unclear`: the branch may or may not have moved. */
export type PushResult = { readonly kind: 'landed' } | { readonly kind: 'rejected' | 'unclear'; readonly why: string };

/** Collects garbage after about 100 appends, in the foreground, and keeps the recent objects of other processes. */
const TIDY_SETTINGS = ['gc.auto=200', 'gc.autoDetach=false', 'gc.pruneExpire=1.hour.ago', 'pack.threads=1'];

/** Returns the error for a clone that cannot be created in a directory. */
function cannotClone(directory: string, why: string): StateUnavailableError {
  return new StateUnavailableError(`git cannot make a repository in ${directory}`, {
    why,
    hint: 'Nothing was sent to the service. It needs space and permission to write there, or in another directory: XDG_CACHE_HOME.',
  });
}

async function exists(repository: string): Promise<boolean> {
  return (await stat(join(repository, 'HEAD')).catch(() => undefined)) !== undefined;
}

/** A branch of a remote repository, and the clone of it on this machine. */
export class GitRepository {
  private readonly deps: GitDeps;
  private readonly ref: string;
  private readonly seenRef: string;
  /** The branch as this process fetched it. Other processes use the same clone. */
  private readonly fetchedRef: string;
  private snapshot: Snapshot | undefined;
  /** The last tip that this machine saw; null if it saw none. */
  private seen: string | null | undefined;
  /** The other entries in the root of a commit. */
  private others: { readonly tip: string; readonly entries: readonly string[] } | undefined;

  constructor(deps: GitDeps) {
    this.deps = deps;
    this.ref = `refs/heads/${deps.target.branch}`;
    this.seenRef = `refs/partnerctl/${deps.target.branch}`;
    this.fetchedRef = `refs/fetched/${deps.newId()}`;
  }

  /** The branch as this process saw it last. */
  get known(): Snapshot | undefined {
    return this.snapshot;
  }

  /**
   * Fetches the branch.
   * @throws StateUnavailableError if the server cannot be reached; LocalError if the branch was rewritten or is gone
   */
  async fetch(): Promise<Snapshot> {
    // Read before the fetch: another process may see a newer tip during it.
    this.seen ??= await this.readSeen();
    const { tip, blob } = (await this.fetchBranch()) ? await this.readFetched() : {};
    if (this.snapshot && tip === this.snapshot.tip) return this.snapshot;
    await this.checkForward(tip);
    const content = blob === undefined ? undefined : await this.read(['cat-file', 'blob', blob]);
    this.snapshot = { tip, content };
    return this.snapshot;
  }

  /** Commits the log on top of a tip. @returns the id of the commit */
  async commit({ tip }: Snapshot, content: Buffer, message: string): Promise<string> {
    const blob = await this.readId(['hash-object', '-w', '--stdin'], content);
    const entries = [...(await this.entriesBeside(tip)), `100644 blob ${blob}\t${FILE_NAME}`];
    const tree = await this.readId(['mktree', '-z'], Buffer.from(entries.map((entry) => `${entry}\0`).join('')));
    const parents = tip === undefined ? [] : ['-p', tip];
    return await this.readId(['commit-tree', tree, ...parents, '-m', message]);
  }

  /** Moves the branch from a tip to a commit, unless the branch has moved since. */
  async push(commit: string, { tip }: Snapshot): Promise<PushResult> {
    const lease = `--force-with-lease=${this.ref}:${tip ?? ''}`;
    const refspec = `${commit}:${this.ref}`;
    const result = await this.git(['push', '--porcelain', '--no-verify', lease, this.deps.target.url, refspec]);
    if (result.code === 0) return { kind: 'landed' };
    const line = result.stdout
      .toString()
      .split('\n')
      .find((each) => each.startsWith('!'));
    const why = [line?.slice(1).trim(), explanation(result)].filter((each) => each).join('\n');
    const isRejected = line === undefined ? /hash algorithm/.test(why) : isRefusal(line);
    return { kind: isRejected ? 'rejected' : 'unclear', why };
  }

  /** Whether a commit is an ancestor of a tip. */
  async contains(tip: string, commit: string): Promise<boolean> {
    const result = await this.git(['merge-base', '--is-ancestor', commit, tip]);
    // Any other code means that the history could not be read, not that it was rewritten.
    if (result.code !== 0 && result.code !== 1) throw this.failure('merge-base', result);
    return result.code === 0;
  }

  /** Records that the branch has this content at this commit, without fetching it. */
  async remember(tip: string, content: Buffer, base: Snapshot): Promise<void> {
    if (this.others && this.others.tip === base.tip) this.others = { ...this.others, tip };
    this.snapshot = { tip, content };
    await this.see(tip);
  }

  /** Collects garbage in the clone, which grows by a copy of the log with each append. Removes files of killed processes. */
  async close(): Promise<void> {
    const { abortSignal, target, clock } = this.deps;
    if (this.snapshot === undefined || abortSignal.aborted || !(await exists(target.cache))) return;
    await removeLeftovers(target.cache, clock.now(), this.seenRef);
    await this.git(['update-ref', '-d', this.fetchedRef]);
    await this.git([...TIDY_SETTINGS.flatMap((setting) => ['-c', setting]), 'gc', '--auto', '--quiet']);
  }

  unavailable(why: string): StateUnavailableError {
    return new StateUnavailableError(`The git repository of the state cannot be reached: ${this.deps.target.label}`, {
      why,
      hint: `Nothing more is sent to the service while the state cannot be read and written. ${loginHint(why, this.deps.target.url)}`,
    });
  }

  private git(args: readonly string[], input?: Buffer, directory = this.deps.target.cache): Promise<GitResult> {
    const { env, abortSignal: signal } = this.deps;
    return runGit(args, { directory, env, input, signal });
  }

  private async read(args: readonly string[], input?: Buffer): Promise<Buffer> {
    const result = await this.git(args, input);
    if (result.code === 0) return result.stdout;
    throw this.failure(args[0], result);
  }

  /** Returns the error for a failure in the clone. Records can be published later, as when the server cannot be reached. */
  private failure(command: string | undefined, result: GitResult): StateUnavailableError {
    return new StateUnavailableError(`git ${command} failed in ${this.deps.target.cache}`, {
      why: explanation(result),
      hint: 'Run the command again. If that does not help, remove this directory: it only holds copies.',
    });
  }

  private async readId(args: readonly string[], input?: Buffer): Promise<string> {
    return (await this.read(args, input)).toString().trim();
  }

  private async entriesBeside(tip: string | undefined): Promise<readonly string[]> {
    if (tip === undefined) return [];
    if (this.others?.tip === tip) return this.others.entries;
    const all = (await this.read(['ls-tree', '-z', tip])).toString().split('\0');
    const entries = all.filter((entry) => entry !== '' && !entry.endsWith(`\t${FILE_NAME}`));
    this.others = { tip, entries };
    return entries;
  }

  /** Fetches the branch into the clone, which is created if necessary. @returns whether the branch exists */
  private async fetchBranch(): Promise<boolean> {
    const { cache } = this.deps.target;
    if (!(await exists(cache))) {
      const found = await this.clone().catch(async (error: unknown) => {
        throw error instanceof PartnerctlError ? error : cannotClone(cache, describeFileError(error));
      });
      if (found !== undefined) return found;
    }
    return await this.fetchInto(cache);
  }

  /**
   * Creates the clone atomically, so that processes that start together never see an incomplete one.
   * @returns whether the branch exists; undefined if another process created the clone
   */
  private async clone(): Promise<boolean | undefined> {
    const { cache } = this.deps.target;
    await makeDirectories(dirname(cache));
    const parent = await mkdtemp(join(dirname(cache), `${basename(cache)}-`));
    try {
      // For a missing branch, git does not say which object format the server uses: try the one of the user first.
      const formats = ['sha1', 'sha256'] as const;
      for (const format of this.deps.env.GIT_DEFAULT_HASH === 'sha256' ? formats.toReversed() : formats) {
        const fresh = join(parent, format);
        await this.init(fresh, format);
        const found = await this.fetchInto(fresh, '--depth=1').catch((error: unknown) => {
          const isOther = error instanceof StateUnavailableError && /mismatched algorithms/.test(error.info.why ?? '');
          if (isOther) return undefined;
          throw error;
        });
        if (found === undefined) continue;
        if (await exists(cache)) return undefined;
        await rename(fresh, cache);
        return found;
      }
    } catch (error) {
      if (!(await exists(cache))) throw error;
    } finally {
      await rm(parent, { recursive: true, force: true });
    }
    return undefined;
  }

  private async init(directory: string, format: 'sha1' | 'sha256'): Promise<void> {
    const options = format === 'sha1' ? [] : [`--object-format=${format}`];
    const result = await this.git(
      ['init', '--quiet', '--bare', '--template=', ...options, directory],
      undefined,
      directory,
    );
    if (result.code === 0) return;
    throw cannotClone(directory, explanation(result));
  }

  /** @returns whether the branch exists @throws StateUnavailableError */
  private async fetchInto(directory: string, ...options: readonly string[]): Promise<boolean> {
    const refspec = `+${this.ref}:${this.fetchedRef}`;
    const always = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', ...options];
    const fetched = await this.git([...always, this.deps.target.url, refspec], undefined, directory);
    if (fetched.code === 0) return true;
    if (/couldn't find remote ref/i.test(fetched.stderr)) return false;
    throw this.unavailable(explanation(fetched));
  }

  /** @returns the fetched tip, and the log in it */
  private async readFetched(): Promise<{ tip: string; blob: string | undefined }> {
    const input = Buffer.from(`${this.fetchedRef}\n${this.fetchedRef}:${FILE_NAME}\n`);
    const lines = (await this.read(['cat-file', '--batch-check'], input)).toString().split('\n');
    const [tip = '', blob = ''] = lines.map((line) => line.split(' '));
    return { tip: tip[0] ?? '', blob: blob[1] === 'blob' ? blob[0] : undefined };
  }

  private async readSeen(): Promise<string | null> {
    if (!(await exists(this.deps.target.cache))) return null;
    const seen = await this.git(['rev-parse', '--verify', '--quiet', this.seenRef]);
    if (seen.code === 1) return null;
    if (seen.code !== 0) throw this.failure('rev-parse', seen);
    return seen.stdout.toString().trim();
  }

  private async see(tip: string): Promise<void> {
    this.seen = tip;
    await this.git(['update-ref', this.seenRef, tip]);
  }

  /** @throws LocalError if the branch lost commits that this machine has seen */
  private async checkForward(tip: string | undefined): Promise<void> {
    const { target } = this.deps;
    const last = this.seen ?? undefined;
    if (tip === last) return;
    if (tip !== undefined && (last === undefined || (await this.contains(tip, last)))) return await this.see(tip);
    const state = tip === undefined ? 'is gone' : 'no longer contains it';
    throw new LocalError(`The history of the state was rewritten: ${target.label}`, {
      why: `This machine has seen commit ${last}, but branch ${target.branch} ${state}. Records may be missing.`,
      // The server accepts a push from this shallow clone only if it still has the parents of the first commit in the clone.
      hint: `Restore the branch: git --git-dir=${target.cache} push --force ${target.url} ${last}:${this.ref}. If that is not allowed, on the server: git update-ref ${this.ref} ${last}. If the rewrite was meant, remove ${target.cache}.`,
    });
  }
}
