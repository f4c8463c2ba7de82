import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GlobalFlags } from '../../../src/config/global-flags.ts';
import type { Profiles } from '../../../src/config/profiles.ts';
import { crossServiceToken, resolveService } from '../../../src/config/settings.ts';
import { UsageError } from '../../../src/errors.ts';

const FLAGS: GlobalFlags = {
  quiet: false,
  verbose: false,
  debug: false,
  color: 'auto',
  input: true,
  wide: false,
};
const PROFILES: Profiles = {
  current: 'acme',
  profiles: {
    acme: { base_url: 'https://profile.test/v1', token: 'token-of-the-profile' },
    other: { base_url: 'https://other.test/v1', token_command: 'pass show other' },
  },
};

describe('resolveService', () => {
  it('property: chooses the first source, and lists every other one as shadowed', () => {
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
        const winner = (sources: typeof address, names: readonly string[]): string | undefined =>
          [sources.flag && names[0], sources.env && names[1], sources.profile && names[2]].find((name) => name) ||
          undefined;
        expect(settings.baseUrl.from).toBe(winner(address, ['--base-url', 'PARTNER_BASE_URL', 'profile "p"']));
        expect(settings.token?.from).toBe(winner(token, ['standard input', 'PARTNER_TOKEN', 'profile "p"']));
        const count = (sources: typeof address): number => Object.values(sources).filter(Boolean).length;
        expect(settings.shadowed.length).toBe(Math.max(0, count(address) - 1) + Math.max(0, count(token) - 1));
        expect(settings.shadowed.join()).not.toContain('token-of');
      }),
    );
  });

  it.each(['nobody', '', 'constructor', '__proto__', 'toString'])('rejects the unknown profile %j', (profile) => {
    expect(() => resolveService({ ...FLAGS, profile }, {}, PROFILES)).toThrow(UsageError);
  });
});

describe('crossServiceToken', () => {
  it.each([
    ['its own service', {}, undefined],
    ['its own service at another path', { baseUrl: 'https://profile.test/api/v1' }, undefined],
    ['another host', { baseUrl: 'https://else.test/v1' }, 'https://profile.test/v1'],
    ['another port', { baseUrl: 'https://profile.test:8443/v1' }, 'https://profile.test/v1'],
    ['a host of a similar name', { baseUrl: 'https://profile.test.evil.test/v1' }, 'https://profile.test/v1'],
    ['this machine', { baseUrl: 'http://127.0.0.1:1/v1' }, 'https://profile.test/v1'],
  ])('checks the token of a profile for %s', (_, flags, expected) => {
    expect(crossServiceToken(resolveService({ ...FLAGS, ...flags }, {}, PROFILES), PROFILES)).toBe(expected);
  });

  it('ignores a profile whose token is not used', () => {
    const env = { PARTNER_TOKEN: 'token-of-the-environment', PARTNER_BASE_URL: 'https://else.test/v1' };
    expect(crossServiceToken(resolveService(FLAGS, env, PROFILES), PROFILES)).toBeUndefined();
  });
});
