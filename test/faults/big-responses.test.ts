import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { cpuMsOf } from '../support/cpu.ts';
import { createArgs } from '../support/cron.ts';
import { startFakeService } from '../support/fake-service.ts';
import { partnerctl, tempDirectory } from '../support/run.ts';

const LIST = ['spaces', 'list', '--retries', '0'];

/** A service that responds with this text to every GET, or every POST, and otherwise with an empty list. */
async function respondWith(text: string, method = 'GET'): Promise<string> {
  const { baseUrl } = await startFakeService((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(request.method === method ? text : '[]');
  });
  return baseUrl;
}

describe('an integer beyond the precision of JavaScript', () => {
  const ID = '12345678901234567890';
  const BODY = `[{"space_id":${ID},"external_space_id":"\\u0000123\\u0000","\\u00005\\u0000":-${ID},"a\\u009b":["\\u0000${ID}\\u0000"]}]`;
  const ITEM = {
    space_id: BigInt(ID),
    external_space_id: '\u0000123\u0000',
    '\u00005\u0000': -BigInt(ID),
    'a\u009b': [`\u0000${ID}\u0000`],
  };

  it.each(['json', 'ndjson'])('is printed exactly by -o %s, next to controls in keys and texts', async (format) => {
    const ran = await partnerctl(await respondWith(BODY), [...LIST, '-o', format]);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const printed = ran.stdout.trim().replace(/^\[\n?|\n?\]$/g, '');
    expect(printed).toBe(BODY.slice(1, -1));
  });

  it('is printed exactly by -o yaml, next to controls in keys and texts', async () => {
    const ran = await partnerctl(await respondWith(BODY), [...LIST, '-o', 'yaml']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(parseYaml(ran.stdout, { intAsBigInt: true })).toEqual([ITEM]);
    expect(ran.stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
  });

  it.each(['tsv', 'table'])('is printed exactly by -o %s, without controls', async (format) => {
    const ran = await partnerctl(await respondWith(BODY), [...LIST, '-o', format]);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toContain(ID);
    expect(ran.stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
  });

  it.each(['json', 'ndjson', 'yaml', 'tsv', 'table'])('is exact text in --query with -o %s', async (format) => {
    const ran = await partnerctl(await respondWith(BODY), [...LIST, '-o', format, '--query', '[0]']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toContain(ID);
    expect(ran.stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    if (format === 'json' || format === 'ndjson') expect(() => ran.json()).not.toThrow();
  });
});

const nested = (levels: number): string => `[{"space_id":"s1","x":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}]`;

describe('a nested response', () => {
  it.each(['json', 'ndjson', 'yaml', 'tsv', 'table'])(
    'is printed by -o %s if it is 200 levels deep',
    async (format) => {
      const ran = await partnerctl(await respondWith(nested(200)), [...LIST, '-o', format]);
      expect(ran).toMatchObject({ code: 0, stderr: '' });
      expect((await partnerctl(await respondWith(nested(200)), [...LIST, '-o', format, '--query', '[0].x'])).code).toBe(
        0,
      );
    },
  );

  it.each([201, 5_000, 1_000_000])('is rejected with exit 8 if it is %i levels deep', async (levels) => {
    for (const text of [nested(levels), nested(levels).replace('s1', '1').replace('"1"', '12345678901234567890')]) {
      const ran = await partnerctl(await respondWith(text), [...LIST, '-o', 'json']);
      expect(ran).toMatchObject({ code: 8, stdout: '' });
      expect(ran.error()).toMatchObject({ type: 'unexpected_shape' });
      expect(ran.error().message).toContain('nested deeper than 200 levels');
    }
  });
});

describe('a response with a number of millions of digits', () => {
  const text = `[{"space_id":${'7'.repeat(3_000_000)}}]`;

  it('is rejected quickly with exit 8', async () => {
    const baseUrl = await respondWith(text);
    const listing = async () => {
      const ran = await partnerctl(baseUrl, [...LIST, '-o', 'json']);
      expect(ran).toMatchObject({ code: 8, stdout: '' });
      expect(ran.error().message).toContain('a number of more than 1,000 digits');
    };
    expect(await cpuMsOf(listing)).toBeLessThan(3_000);
  });
});

describe('the response to the creation of a job', () => {
  it.each([
    ['is nested too deep', nested(5_000)],
    ['has a number that is too long', `{"cron_job_id":${'7'.repeat(2_000)}}`],
    ['is larger than 64 MiB', `{"cron_job_id":"c1","x":"${'x'.repeat(64 * 1024 * 1024)}"}`],
  ])('leaves the outcome unknown if it %s', async (_, text) => {
    const state = join(tempDirectory(), 'state.jsonl');
    const lost = await partnerctl(await respondWith(text, 'POST'), createArgs('a1', 'daily', '--state', state));
    expect(lost.code).toBe(9);
    expect(lost.stderr).not.toContain('This is a bug');
  });
});
