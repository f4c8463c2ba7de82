import { expect, it } from 'vitest';
import { HistoryReader } from '../../src/api/history.ts';
import { client } from '../faults/http-client.ts';
import { type FakeRequest, type Handler, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';

const TOKEN = 'secret-token-1';
const SESSION = ['--source', 'src', '--session', 's'];

/** Every command that reads pages, and the number of items on the two pages. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  '/automation/spaces/': ['spaces', 'list'],
  '/automation/spaces/spc/agents/': ['agents', 'list', 'spc'],
  '/automation/partner-cron-jobs/': ['cron', 'list'],
  '/integrations/api-chat/history/': ['chat', 'tail', ...SESSION, '--from-start', '--no-follow'],
};

/** URLs that other programs have taken for another service than they name. */
const LINKS: readonly ((own: string, other: string, path: string) => string)[] = [
  (own, other, path) => `http://${own}@${other}${path}`,
  (own, other, path) => `http://${other}#@${own}${path}`,
  (_, other, path) => `\\\\${other}${path.replaceAll('/', '\\')}`,
  (_, other, path) => `http:\\\\${other}${path}`,
  (_, other, path) => `///${other}${path}`,
  (_, other, path) => `/\t/${other}${path}`,
  (_, other, path) => `https://${other}${path}`,
  (own, other, path) => `http://${own.split(':')[0]}:${other.split(':')[1]}${path}`,
  (_, other, path) => `ftp://${other}${path}`,
  (_, other) => `/v1/../../${other}/`,
];

/** An item of any kind of list. */
function item(number: number): Record<string, unknown> {
  return {
    id: `id-${number}`,
    name: `Item ${number}`,
    external_space_id: `e${number}`,
    agent_id: 'agt',
    text: `Text ${number}`,
    role: 'user',
    created_at: `2026-01-01T00:00:0${number}Z`,
  };
}

async function read(path: string, first: Handler) {
  const argv = COMMANDS[path] ?? [];
  const second = (request: FakeRequest): boolean => request.query.has('page');
  const service = await startFakeService((request, response, count) => {
    if (second(request)) sendJson(response, { results: [item(2)] });
    else first(request, response, count);
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: TOKEN, HOME: tempDirectory() };
  const ran = await run([...argv, '-o', 'ndjson', '--retries', '0'], { env });
  return { ran, service };
}

it.each(Object.keys(COMMANDS))('no link sends the token elsewhere, or ends the list silently: %s', async (path) => {
  const other = await startFakeService(json({ results: [item(2)] }));
  for (const link of LINKS) {
    const next = (request: FakeRequest): string =>
      link(request.headers.host ?? '', new URL(other.baseUrl).host, `/v1${path}?page=2`);
    const inBody: Handler = (request, response) => sendJson(response, { results: [item(1)], next: next(request) });
    const inHeader: Handler = (request, response) =>
      sendJson(response, [item(1)], 200, { link: `<${next(request).replace('\t', '')}>; rel="next"` });
    for (const first of [inBody, inHeader]) {
      const { ran, service } = await read(path, first);
      const what = `${link} ${first === inBody ? 'body' : 'header'}\n${ran.stdout}${ran.stderr}`;
      const items = ran.stdout.split('\n').filter(Boolean).length;
      expect([ran.code, items], what).toSatisfy(([code, count]) => (code === 0 ? count === 2 : code === 8));
      expect(ran.stderr, what).not.toContain(TOKEN);
      expect(
        service.requests.every(({ path: asked }) => asked.startsWith(`/v1${path}`)),
        what,
      ).toBe(true);
    }
  }
  expect(other.requests).toEqual([]);
});

it.each([
  ['messages', (count: number) => [{ ...item(1), id: `m${count}` }]],
  ['nothing', () => []],
])('a history with %s on each of its pages, which never end, ends with an error', async (_, items) => {
  const service = await startFakeService((_request, response, count) =>
    sendJson(response, { results: items(count), next: `?page=${count}` }),
  );
  const reader = new HistoryReader(client(service.baseUrl).http);
  const position = { source_id: 'src', session_id: 's', after_message_id: undefined };
  const all = async (): Promise<void> => {
    for await (const page of reader.readAfter(position, { now: Date.now, maxPages: 20, limits: () => ({}) })) void page;
  };
  await expect(all()).rejects.toThrow('The history has more than 20 pages.');
  expect(service.requests.length).toBeLessThan(30);
});
