import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Ran, run } from '../support/run.ts';
import { service } from '../support/service.ts';
import { createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

/** A service, a profile `acme` with its token, and a file with a token that no service knows. */
async function setUp() {
  const { sandbox, token } = await service();
  const home = createProfileHome();
  await storeProfile(home, 'acme', sandbox.baseUrl, token);
  const file = join(home.env.HOME, 'token.txt');
  writeFileSync(file, `${TOKEN}\n`);
  return { sandbox, token, home, file, env: { ...home.env } };
}

function hintOf({ stderr }: Ran): string {
  return /^hint: (.*)$/m.exec(stderr)?.[1] ?? '';
}

/** The arguments of the partnerctl command at the end of a hint. */
function commandIn(hint: string): string[] {
  return (/partnerctl (.*?)\.?$/.exec(hint)?.[1] ?? '').split(' ');
}

const LIST = ['spaces', 'list', '-o', 'json'];
const AS_TEXT = ['spaces', 'list'];

test('the hint for PARTNER_TOKEN works: set a valid token, or unset it to use the profile', async () => {
  const { home, token } = await setUp();
  const ran = await run(AS_TEXT, { env: { ...home.env, PARTNER_TOKEN: TOKEN } });
  expect(ran).toMatchObject({ code: 3 });
  expect(ran.stderr).toContain('error: The service rejected the token from PARTNER_TOKEN (401).\n');
  expect(hintOf(ran)).toBe('Set a valid one, or unset it to use profile "acme".');
  expect((await run(LIST, { env: { ...home.env, PARTNER_TOKEN: token } })).code).toBe(0);
  expect((await run(LIST, { env: home.env })).code).toBe(0);
});

test('the hint for PARTNER_TOKEN with PARTNER_BASE_URL offers the profile only for the same service', async () => {
  const { home, sandbox } = await setUp();
  const env = { ...home.env, PARTNER_BASE_URL: sandbox.baseUrl };
  expect(hintOf(await run(AS_TEXT, { env: { ...env, PARTNER_TOKEN: TOKEN } }))).toContain('to use profile "acme".');
  expect((await run(LIST, { env })).code).toBe(0);
  const other = await service();
  const elsewhere = { ...home.env, PARTNER_BASE_URL: other.sandbox.baseUrl, PARTNER_TOKEN: TOKEN };
  expect(hintOf(await run(AS_TEXT, { env: elsewhere }))).toBe('Set a valid one.');
});

test('the hint for --token-file works: put a valid token into the file, or omit the flag', async () => {
  const { env, file, token } = await setUp();
  const args = [...AS_TEXT, '--token-file', file];
  const ran = await run(args, { env });
  expect(ran.stderr).toContain(`error: The service rejected the token from --token-file ${file} (401).\n`);
  expect(hintOf(ran)).toBe(`Put a valid one into ${file}, or omit --token-file to use profile "acme".`);
  expect((await run(LIST, { env })).code).toBe(0);
  writeFileSync(file, token);
  expect((await run(args, { env })).code).toBe(0);
});

test('the hint for standard input works: pass a valid token', async () => {
  const { env, token } = await setUp();
  const args = [...AS_TEXT, '--token-file', '-'];
  const ran = await run(args, { env, stdin: TOKEN });
  expect(ran.stderr).toContain('error: The service rejected the token from standard input (401).\n');
  expect(hintOf(ran)).toBe('Pipe a valid one to standard input, or omit --token-file to use profile "acme".');
  expect((await run(args, { env, stdin: token })).code).toBe(0);
});

test.each(['acme', 'customers of acme'])('the hint for a stored token works: log in to profile %j', async (name) => {
  const { env, home, sandbox, token } = await setUp();
  await storeProfile(home, name, sandbox.baseUrl, TOKEN);
  const ran = await run([...AS_TEXT, '--profile', name], { env });
  expect(ran.stderr).toContain(`error: The service rejected the token from profile "${name}" (401).\n`);
  expect(hintOf(ran)).toMatch(/^Store a valid one with: partnerctl login --profile /);
  const args =
    hintOf(ran)
      .replace(/^.*partnerctl /, '')
      .match(/'[^']*'|\S+/g) ?? [];
  const login = await run(
    args.map((word) => word.replaceAll("'", '')),
    { env, stdin: token },
  );
  expect(login.code).toBe(0);
  expect((await run([...LIST, '--profile', name], { env })).code).toBe(0);
});

test('the hint for token_command works: print a valid token, or store one', async () => {
  const { env, home, file, sandbox, token } = await setUp();
  const login = ['login', '--profile', 'vault', '--base-url', sandbox.baseUrl, '--token-command', `cat ${file}`];
  expect((await run([...login, '--no-verify'], { env })).code).toBe(0);
  const args = [...AS_TEXT, '--profile', 'vault'];
  const ran = await run(args, { env });
  expect(ran.stderr).toContain(`error: The service rejected the token from profile "vault"'s token_command (401).\n`);
  expect(hintOf(ran)).toBe(
    `Make it print a valid one (cat ${file}), or store a token with: partnerctl login --profile vault`,
  );
  writeFileSync(file, token);
  expect((await run(args, { env })).code).toBe(0);
  expect((await run(commandIn(hintOf(ran)), { env, stdin: token })).code).toBe(0);
  expect(home.read().profiles.vault).toEqual({ base_url: sandbox.baseUrl, token });
});

test('the hint for a token of another service works: use a token for this one', async () => {
  const { env, sandbox } = await setUp();
  const other = await service();
  const args = [...AS_TEXT, '--base-url', other.sandbox.baseUrl];
  const ran = await run(args, { env });
  expect(hintOf(ran)).toBe(`It is for ${sandbox.baseUrl}. Set PARTNER_TOKEN to a token for ${other.sandbox.baseUrl}.`);
  expect((await run(args, { env: { ...env, PARTNER_TOKEN: other.token } })).code).toBe(0);
});

test.each([
  ['empty', '  '],
  ['several words', 'two words'],
])('the hint for a malformed token fits its source: %s', async (_, text) => {
  const { env, file } = await setUp();
  const fromEnvironment = await run(AS_TEXT, { env: { ...env, PARTNER_TOKEN: text } });
  expect(fromEnvironment).toMatchObject({ code: 3, stderr: expect.stringContaining('The token from PARTNER_TOKEN') });
  expect(hintOf(fromEnvironment)).toBe('Set a valid one, or unset it to use profile "acme".');
  writeFileSync(file, text);
  const fromFile = await run([...AS_TEXT, '--token-file', file], { env });
  expect(fromFile).toMatchObject({ code: 3, stderr: expect.stringContaining(`The token from --token-file ${file}`) });
  expect(hintOf(fromFile)).toContain(`Put a valid one into ${file}`);
});

test('the hint for a missing token file names an alternative', async () => {
  const { env, file } = await setUp();
  const ran = await run([...AS_TEXT, '--token-file', `${file}.missing`], { env });
  expect(ran).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`The token file ${file}.missing cannot be read.`),
  });
  expect(hintOf(ran)).toContain(`Put a valid one into ${file}.missing, or omit --token-file`);
});

