import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ADMIN_ROUTES } from '../../src/sandbox/admin/index.ts';
import { DEFAULT_SETTINGS } from '../../src/sandbox/settings.ts';
import { startTestSandbox } from '../support/sandbox-client.ts';

const HELP = readFileSync(new URL('../../src/help/sandbox.md', import.meta.url), 'utf8');

test('the admin API lists its routes with a description each', async () => {
  const { admin } = await startTestSandbox();
  for (const path of ['', '/']) {
    const { status, json } = await admin('GET', path);
    expect(status).toBe(200);
    const listed = json.routes.map(({ method, path: own, use }: Record<string, string>) => [`${method} ${own}`, use]);
    expect(Object.fromEntries(listed)).toEqual(ADMIN_ROUTES);
    expect(listed).toHaveLength(Object.keys(ADMIN_ROUTES).length);
  }
});

test('the list of routes requires the admin key', async () => {
  const { sandbox, token } = await startTestSandbox();
  const answer = await fetch(sandbox.adminUrl, { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(401);
});

test('help sandbox contains every route of the admin API and every setting', () => {
  for (const [route, use] of Object.entries(ADMIN_ROUTES)) {
    expect(HELP).toContain(`| \`${route.replace(/:\w+/, '<id>')}\` | ${use} |`);
  }
  for (const [name, value] of Object.entries(DEFAULT_SETTINGS)) {
    const shown = value === 10 * 1024 ** 3 ? '10 GiB' : `${value}`;
    expect(HELP).toMatch(new RegExp(`^\\| \`${name}\` \\| .* Default: \`?${shown}\`?\\. \\|$`, 'm'));
  }
});
