import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveObserved } from '../../src/config/contract-file.ts';
import { type FakeService, sendJson, startFakeService } from '../support/fake-service.ts';
import { numberIn, spaceIds, startPagedService } from '../support/paged-service.ts';
import { fastClock, run, tempDirectory } from '../support/run.ts';

interface Leaf {
  readonly leaf: string;
  readonly value: string;
}

/** Runs a command twice, and returns the cost of the second run: its requests, and whether it rewrote what was observed. */
async function runTwice(fake: FakeService, args: readonly string[]) {
  const directory = tempDirectory();
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', PARTNER_CONFIG_DIR: directory };
  const path = join(directory, 'contracts', 'observed.json');
  const first = await run([...args, '-o', 'json'], { env, clock: fastClock() });
  const requests = fake.requests.length;
  const before = { text: readFileSync(path, 'utf8'), ...statSync(path) };
  const second = await run([...args, '-o', 'json'], { env, clock: fastClock() });
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(second).toMatchObject({ code: 0, stderr: '', stdout: first.stdout });
  const after = { text: readFileSync(path, 'utf8'), ...statSync(path) };
  return { asked: requests, askedAgain: fake.requests.length - requests, isRewritten: after.ino !== before.ino };
}

describe('a command on a service that was observed before', () => {
  it('requests only the pages of a list', async () => {
    const fake = await startPagedService({
      start: (query) => (numberIn(query, 'p', 1) - 1) * 2,
      serve: ({ items, page, pages, total }) => ({ body: { items, current_page: page + 1, pages, total } }),
    });
    const cost = await runTwice(fake, ['spaces', 'list']);
    expect(cost).toMatchObject({ askedAgain: 3, isRewritten: false });
    expect(cost.asked).toBeGreaterThan(3);
  });

  it('requests only a history, and the messages after it', async () => {
    const message = { id: 'm1', sessionId: 's1', role: 'user', text: 'Hello' };
    const fake = await startFakeService((request, response) => {
      if (request.method === 'GET') return sendJson(response, { message: 'Use POST.' }, 405);
      const { sessionId, afterMessageId } = request.json();
      const messages = [{ ...message, id: 'm0', sessionId: 's0' }, message];
      sendJson(response, { messages: sessionId === 's1' ? (afterMessageId ? [] : [message]) : messages });
    });
    const cost = await runTwice(fake, ['chat', 'tail', '--source', 'src', '--session', 's1', '--no-follow']);
    expect(cost).toMatchObject({ askedAgain: 2, isRewritten: false });
    expect(cost.asked).toBeGreaterThan(2);
  });

  it('sends requests directly to the URL that the service redirected to', async () => {
    const fake = await startFakeService((request, response) => {
      if (!request.path.endsWith('/')) return sendJson(response, spaceIds(1));
      sendJson(response, {}, 301, { location: request.path.slice(0, -1) });
    });
    const cost = await runTwice(fake, ['spaces', 'list']);
    expect(cost).toEqual({ asked: 2, askedAgain: 1, isRewritten: false });
  });

  it('forgets a service after a hundred others', async () => {
    const directory = tempDirectory();
    const deps = { clock: fastClock(), random: Math.random, signal: new AbortController().signal };
    const addresses = Array.from({ length: 101 }, (_, index) => `http://127.0.0.1:${9000 + index}/v1`);
    for (const address of addresses) {
      await saveObserved(directory, address, new Map([['paths.trailing_slash', 'never']]), deps);
    }
    const observedOf = async (PARTNER_BASE_URL = '') => {
      const env = { PARTNER_BASE_URL, PARTNER_TOKEN: 'test-token', PARTNER_CONFIG_DIR: directory };
      return (await run(['contract', 'show', '--source', 'observed', '-o', 'json'], { env })).json<Leaf[]>();
    };
    expect(await observedOf(addresses[0])).toEqual([]);
    expect(await observedOf(addresses[1])).toMatchObject([{ leaf: 'paths.trailing_slash', value: 'never' }]);
    expect(await observedOf(addresses.at(-1))).toMatchObject([{ leaf: 'paths.trailing_slash', value: 'never' }]);
  });
});
