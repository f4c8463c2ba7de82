import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLoopback, parseBaseUrl } from '../../../src/config/base-url.ts';
import { UsageError } from '../../../src/errors.ts';
import { propertyRuns } from '../../support/properties.ts';

describe('parseBaseUrl', () => {
  it.each([
    ['https://api.test/v1', 'https://api.test/v1'],
    ['https://api.test/v1/', 'https://api.test/v1'],
    ['https://api.test/v1///', 'https://api.test/v1'],
    ['  https://API.test:443/partner/v1 ', 'https://api.test/partner/v1'],
    ['https://api.test:8443/v1', 'https://api.test:8443/v1'],
    ['http://localhost:8080/v1', 'http://localhost:8080/v1'],
    ['http://127.0.0.1/v1', 'http://127.0.0.1/v1'],
    ['http://127.1.2.3:9/v1', 'http://127.1.2.3:9/v1'],
    ['http://[::1]:8080/v1', 'http://[::1]:8080/v1'],
  ])('accepts %s', (text, expected) => {
    expect(parseBaseUrl(text, 'here')).toBe(expected);
  });

  it.each([
    ['no address', ''],
    ['no scheme', 'api.test/v1'],
    ['another scheme', 'ftp://api.test/v1'],
    ['a script', 'javascript:alert(1)//v1'],
    ['no version', 'https://api.test'],
    ['another version', 'https://api.test/v2'],
    ['a version in a longer word', 'https://api.test/v11'],
    ['a word that ends in it', 'https://api.test/apiv1'],
    ['the version not at the end', 'https://api.test/v1/automation'],
    ['credentials', 'https://user:secret@api.test/v1'],
    ['only a name', 'https://user@api.test/v1'],
    ['a query', 'https://api.test/v1?x=1'],
    ['a fragment', 'https://api.test/v1#x'],
    ['plain http', 'http://api.test/v1'],
    ['plain http to an address that only looks like this machine', 'http://127.0.0.1.evil.test/v1'],
    ['plain http to a host named like this machine', 'http://localhost.evil.test/v1'],
    ['plain http to every address', 'http://0.0.0.0/v1'],
    ['plain http in the local network', 'http://192.168.0.1/v1'],
  ])('rejects %s', (_, text) => {
    expect(() => parseBaseUrl(text, 'here')).toThrow(UsageError);
    try {
      parseBaseUrl(text, 'here');
    } catch (error) {
      expect(String(error)).not.toContain('secret');
    }
  });

  it('suggests /v1 in place of another version', () => {
    expect(() => parseBaseUrl('https://api.test/partner/v2', 'here')).toThrow(
      expect.objectContaining({ info: expect.objectContaining({ hint: 'Did you mean https://api.test/partner/v1?' }) }),
    );
  });

  it('property: returns https or loopback URLs that end in /v1, and is idempotent', () => {
    const word = fc.constantFrom(
      'http',
      'https',
      '://',
      'localhost',
      '127.0.0.1',
      'api.test',
      '[::1]',
      ':80',
      '/',
      'v1',
      '@',
      '?',
      '#',
      '\\',
      '..',
      '%2e',
    );
    fc.assert(
      fc.property(fc.array(word, { minLength: 3, maxLength: 9 }), (words) => {
        let address: string;
        try {
          address = parseBaseUrl(words.join(''), 'here');
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
});
