import { hostname, userInfo } from 'node:os';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import { fileLog } from './file-log.ts';
import type { StateLocation } from './location.ts';
import { type Author, Log, type LogDriver } from './log.ts';

export interface OpenDeps {
  readonly location: StateLocation;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  /** Replaces the secrets in a text. */
  readonly redact: (text: string) => string;
  readonly addSecret: (text: string) => void;
  readonly warn: (text: string) => Promise<void>;
  /** Aborts when the command is interrupted or its time is up. */
  readonly signal: AbortSignal;
}

/** How long the log may be used after the command was interrupted, to record what was created. */
const GRACE_MS = 5000;

/** Returns a signal that aborts `GRACE_MS` after another one. */
function delayed(signal: AbortSignal, clock: Clock): AbortSignal {
  const controller = new AbortController();
  const abort = async (): Promise<void> => {
    await clock.sleep(GRACE_MS);
    controller.abort(signal.reason);
  };
  if (signal.aborted) void abort();
  else signal.addEventListener('abort', () => void abort(), { once: true });
  return controller.signal;
}

/** Who runs this process: in GitHub Actions, GitLab CI, and others, also the URL of the run. */
function authorOf(env: Environment): Author {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: id } = env;
  const github = server && repository && id ? `${server}/${repository}/actions/runs/${id}` : undefined;
  const run = github || env.CI_JOB_URL || env.BUILD_URL || undefined;
  return { user: env.GITHUB_ACTOR || env.GITLAB_USER_LOGIN || userName(), host: hostname(), pid: process.pid, run };
}

function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    // The user id has no name, as often in containers.
    return null;
  }
}

async function openDriver(deps: OpenDeps): Promise<LogDriver> {
  const { location, signal, clock } = deps;
  if (location.kind === 'file') return fileLog(location.path);
  const shared = { ...deps, signal: delayed(signal, clock) };
  if (location.kind === 'git') {
    const { gitLog } = await import('./git-log.ts');
    return gitLog(shared);
  }
  const { postgresLog } = await import('./postgres-log.ts');
  const { postgresTarget } = await import('./postgres-address.ts');
  return postgresLog({ ...shared, target: postgresTarget(deps) });
}

/**
 * Opens the log at a location. Reads and connects only when it is first used; the caller closes it.
 * @throws UsageError if the address is not valid
 */
export async function openLog(deps: OpenDeps): Promise<Log> {
  const { env, clock, redact } = deps;
  return new Log({ driver: await openDriver(deps), author: authorOf(env), clock, redact });
}
