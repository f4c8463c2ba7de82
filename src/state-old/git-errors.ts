import type { GitResult } from './run-git.ts';

/** Lines of git and ssh that do not help here. */
const NOISE = /^(hint:|Please make sure|and the repository exists|Warning: Permanently added|@|\s*$)/;
const LONGEST_LINES = 8;

/** Returns the message of git without its hints, and without credentials that the user's configuration adds to URLs. */
export function explanation({ stderr, code }: GitResult): string {
  const text = stderr.replaceAll(/\/\/[^/@\s]+@/g, '//');
  const lines = text.split('\n').filter((line) => !NOISE.test(line));
  return lines.slice(-LONGEST_LINES).join('\n').trim() || `git ended with ${code ?? 'a signal'}.`;
}

/**
 * Whether a line of `git push` says that the server rejects the push by its own rules. Other failures leave the outcome
 * open.
 */
export function isRefusal(line: string): boolean {
  const isContention = /lock|failed to update ref|already (exists|been updated)|incorrect old value|internal/i;
  return /\[remote rejected\]/.test(line) && !isContention.test(line);
}

/** Whether a process at the server has locked the branch, or was killed and left its lock. */
export function isLocked(why: string): boolean {
  return /another git process seems to be running|unable to lock|cannot lock ref/i.test(why);
}

function sshCommand(url: string): string | undefined {
  const { protocol, username, hostname, port } = new URL(url);
  if (protocol !== 'ssh:') return undefined;
  const host = `${username && `${decodeURIComponent(username)}@`}${hostname}`;
  return ['ssh', ...(port ? ['-p', port] : []), host].join(' ');
}

/** Returns the hint for a server that git cannot reach. @param why the message of git */
export function loginHint(why: string, url: string): string {
  if (isLocked(why)) {
    return 'A git process that was killed at the server may have left a lock. If none runs there, remove the .lock file of the branch.';
  }
  const ssh = sshCommand(url);
  if (ssh !== undefined && /host key/i.test(why)) {
    return `This machine does not know the key of the server, or knows another one. Check the key and accept it: ${ssh}. In CI, put it into ~/.ssh/known_hosts.`;
  }
  return `Check the address and that git can log in without a question: git ls-remote '${url}'`;
}
