import { expect, test } from 'vitest';
import { historyServer, idsFrom, nextPath, readAll, tailUntil } from '../support/history-server.ts';

test('A 404 page of a gateway is an outage, not a session that does not exist yet', async () => {
  const server = await historyServer();
  server.behave(({ response }) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>'));
  expect((await readAll(server, '--from-start')).code).toBe(8);
});

test('A service that ignores cursors has each message shown once, and is polled only after a pause', async () => {
  const server = await historyServer();
  const entries = idsFrom(0, 299).map((message_id) => ({ message_id, role: 'assistant', text: 'x' }));
  server.behave(({ json, url }) => {
    const at = Number(url.searchParams.get('at') ?? 0);
    const end = at + 100;
    json(200, { results: entries.slice(at, end), next: end < entries.length ? nextPath(url, 'at', end) : null });
  });
  const { ids } = await tailUntil(server, ['--from-start', '--timeout', '6s'], () => false);
  expect(ids).toEqual(idsFrom(0, 299));
  expect(server.requests.length).toBeLessThan(36);
});

test('A service that rejects all cursors but the newest has every message shown', async () => {
  const server = await historyServer();
  server.add('s', 3);
  server.behave(({ json, after }, wellBehaved) => {
    const entries = server.sessions.get('s') ?? [];
    const isNewest = after === undefined || entries.slice(-2).some(({ message_id }) => message_id === after);
    if (isNewest) json(200, wellBehaved());
    else json(422, {});
  });
  const { ids } = await tailUntil(server, ['--tail', '2'], (shown) => {
    if (shown.ids.length > 1 && (server.sessions.get('s')?.length ?? 0) < shown.ids.length + 2) server.add('s', 1);
    return shown.ids.length === 4;
  });
  expect(ids).toEqual(idsFrom(1, 4));
});
