import { expect, it } from 'vitest';
import { resolveService } from '../../../src/config/settings.ts';

it.each([
  ['its own service', undefined, undefined],
  ['another port', 'https://profile.test:8443/v1', 'https://profile.test/v1'],
  ['a host of a similar name', 'https://profile.test.evil.test/v1', 'https://profile.test/v1'],
])('a token of a profile may go only to the origin of the profile: %s', (_, baseUrl, expected) => {
  const acme = { base_url: 'https://profile.test/v1', token: 'token-of-the-profile' };
  const config = { current: () => 'acme', names: () => ['acme'], find: () => acme };
  const flags = baseUrl === undefined ? {} : { baseUrl };
  expect(resolveService({ flags, env: {}, config }).tokenService).toBe(expected);
  expect(resolveService({ flags, env: { PARTNER_TOKEN: 'another' }, config }).tokenService).toBeUndefined();
});
