import { describe, expect, it } from 'vitest';
import { sendJson, startFakeService } from '../helpers/fake-service.ts';
import { startRawService } from '../helpers/tcp-server.ts';
import { partnerctl, TOKEN } from './client.ts';

const LEVELS = [[], ['-v'], ['--debug'], ['-o', 'json'], ['--debug', '-o', 'json']];

describe('a service that gives the token back', () => {
  it.each<[string, number, unknown, Record<string, string>]>([
    ['in a message', 400, { message: `bad header: Bearer ${TOKEN}` }, {}],
    ['in a code', 403, { code: TOKEN, message: 'no' }, {}],
    ['in the names of fields', 422, { errors: { [TOKEN]: ['is unknown'] } }, {}],
    ['in a redirect', 302, {}, { location: `https://else.test/?token=${TOKEN}` }],
    ['in the request id', 500, {}, { 'x-request-id': TOKEN }],
    ['in the keys of an unknown shape', 200, { [TOKEN]: 1 }, {}],
    ['in a link to the next page', 200, { results: [], next: `ftp://x/?token=${TOKEN}` }, {}],
    ['in a Link header', 200, [], { link: `<https://[${TOKEN}>; rel="next"` }],
    ['in a text that is no JSON', 200, undefined, {}],
  ])('finds it in no output at any verbosity: %s', async (_, status, body, headers) => {
    const server = await startFakeService((_request, response) => {
      if (body === undefined) response.end(`you sent ${TOKEN}`);
      else sendJson(response, body, status, headers);
    });
    for (const flags of LEVELS) {
      const ran = await partnerctl(server.baseUrl, ['spaces', 'list', '--retries', '0', ...flags]);
      expect(ran.code).not.toBe(0);
      expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
      expect(ran.stderr).toContain('[redacted]');
    }
  });

  it('as data, it is not shown either', async () => {
    const server = await startFakeService((_request, response) =>
      sendJson(response, [{ space_id: 's1', name: TOKEN }]),
    );
    for (const flags of LEVELS) {
      const ran = await partnerctl(server.baseUrl, ['spaces', 'list', ...flags]);
      expect(ran.code).toBe(0);
      expect(ran.stdout + ran.stderr).not.toContain(TOKEN);
    }
  });

  it('names headers of its own making, and no output is led astray by them', async () => {
    const server = await startRawService(
      `HTTP/1.1 400 Bad\r\nx-request-id: \x1b[31mred\x1b]0;title\x07\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\x1b[2Jgone\x9b1m\u202e`,
    );
    for (const flags of [[], ['-v'], ['--debug']]) {
      const ran = await partnerctl(server.baseUrl, ['spaces', 'list', ...flags]);
      expect(ran.code).toBeGreaterThan(0);
      expect(ran.stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    }
  });
});