test('the error for a 403 names the source of the token', async () => {
  const { sandbox, createToken } = await service();
  const env = { PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: await createToken({ scopes: [] }) };
  const ran = await run(AS_TEXT, { env });
  expect(ran).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('error: The token from PARTNER_TOKEN is not allowed to do this (403).\n'),
  });
});

test.each([
  ['PARTNER_TOKEN', [], { PARTNER_TOKEN: TOKEN }, undefined],
  ['standard input', [], {}, TOKEN],
  ['--token-command', ['--token-command', `echo ${TOKEN}`], {}, undefined],
])('login reports a bad token from %s', async (source, args, more, stdin) => {
  const { env, sandbox, home } = await setUp();
  const before = readFileSync(home.path, 'utf8');
  const login = ['login', '--profile', 'acme', '--base-url', sandbox.baseUrl, ...args];
  const ran = await run(login, { env: { ...env, ...more }, ...(stdin !== undefined && { stdin }) });
  expect(ran).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`error: The service rejected the token from ${source} (401).\n`),
  });
  expect(readFileSync(home.path, 'utf8')).toBe(before);
});

test('a token that an earlier version put into the keychain is refused with the command that stores it again', async () => {
  const { home, sandbox, token } = await setUp();
  const profiles = { acme: { base_url: sandbox.baseUrl, keychain_account: 'acme' } };
  writeFileSync(home.path, JSON.stringify({ current: 'acme', profiles }));
  const ran = await run(AS_TEXT, { env: home.env });
  expect(ran).toMatchObject({ code: 3 });
  expect(ran.stderr).toContain(
    'error: The token of profile "acme" is in the keychain, which partnerctl no longer reads.',
  );
  expect((await run(commandIn(hintOf(ran)), { env: home.env, stdin: token })).code).toBe(0);
  expect((await run(LIST, { env: home.env })).code).toBe(0);
});
