import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { findClosedPort } from './tcp-server.ts';

/* Git servers on loopback: smart HTTP, by the CGI program that comes with git, and ssh. */

/** A server with its own repositories. */
interface GitServer {
  /** Creates an empty repository. @returns its path, and the URL of one of its branches */
  repository(): { readonly path: string; readonly address: string };
  /** The environment in which git can log in. */
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

function temporary(): string {
  return mkdtempSync(join(tmpdir(), 'partnerctl-git-'));
}

function makeRepository(root: string, name: string): string {
  const path = join(root, name);
  execFileSync('git', ['init', '--quiet', '--bare', path]);
  execFileSync('git', ['-C', path, 'config', 'http.receivepack', 'true']);
  return path;
}

/** Runs the CGI program for a request. @returns the head of its response, and the body */
async function runCgi(request: IncomingMessage, root: string): Promise<{ head: string; body: Buffer }> {
  const { pathname, search } = new URL(request.url ?? '', 'http://localhost');
  const { headers } = request;
  const input = await buffer(request);
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      REMOTE_ADDR: '127.0.0.1',
      CONTENT_TYPE: headers['content-type'] ?? '',
      CONTENT_LENGTH: String(input.length),
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const output = await buffer(child.stdout);
  const end = output.indexOf('\r\n\r\n');
  return { head: output.subarray(0, end).toString(), body: output.subarray(end + 4) };
}

async function serve(request: IncomingMessage, response: ServerResponse, root: string): Promise<void> {
  const { head, body } = await runCgi(request, root);
  for (const line of head.split('\r\n')) {
    const [name = '', value = ''] = line.split(': ');
    if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
    else response.setHeader(name, value);
  }
  response.end(body);
}

/** Whether git is installed with its CGI program and its HTTP client. */
export function hasGitHttp(): boolean {
  try {
    const path = execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim();
    return ['git-http-backend', 'git-remote-http'].every((name) => existsSync(join(path, name)));
  } catch {
    return false;
  }
}

/** Starts a smart HTTP server. @param authorization the header that each request needs, if any */
export async function startGitHttp(authorization?: string): Promise<GitServer> {
  const root = temporary();
  const server = createServer((request, response) => {
    if (authorization !== undefined && request.headers.authorization !== authorization)
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    serve(request, response, root).catch(() => response.destroy());
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(Object(server.address()).port));
  });
  let count = 0;
  return {
    variables: {},
    repository() {
      count += 1;
      const path = makeRepository(root, `state${count}.git`);
      return { path, address: `git+http://127.0.0.1:${port}/state${count}.git#state` };
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      await rm(root, { recursive: true, force: true });
    },
  };
}

const SSHD = '/usr/sbin/sshd';

/** Whether an ssh server is installed. */
export function hasSshd(): boolean {
  return existsSync(SSHD);
}

export interface GitSshServer extends GitServer {
  /** The command that runs ssh with other settings, which precede the default ones. */
  ssh(...settings: readonly string[]): string;
}

/** Starts an ssh server that accepts this user with a new key. */
export async function startGitSsh(): Promise<GitSshServer> {
  const root = temporary();
  const port = await findClosedPort();
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(root, name)]);
  const known = `[127.0.0.1]:${port} ${execFileSync('cat', [join(root, 'host.pub')], { encoding: 'utf8' })}`;
  writeFileSync(join(root, 'known_hosts'), known);
  const settings = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${join(root, 'host')}`,
    `AuthorizedKeysFile ${join(root, 'user.pub')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin yes',
    'MaxStartups 100',
  ];
  writeFileSync(join(root, 'sshd_config'), `${settings.join('\n')}\n`);
  // The directory that sshd requires when it runs as root.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const server = spawn(SSHD, ['-D', '-e', '-f', join(root, 'sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr })) if (line.includes('listening')) break;
  server.stderr.resume();
  if (server.exitCode !== null) throw new Error('sshd does not start.');
  const ssh = (...more: readonly string[]): string =>
    ['ssh -F none', ...more.map((each) => `-o ${each}`), `-i ${join(root, 'user')} -o IdentitiesOnly=yes`]
      .concat(`-o UserKnownHostsFile=${join(root, 'known_hosts')} -o GlobalKnownHostsFile=none`)
      .join(' ');
  let count = 0;
  return {
    ssh,
    variables: { GIT_SSH_COMMAND: ssh() },
    repository() {
      count += 1;
      const path = makeRepository(root, `state${count}.git`);
      const user = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim();
      return { path, address: `git+ssh://${user}@127.0.0.1:${port}${path}#state` };
    },
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      await rm(root, { recursive: true, force: true });
    },
  };
}
