import type { GitResult } from './run-git.ts';

/** Advice of git and ssh that does not fit here, and ornaments. */
const NOISE = /^(hint:|Please make sure|and the repository exists|Warning: Permanently added|@|\s*$)/;
const LONGEST_LINES = 8;

/** What git said, without its hints, and without credentials that the user's configuration put into the URL. */
export function explanation({ stderr, code }: GitResult): string {
  const text = stderr.replaceAll(/\/\/[^/@\s]+@/g, '//');
  const lines = text.split('\n').filter((line) => !NOISE.test(line));
  return lines.slice(-LONGEST_LINES).join('\n').trim() || `git ended with ${code ?? 'a signal'}.`;
}

/** A server that refuses a push by its own rules says so for the branch; other failures leave the outcome open. */
export function isRefusal(line: string): boolean {
  const isContention = /lock|failed to update ref|already (exists|been updated)|incorrect old value|internal/i;
  return /\[remote rejected\]/.test(line) && !isContention.test(line);
}

/** Whether the server refuses because another process updates the branch, or left its lock behind when it was killed. */
export function isLocked(why: string): boolean {
  return /another git process seems to be running|unable to lock|cannot lock ref/i.test(why);
}

function sshCommand(url: string): string | undefined {
  const { protocol, username, hostname, port } = new URL(url);
  if (protocol !== 'ssh:') return undefined;
  const host = `${username && `${decodeURIComponent(username)}@`}${hostname}`;
  return ['ssh', ...(port ? ['-p', port] : []), host].join(' ');
}

/** What to do about a server that git did not reach. @param why what git said */
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
