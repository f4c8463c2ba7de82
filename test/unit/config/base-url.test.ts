import { expect, it } from 'vitest';
import { parseBaseUrl } from '../../../src/config/base-url.ts';

it.each([
  ['https://api.test/v1///', 'https://api.test/v1'],
  ['  https://API.test:443/partner/v1 ', 'https://api.test/partner/v1'],
  ['http://localhost:8080/v1', 'http://localhost:8080/v1'],
  ['http://127.1.2.3:9/v1', 'http://127.1.2.3:9/v1'],
])('accepts %s', (text, expected) => {
  expect(parseBaseUrl(text, 'here')).toBe(expected);
});

it.each([
  ['api.test/v1', 'not an https URL'],
  ['https://api.test', 'does not end in /v1'],
  ['https://api.test/partner/v2', 'does not end in /v1'],
  ['https://user:secret@api.test/v1', 'has credentials'],
  ['https://api.test/v1?x=1', 'a query, or a fragment'],
  ['http://api.test/v1', 'plain http'],
  ['http://127.0.0.1.evil.test/v1', 'plain http'],
  ['http://0.0.0.0/v1', 'plain http'],
])('rejects %s: %s', (text, why) => {
  expect(() => parseBaseUrl(text, 'here')).toThrow(expect.objectContaining({ message: expect.stringContaining(why) }));
  expect(() => parseBaseUrl(text, 'here')).not.toThrow(/secret/);
});
