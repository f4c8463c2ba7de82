import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isLoopback, parseBaseUrl } from '../../../src/config/base-url.ts';
import { UsageError } from '../../../src/errors.ts';
import { propertyRuns } from '../../support/properties.ts';

it.each([
  ['https://api.test/v1///', 'https://api.test/v1'],
  ['  https://API.test:443/partner/v1 ', 'https://api.test/partner/v1'],
  ['https://api.test:8443/v1', 'https://api.test:8443/v1'],
  ['http://localhost:8080/v1', 'http://localhost:8080/v1'],
  ['http://127.1.2.3:9/v1', 'http://127.1.2.3:9/v1'],
  ['http://[::1]:8080/v1', 'http://[::1]:8080/v1'],
])('accepts %s', (text, expected) => {
  expect(parseBaseUrl(text, 'here')).toBe(expected);
});

it.each([
  ['api.test/v1', 'not an https URL'],
  ['ftp://api.test/v1', 'not an https URL'],
  ['https://api.test', 'does not end in /v1'],
  ['https://api.test/partner/v2', 'does not end in /v1'],
  ['https://api.test/apiv1', 'does not end in /v1'],
  ['https://user:secret@api.test/v1', 'contains credentials'],
  ['https://api.test/v1?x=1', 'a query or a fragment'],
  ['http://api.test/v1', 'plain http'],
  ['http://127.0.0.1.evil.test/v1', 'plain http'],
  ['http://localhost.evil.test/v1', 'plain http'],
  ['http://0.0.0.0/v1', 'plain http'],
])('rejects %s: %s', (text, why) => {
  expect(() => parseBaseUrl(text, 'here')).toThrow(expect.objectContaining({ message: expect.stringContaining(why) }));
  expect(() => parseBaseUrl(text, 'here')).not.toThrow(/secret/);
});

it('property: returns https or loopback URLs that end in /v1, and is idempotent', () => {
  const words = ['http', 'https', '://', 'localhost', '127.0.0.1', 'api.test', '[::1]', ':80', '/', 'v1', '@', '?'];
  const text = fc.array(fc.constantFrom(...words, '#', '\\', '..', '%2e'), { minLength: 3, maxLength: 9 });
  fc.assert(
    fc.property(text, (parts) => {
      let address: string;
      try {
        address = parseBaseUrl(parts.join(''), 'here');
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
        return;
      }
      const url = new URL(address);
      expect(url.protocol === 'https:' || isLoopback(url)).toBe(true);
      expect(address).toMatch(/\/v1$/);
      expect([url.username, url.password, url.search, url.hash]).toEqual(['', '', '', '']);
      expect(parseBaseUrl(address, 'here')).toBe(address);
    }),
    { numRuns: propertyRuns(2000) },
  );
});
