import { hostname, userInfo } from 'node:os';
import type { RecordAuthor } from './record.ts';
import type { Environment } from '../state/location.ts';

/** Returns the URL of the run in GitHub Actions, GitLab CI, or another system that provides it. */
function runAddress(env: Environment): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: id } = env;
  if (server && repository && id) return `${server}/${repository}/actions/runs/${id}`;
  return env.CI_JOB_URL || env.BUILD_URL || undefined;
}

function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    // The user id has no name, as often in containers.
    return null;
  }
}

/** Describes the user, the machine, and the CI run, for the records of this process. */
export function describeAuthor(env: Environment, version: string): RecordAuthor {
  const run = runAddress(env);
  const user = env.GITHUB_ACTOR || env.GITLAB_USER_LOGIN || userName();
  return { user, host: hostname(), version, ...(run !== undefined && { run }) };
}
