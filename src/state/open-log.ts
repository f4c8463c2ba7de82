import { hostname, userInfo } from 'node:os';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import { fileLog } from './file-log.ts';
import type { StateLocation } from './location.ts';
import { type Author, Log, type LogDriver, type StoreDeps } from './log.ts';

/** How long the log may be used after the command was interrupted, to record what was created. */
const GRACE_MS = 5000;

function delayed(signal: AbortSignal, clock: Clock): AbortController {
  const controller = new AbortController();
  const abort = (): void => {
    void clock.sleep(GRACE_MS).then(() => controller.abort(signal.reason));
  };
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller;
}

/** Who runs this process: in GitHub Actions, GitLab CI, and Jenkins, also the URL of the run and the commit. */
function authorOf(env: Environment): Author {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: id } = env;
  const github = server && repository && id ? `${server}/${repository}/actions/runs/${id}` : undefined;
  const run = github || env.CI_JOB_URL || env.BUILD_URL || undefined;
  const commit = env.GITHUB_SHA || env.CI_COMMIT_SHA || env.GIT_COMMIT || undefined;
  const user = env.GITHUB_ACTOR || env.GITLAB_USER_LOGIN || userName();
  return { user, host: hostname(), pid: process.pid, run, commit };
}

function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    // The user id has no name, as often in containers.
    return null;
  }
}

async function openDriver(deps: StoreDeps): Promise<LogDriver> {
  const { kind, path } = deps.location;
  if (kind === 'file') return fileLog(path);
  if (kind === 'git') return new (await import('./git-log.ts')).GitLog(deps);
  return new (await import('./postgres-log.ts')).PostgresLog(deps);
}

/** What to say of a state that is begun; undefined if it needs no word. In CI, a branch is begun by `state init` alone. */
function beginNotice(kind: StateLocation['kind'], env: Environment): ((label: string) => string) | undefined {
  if (kind === 'git')
    return (label) =>
      `The branch of the state did not exist, and was created: ${label}. If it should be there, check the address.`;
  // The next run in CI begins without it. A sandbox has a state of its own.
  if (kind !== 'file' || !env.CI || env.PARTNER_SANDBOX_URL) return undefined;
  const share = 'Share one with --state postgres://… or git+ssh://…#branch: partnerctl help state';
  return (label) => `The state is a new file, which guards this run alone: ${label}. ${share}`;
}

/** Opens a log, which connects when first used. The caller closes it. @throws UsageError for an invalid address */
export async function openLog(deps: StoreDeps): Promise<Log> {
  const { env, clock, location, signal, redactor, warn } = deps;
  const onBegin = beginNotice(location.kind, env);
  // A file never waits.
  const store = location.kind === 'file' ? undefined : delayed(signal, clock);
  const driver = await openDriver({ ...deps, signal: store?.signal ?? signal });
  const end = () => store?.abort(new Error('The log was closed.'));
  const interrupt = store && signal;
  return new Log({
    driver,
    author: authorOf(env),
    clock,
    redact: redactor.redact,
    mustExist: location.kind === 'git' && Boolean(env.CI),
    interrupt,
    end,
    ...(onBegin && { onBegin: (label: string) => warn(onBegin(label)) }),
  });
}
