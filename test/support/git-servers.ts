import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type FakeRequest, startFakeService } from './fake-service.ts';
import { startDaemon } from './program.ts';
import { tempDirectory } from './run.ts';
import { bareRepository } from './stores.ts';
import { findClosedPort } from './tcp-server.ts';

/* Git servers on loopback, each with an empty repository: smart HTTP, by the CGI program that comes with git, and ssh. */

/** Whether git has its CGI program and its HTTP client. */
export function hasGitHttp(): boolean {
  const path = execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim();
  return ['git-http-backend', 'git-remote-http'].every((name) => existsSync(join(path, name)));
}

/** Runs the CGI program for a request. @returns the head of its response, and the body */
async function runCgi({ method, path, headers, bodyBytes }: FakeRequest, root: string) {
  const { pathname, search } = new URL(path, 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: method,
      REMOTE_ADDR: '127.0.0.1',
      CONTENT_TYPE: headers['content-type'] ?? '',
      CONTENT_LENGTH: String(bodyBytes.length),
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(bodyBytes);
  const output = await buffer(child.stdout);
  const end = output.indexOf('\r\n\r\n');
  return { head: output.subarray(0, end).toString(), body: output.subarray(end + 4) };
}

/** Starts a smart HTTP server. @param authorization the header that each request needs @returns the URL of a branch */
export async function startGitHttp(authorization: string): Promise<string> {
  const repository = bareRepository();
  execFileSync('git', ['-C', repository, 'config', 'http.receivepack', 'true']);
  const { port } = await startFakeService(async (request, response) => {
    if (request.headers.authorization !== authorization)
      return response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    const { head, body } = await runCgi(request, dirname(repository));
    for (const line of head.split('\r\n')) {
      const [name = '', value = ''] = line.split(': ');
      if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
      else response.setHeader(name, value);
    }
    return response.end(body);
  });
  return `git+http://127.0.0.1:${port}/state.git#state`;
}

const SSHD = '/usr/sbin/sshd';

/** Whether an ssh server is installed. */
export const hasSshd = existsSync(SSHD);

/**
 * Starts an ssh server that accepts this user with a new key.
 * @param settings of ssh, which precede the default ones
 * @returns the URL of a branch, and the environment in which git can log in
 */
export async function startGitSsh(...settings: readonly string[]) {
  const root = tempDirectory();
  const port = await findClosedPort();
  const path = (name: string): string => join(root, name);
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path(name)]);
  writeFileSync(path('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(path('host.pub'), 'utf8')}`);
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${path('host')}`,
    `AuthorizedKeysFile ${path('user.pub')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin yes',
  ];
  writeFileSync(path('sshd_config'), `${config.join('\n')}\n`);
  // The directory that sshd requires when it runs as root.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const end = await startDaemon(SSHD, ['-D', '-e', '-f', path('sshd_config')], 'listening');
  onTestFinished(() => end('SIGTERM'));
  const files = [`UserKnownHostsFile=${path('known_hosts')}`, 'GlobalKnownHostsFile=none', 'IdentitiesOnly=yes'];
  const options = [...settings, ...files].map((each) => `-o ${each}`).join(' ');
  const user = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim();
  return {
    address: `git+ssh://${user}@127.0.0.1:${port}${bareRepository()}#state`,
    variables: { GIT_SSH_COMMAND: `ssh -F none ${options} -i ${path('user')}` },
  };
}
