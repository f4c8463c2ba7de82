import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { argumentsOf, CALLS } from './command-lines.ts';
import { type FakeRequest, sendJson, startFakeService } from './fake-service.ts';
import { tempDirectory } from './run.ts';

/** The token that no command may write anywhere. */
export const TOKEN = 'pat_Zq7+/Xw3=Kd9~Rf5.Tg1-Hj8_distinctive';
const PIECE_LENGTH = 12;

const PIECES = Array.from({ length: TOKEN.length - PIECE_LENGTH + 1 }, (_, start) =>
  TOKEN.slice(start, start + PIECE_LENGTH),
);

/** Undoes the escapes of URLs and JavaScript, once. */
function unescapeOnce(text: string): string {
  const decode = (digits: string, base: number): string => String.fromCodePoint(Number.parseInt(digits, base));
  return text
    .replace(/%([0-7][0-9a-f])/gi, (_, digits) => decode(digits, 16))
    .replace(/\\u00([0-7][0-9a-f])/gi, (_, digits) => decode(digits, 16))
    .replace(/\\([\\/])/g, '$1');
}

/** Returns what the words of a text mean in base64 and base64url, wherever in a word that begins. */
function decodeBase64(text: string): string {
  const words = text.match(/[\w+/-]{16,}/g) ?? [];
  const decode = (word: string) => [0, 1, 2, 3].map((at) => Buffer.from(word.slice(at), 'base64').toString('latin1'));
  return words.flatMap(decode).join('\n');
}

/** Fails if the text contains any part of the token, in base64 or however it is escaped. @param where names the text in the failure */
export function expectNoToken(where: string, text: string): void {
  const once = unescapeOnce(text);
  const unescaped = [text, once, unescapeOnce(once), unescapeOnce(unescapeOnce(once))];
  const readings = [...unescaped, ...unescaped.map(decodeBase64)];
  const found = PIECES.filter((piece) => readings.some((reading) => reading.includes(piece)));
  const start = text.indexOf(found[0] ?? '');
  expect(found, `${where}: ${text.slice(Math.max(0, start - 80), start + 60)}`).toEqual([]);
}

type Echo = (header: string, response: ServerResponse, request: FakeRequest) => void;

/** Starts a service that sends the Authorization header back in headers, and as `echo` does. */
export async function startEchoService(echo: Echo): Promise<string> {
  const { baseUrl } = await startFakeService((request, response) => {
    const header = request.headers.authorization ?? '';
    response.setHeader('x-echo', header);
    response.setHeader('set-cookie', `session=${encodeURIComponent(header)}`);
    echo(header, response, request);
  });
  return baseUrl;
}

/** Places in a response, with the token unescaped. */
export const SHAPES: Readonly<Record<string, Echo>> = {
  'in fields of a list': (header, response) => {
    const token = header.slice('Bearer '.length);
    // As in Basic, at each of the offsets that base64 tells apart.
    const encoded = ['', ':', 'u:', 'me:'].flatMap((user) =>
      (['base64', 'base64url'] as const).map((form) => Buffer.from(`${user}${token}`).toString(form)),
    );
    const copies = { description: header, encoded, nested: [{ [header]: header }] };
    const name = `${'n'.repeat(30)} ${header}`;
    const query = `?a=${encodeURIComponent(header)}`;
    sendJson(response, [{ space_id: 'spc_1', external_space_id: 'acme', name, query, ...copies }]);
  },
  'in an error of every shape': (header, response, { method }) => {
    const error = { code: header, message: header, fields: [{ path: header, message: header }] };
    sendJson(response, { error, request_id: header }, method === 'POST' ? 422 : 400);
  },
  'in the headers of a 401': (header, response) =>
    response.writeHead(401, { 'x-request-id': header, 'www-authenticate': header }).end(header),
  'in a redirect': (header, response) =>
    response.writeHead(302, { location: `https://other.example/?token=${encodeURIComponent(header)}` }).end(),
  'in a page of HTML': (header, response) =>
    response
      .writeHead(502, { 'content-type': 'text/html' })
      .end(`<html><head><title>${header}</title></head><body>${header}</body></html>`),
  'in a next link to another host': (header, response) =>
    sendJson(response, { results: [], next: `https://other.example/elsewhere/${encodeURIComponent(header)}` }),
  'at every offset of a long text': (header, response) =>
    response.writeHead(500).end(Array.from({ length: 1200 }, (_, at) => '.'.repeat(at % 41) + header).join('')),
  'in every field and header': everywhere((token) => token),
  'where --debug shortens a body': (header, response) => response.writeHead(404).end('x'.repeat(20_000 - 25) + header),
};

