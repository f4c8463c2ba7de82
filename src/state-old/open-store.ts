import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import type { Clock } from '../clock.ts';
import { describeFileError, LocalError, StateUnavailableError, UsageError } from '../errors.ts';
import type { Redact } from './append.ts';
import { fileStore } from './file-store.ts';
import type { GitTarget } from './git-repository.ts';
import type { PostgresDeps } from './postgres-store.ts';
import { type RecordAuthor, randomRecordId } from './record.ts';
import { readRecovery, removeRecovery, writeRecovery } from './recovery.ts';
import type { Environment, StateLocation } from '../state/location.ts';
import { isKept, type OtherMachine, type RecordStore, type StateStore } from './store.ts';

export interface StoreDeps {
  readonly location: StateLocation;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redact: Redact;
  readonly addSecret: (text: string) => void;
  readonly warn?: (text: string) => Promise<void>;
  readonly author: RecordAuthor;
  /** Aborts when the command is interrupted or its time is up. */
  readonly abortSignal: AbortSignal;
  readonly machine?: OtherMachine | undefined;
  /** Reads the password of the database from the profile. */
  readonly readPassword?: () => Promise<string | undefined>;
}

/** How long a store may continue after the command was interrupted, to record what was created. */
const GRACE_MS = 5000;

/** Returns a signal that aborts `GRACE_MS` after another one. */
function delayed(signal: AbortSignal, clock: Clock): AbortSignal {
  const controller = new AbortController();
  const abort = async (): Promise<void> => {
    await clock.sleep(GRACE_MS);
    controller.abort(signal.reason);
  };
  signal.addEventListener('abort', () => void abort(), { once: true });
  return controller.signal;
}

async function readCertificates(path: string | null): Promise<string | undefined> {
  if (path === null || path === 'system') return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new LocalError(`The certificates of the database cannot be read: ${path}`, {
      why: describeFileError(error),
      hint: 'Correct sslrootcert in the address of the state.',
      cause: error,
    });
  }
}

/** Prepares access to a database. @throws UsageError for an invalid address; LocalError if a file cannot be read */
async function postgresDeps(deps: StoreDeps): Promise<PostgresDeps> {
  const { location, env, addSecret } = deps;
  const { postgresTarget } = await import('../state/postgres-address.ts');
  const { findPassword } = await import('../state/postgres-password.ts');
  const ca = await readCertificates(new URL(location.address).searchParams.get('sslrootcert'));
  const target = postgresTarget(location.address, { password: undefined, ca });
  const given = location.password ?? (env.PGPASSWORD || undefined) ?? (await deps.readPassword?.());
  const password = given ?? (await findPassword(target.connection, env));
  if (password !== undefined) addSecret(password);
  const connection = { ...target.connection, ...deps.machine?.via, ...(password !== undefined && { password }) };
  return { ...deps, abortSignal: delayed(deps.abortSignal, deps.clock), target: { ...target, connection } };
}

function cacheDirectory(env: Environment): string {
  const xdg = env.XDG_CACHE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(env.HOME || homedir(), '.cache'), 'partnerctl');
}

/** Reads `git+ssh://host/path#branch`. @throws UsageError if the name of the branch is not valid */
function gitTarget({ address, password }: StateLocation, directory: string): GitTarget {
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
  const cache = join(directory, 'git', hash('sha256', `${url.href}#${branch}`, 'hex').slice(0, 16));
  return { label: address, url: url.href.replace(/^git\+/, ''), branch, cache };
}

async function openUnsigned(deps: StoreDeps): Promise<StateStore> {
  const { location, redact, env, clock, machine } = deps;
  switch (location.kind) {
    case 'file':
      return fileStore(location.path, redact);
    case 'postgres': {
      const { postgresStore } = await import('./postgres-store.ts');
      return postgresStore(await postgresDeps(deps));
    }
    case 'git': {
      const { gitStore } = await import('./git-store.ts');
      const abortSignal = delayed(deps.abortSignal, clock);
      const own = {
        target: gitTarget(location, machine?.directory ?? cacheDirectory(env)),
        newId: randomRecordId,
        localPath: location.path,
      };
      return gitStore({ ...deps, ...own, abortSignal });
    }
  }
}

/** Publishes the records that an earlier run could not. @throws LocalError */
async function publishLeftovers(store: RecordStore, path: string): Promise<void> {
  const files = await readRecovery(path);
  await Promise.all(
    files.map(async (file) => {
      await store.append(file.record, { kind: 'other' });
      await removeRecovery(file);
    }),
  );
}

/**
 * Opens the store at a location (design §6). Reads and connects only when it is first used. Adds the author to each record.
 * Records that cannot be published to a shared store are kept in recovery files, which the next run publishes first. Until
 * that succeeds, the store can be read, but nothing can be appended.
 * @throws UsageError if the address is not valid; LocalError if a file that it names cannot be read
 */
export async function openStore(deps: StoreDeps): Promise<StateStore> {
  const { location, author } = deps;
  const store = await openUnsigned(deps);
  let publishing: Promise<void> | undefined;
  const publish = async (): Promise<void> => {
    if (location.kind === 'file') return;
    publishing ??= publishLeftovers(store.open(), location.path);
    await publishing;
  };
  let warning: Promise<void> | undefined;
  const warnUnpublished = async (error: unknown): Promise<void> => {
    if (!(error instanceof StateUnavailableError)) throw error;
    const message = `The state is read without what an earlier command could not record. It waits in ${dirname(location.path)}.`;
    warning ??= deps.warn?.(`${message} ${error.message}`);
    await warning;
  };
  return {
    ...store,
    open(options) {
      const own = store.open(options);
      return {
        async *readNew() {
          // Who may only read cannot publish. Without these records an outcome is unknown at worst, and `append` still fails.
          await publish().catch(warnUnpublished);
          yield* own.readNew();
        },
        async append(record, role) {
          await publish();
          const signed = { ...record, by: author };
          try {
            await own.append(signed, role);
          } catch (error) {
            const isLost = location.kind !== 'file' && isKept(role);
            const mayBePublished = error instanceof StateUnavailableError || deps.abortSignal.aborted;
            if (isLost && mayBePublished) await writeRecovery(location.path, signed);
            throw error;
          }
        },
      };
    },
  };
}
