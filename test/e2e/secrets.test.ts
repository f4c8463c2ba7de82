import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempDirectory } from '../helpers/run.ts';
import { manifest, write } from '../helpers/service.ts';
import { start, until } from './program.ts';

const TOKEN = 'pat_Zq7+/Xw3=Kd9~Rf5.Tg1-Hj8_distinctive"&<'.replace(/["&<]/g, '');
const PIECE = 12;

/** Every piece of the token that is long enough to be no accident. */
const PIECES = Array.from({ length: TOKEN.length - PIECE + 1 }, (_, at) => TOKEN.slice(at, at + PIECE));

function expectNoToken(where: string, text: string): void {
  const found = PIECES.filter((piece) => text.includes(piece));
  const at =
    found[0] === undefined ? '' : text.slice(Math.max(0, text.indexOf(found[0]) - 80), text.indexOf(found[0]) + 60);
  expect({ where, found, at }).toEqual({ where, found: [], at: '' });
}

type Echo = (header: string, response: ServerResponse, request: IncomingMessage) => void;

/** A service that repeats the Authorization header wherever it can. */
async function echoing(echo: Echo): Promise<string> {
  const server = createServer((request, response) => {
    const header = request.headers.authorization ?? '';
    response.setHeader('x-echo', header);
    response.setHeader('set-cookie', `session=${encodeURIComponent(header)}`);
    request.resume().on('end', () => echo(header, response, request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const ECHOES: Readonly<Record<string, Echo>> = {
  'in fields of a list': (header, response) => {
    const odd = {
      note: header,
      encoded: base64(header),
      query: `?a=${encodeURIComponent(header)}`,
      nested: [{ [header]: header }],
    };
    response.end(
      JSON.stringify([
        {
          space_id: 'spc_1',
          external_space_id: 'acme',
          name: `${'n'.repeat(30)} ${header}`,
          description: header,
          ...odd,
        },
      ]),
    );
  },
  'in an error of every shape': (header, response, request) => {
    response.statusCode = request.method === 'POST' ? 422 : 400;
    response.end(
      JSON.stringify({
        error: { code: header, message: header, fields: [{ path: header, message: header }] },
        request_id: header,
      }),
    );
  },
  'in the headers of a 401': (header, response) => {
    response.writeHead(401, { 'x-request-id': header, 'www-authenticate': header });
    response.end(header);
  },
  'in a redirect': (header, response) => {
    response.writeHead(302, { location: `https://other.example/?token=${encodeURIComponent(header)}` });
    response.end();
  },
  'in a page of HTML': (header, response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end(`<html><head><title>${header}</title></head><body>${header}</body></html>`);
  },
  'in a next link that leads elsewhere': (header, response) => {
    response.end(
      JSON.stringify({ results: [], next: `https://other.example/elsewhere/${encodeURIComponent(header)}` }),
    );
  },
  'in an unknown shape': (header, response) => response.end(JSON.stringify({ [header]: header })),
  'in what is no JSON': (header, response) => response.end(`${header} ${header}`),
  'at every place of a long text': (header, response) => {
    response.statusCode = 500;
    response.end(Array.from({ length: 1200 }, (_, index) => '.'.repeat(index % 41) + header).join(''));
  },
  'at the end of what --debug shows of a body': (header, response) => {
    response.statusCode = 404;
    response.end('x'.repeat(20_000 - 25) + header);
  },
};

const COMMANDS = (file: string): readonly (readonly string[])[] => [
  ['spaces', 'list'],
  ['agents', 'list', 'ext:acme'],
  ['agents', 'list', 'spc_1'],
  ['provision', file],
  ['provision', file, '--dry-run'],
  ['cron', 'create', '--agent', 'agt_1', '--name', 'daily', '--instructions', 'x', '--schedule', '@daily'],
  ['cron', 'list'],
  ['cron', 'adopt', 'cron_1', '--agent', 'agt_1', '--name', 'weekly', '--yes'],
  ['cron', 'reconcile'],
  ['cron', 'forget', '--agent', 'agt_1', '--name', 'weekly', '--yes'],
  ['upload', file],
  ['upload', file, '--as', 'document'],
];

interface Places {
  readonly home: string;
  readonly env: Record<string, string>;
  /** What is in every file below the home but the profile. */
  files(): string;
}

function places(): Places {
  const home = tempDirectory();
  const env = { HOME: home, XDG_STATE_HOME: join(home, 'state'), PARTNER_CONFIG_DIR: join(home, 'config') };
  const read = (directory: string): string =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .map((name) => join(directory, name))
      .filter((path) => statSync(path).isFile() && !path.endsWith(join('config', 'config.json')))
      .map((path) => `${path}\n${readFileSync(path, 'utf8')}`)
      .join('\n');
  return { home, env, files: () => read(home) };
}

describe.each(Object.entries(ECHOES))('a service that repeats the token %s', (_, echo) => {
  test('finds it nowhere in what any command writes', async () => {
    const baseUrl = await echoing(echo);
    const { env, files } = places();
    const job = 'cron: [{ name: daily, instructions: x, schedule: "@daily" }]';
    const file = write('acme.yaml', manifest('acme').replace(/ }\n$/, `, ${job} }\n`));
    const all = COMMANDS(file).map((words, index) => [...words, '--debug', '-o', index % 2 === 0 ? 'table' : 'json']);
    await Promise.all(
      all.map(async (words) => {
        const ran = await start([...words, '--retries', '0'], {
          env: { ...env, PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN },
        });
        expectNoToken(`stdout of ${words.join(' ')}`, ran.stdout);
        expectNoToken(`stderr of ${words.join(' ')}`, ran.stderr);
      }),
    );
    expectNoToken('a file', files());
  });
});

test('login stores the token in the profile alone, in whatever way it is given', async () => {
  const baseUrl = await echoing((header, response) => response.end(JSON.stringify([{ space_id: 'a', note: header }])));
  const { home, env, files } = places();
  const tokenFile = write('token', `${TOKEN}\n`);
  const words = ['login', '--base-url', baseUrl, '--debug'];
  const ways = [
    start([...words, '--profile', 'a'], { env, input: TOKEN }),
    start([...words, '--profile', 'b', '--token-file', tokenFile], {
      env: { ...env, PARTNER_CONFIG_DIR: join(home, 'b') },
    }),
    start([...words, '--profile', 'c', '--token-command', `cat ${tokenFile}`], {
      env: { ...env, PARTNER_CONFIG_DIR: join(home, 'c') },
    }),
  ];
  for (const ran of await Promise.all(ways)) {
    expect(ran.exitCode).toBe(0);
    expectNoToken('stdout', ran.stdout);
    expectNoToken('stderr', ran.stderr);
  }
  for (const rest of [['profile', 'show'], ['profile', 'list'], ['spaces', 'list'], ['logout']]) {
    const ran = await start([...rest, '--debug', '-o', 'json'], { env });
    expect(ran.exitCode).toBe(0);
    expectNoToken(rest.join(' '), ran.stdout + ran.stderr);
  }
  expectNoToken('the profile after logout', readFileSync(join(home, 'config', 'config.json'), 'utf8'));
  writeFileSync(join(home, 'b', 'config.json'), '');
  expectNoToken('a file', files());
});

test.skipIf(!existsSync('/proc/self/cmdline'))(
  'the token is in no argument of a process, nor of its children',
  async () => {
    const release: (() => void)[] = [];
    const baseUrl = await echoing((_, response) => void release.push(() => response.end('[]')));
    const { env } = places();
    const gate = join(tempDirectory(), 'gate');
    const file = write('token', TOKEN);
    // A token_command that lasts until it may go on, so that it can be looked at.
    const command = `cat ${file}; echo; echo running >&2; while [ ! -e ${gate} ]; do read line < /dev/null || sleep 0.01; done`;
    const child = start(['login', '--base-url', baseUrl, '--token-command', command, '--debug'], { env });
    await until(child.stderr, /running/);
    const processes = [child.pid ?? 0, ...childrenOf(child.pid ?? 0)];
    expect(processes.length).toBeGreaterThan(1);
    for (const pid of processes) expectNoToken(`arguments of ${pid}`, readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    writeFileSync(gate, '');
    while (release.length === 0) await new Promise(setImmediate);
    expectNoToken('arguments', readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'));
    for (const go of release) go();
    expect((await child).exitCode).toBe(0);
  },
);

function childrenOf(pid: number): number[] {
  const direct = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return direct.flatMap((each) => [each, ...childrenOf(each)]);
}