const IDS =
  'id space_id external_space_id cron_job_id source_id agent_id message_id session_id document_id file_attachment_id';
const TEXTS = 'name description text created_at schedule timezone instructions';

/** Every field and header of a plausible response contains the token. */
function everywhere(spell: (token: string) => string): Echo {
  return (header, response, { method, path }) => {
    const token = spell(header.slice('Bearer '.length));
    const object = {
      ...Object.fromEntries(`${IDS} ${TEXTS} ${token}`.split(' ').map((name) => [name, token])),
      role: 'assistant',
      agents: [{ agent_id: token, template_id: token, name: token }],
    };
    response.setHeader('x-request-id', token);
    response.setHeader('location', `/v1/automation/${token}`);
    const isNextPage = path.includes('cursor=');
    if (!isNextPage && method === 'GET') response.setHeader('link', `<${path}?cursor=${token}>; rel="next"`);
    response.statusCode = method === 'GET' ? 200 : 201;
    // A service may escape any character of its JSON, too.
    const text = JSON.stringify(method === 'GET' ? [object] : object);
    response.end(text.replaceAll('+', '\\u002B').replaceAll('/', '\\/'));
  };
}

/** All places. */
const ECHOES: Readonly<Record<string, Echo>> = {
  ...SHAPES,
  'in every field and header, percent-encoded': everywhere(encodeURIComponent),
};

/** The arguments of every command that talks to the service and ends by itself. */
export function everyCall(): string[][] {
  const ids = { space: 'spc_1', agent: 'agt_1', source: 'src_1', message: 'msg_1', job: 'cron_1' };
  const things = { ...ids, receiver: 'http://127.0.0.1:9/', directory: tempDirectory() };
  return CALLS.map(({ words }) => [...argumentsOf(words, things), ...['--retries', '0', '--timeout', '60s']]);
}

/** A home directory; `files` returns the content of all its files except the profiles. */
export function createHome() {
  const home = tempDirectory();
  const env = { HOME: home, XDG_STATE_HOME: join(home, 'state'), PARTNER_CONFIG_DIR: join(home, 'config') };
  const files = (): string =>
    readdirSync(home, { recursive: true, encoding: 'utf8' })
      .map((name) => join(home, name))
      .filter((path) => statSync(path).isFile() && !path.startsWith(join(home, 'config', 'profiles')))
      .map((path) => `${path}\n${readFileSync(path, 'utf8')}`)
      .join('\n');
  return { home, env, files };
}

type Runner = (
  args: readonly string[],
  env: Record<string, string>,
) => PromiseLike<{ readonly stdout: string; readonly stderr: string }>;

/** Declares a test per way of echoing the token: no command writes it anywhere. */
export function testNoTokenLeak(run: Runner, echoes = ECHOES): void {
  test.each(Object.entries(echoes))('No command writes the token, if the service sends it back %s', async (_, echo) => {
    const PARTNER_BASE_URL = await startEchoService(echo);
    const { env, files } = createHome();
    const ranAll = everyCall().map(async (command, index) => {
      const args = [...command, '--debug', '-o', index % 2 === 0 ? 'table' : 'json'];
      const ran = await run(args, { ...env, PARTNER_BASE_URL, PARTNER_TOKEN: TOKEN });
      expectNoToken(`stdout of ${args.join(' ')}`, ran.stdout);
      expectNoToken(`stderr of ${args.join(' ')}`, ran.stderr);
    });
    await Promise.all(ranAll);
    expectNoToken('a file', files());
  });
}
