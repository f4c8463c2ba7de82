import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resolveService } from '../../../src/config/settings.ts';

const FLAGS = { quiet: false, verbose: false, debug: false, color: 'auto', input: true, wide: false };

it('property: the first source is used, and every other one is listed as shadowed', () => {
  const present = fc.record({ flag: fc.boolean(), env: fc.boolean(), profile: fc.boolean() });
  fc.assert(
    fc.property(present, present, (address, token) => {
      fc.pre(address.flag || address.env || address.profile);
      const flags = {
        ...FLAGS,
        ...(address.flag && { baseUrl: 'https://flag.test/v1' }),
        ...(token.flag && { tokenFile: '-' }),
      };
      const env = {
        ...(address.env && { PARTNER_BASE_URL: 'https://env.test/v1' }),
        ...(token.env && { PARTNER_TOKEN: 'token-of-the-environment' }),
      };
      const stored = {
        ...(address.profile && { base_url: 'https://profile.test/v1' }),
        ...(token.profile && { token: 'token-of-the-profile' }),
      };
      const settings = resolveService(flags, env, { current: 'p', profiles: { p: stored } });
      const winner = (sources: typeof address, [flag, variable]: readonly string[]): string | undefined =>
        sources.flag ? flag : sources.env ? variable : sources.profile ? 'profile "p"' : undefined;
      expect(settings.baseUrl.from).toBe(winner(address, ['--base-url', 'PARTNER_BASE_URL']));
      expect(settings.token?.from).toBe(winner(token, ['standard input', 'PARTNER_TOKEN']));
      const count = (sources: typeof address): number => Object.values(sources).filter(Boolean).length;
      expect(settings.shadowed.length).toBe(Math.max(0, count(address) - 1) + Math.max(0, count(token) - 1));
      expect(settings.shadowed.join()).not.toContain('token-of');
    }),
  );
});

it.each([
  ['its own service', undefined, undefined],
  ['its own service at another path', 'https://profile.test/api/v1', undefined],
  ['another port', 'https://profile.test:8443/v1', 'https://profile.test/v1'],
  ['a host of a similar name', 'https://profile.test.evil.test/v1', 'https://profile.test/v1'],
  ['this machine', 'http://127.0.0.1:1/v1', 'https://profile.test/v1'],
])('a token of a profile may go only to the origin of the profile: %s', (_, baseUrl, expected) => {
  const acme = { base_url: 'https://profile.test/v1', token: 'token-of-the-profile' };
  const profiles = { current: 'acme', profiles: { acme } };
  const flags = { ...FLAGS, ...(baseUrl !== undefined && { baseUrl }) };
  expect(resolveService(flags, {}, profiles).tokenService).toBe(expected);
  expect(resolveService(flags, { PARTNER_TOKEN: 'another' }, profiles).tokenService).toBeUndefined();
});
