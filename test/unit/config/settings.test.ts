import { expect, it } from 'vitest';
import { resolveService } from '../../../src/config/settings.ts';

const FLAGS = { quiet: false, verbose: false, debug: false, color: 'auto', input: true, wide: false };

it.each([
  ['its own service', undefined, undefined],
  ['another port', 'https://profile.test:8443/v1', 'https://profile.test/v1'],
  ['a host of a similar name', 'https://profile.test.evil.test/v1', 'https://profile.test/v1'],
])('a token of a profile may go only to the origin of the profile: %s', (_, baseUrl, expected) => {
  const acme = { base_url: 'https://profile.test/v1', token: 'token-of-the-profile' };
  const profiles = { current: () => 'acme', names: () => ['acme'], find: () => acme };
  const flags = { ...FLAGS, ...(baseUrl !== undefined && { baseUrl }) };
  expect(resolveService(flags, {}, profiles).tokenService).toBe(expected);
  expect(resolveService(flags, { PARTNER_TOKEN: 'another' }, profiles).tokenService).toBeUndefined();
});
