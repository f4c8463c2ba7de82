import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeCompletion } from '../../src/cli/completion-tree.ts';
import { respond } from '../../src/completion/respond.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

const TREE = JSON.stringify(await describeCompletion());
const SPACES = [
  { space_id: 's1', external_space_id: 'acme', name: 'Acme', description: 'secret plans' },
  { space_id: 's2', external_space_id: null, name: '$(touch pwned)\u001b[31m' },
];

function service() {
  return startFakeService({
    'GET /automation/spaces/': json(SPACES),
    'GET /automation/spaces/{id}/agents/': (request, response) =>
      sendJson(response, [{ agent_id: `agent-of-${request.path.split('/')[4]}`, name: 'Support' }]),
    'GET /automation/partner-cron-jobs/': json([{ cron_job_id: 'cron_1', agent_id: 'a1', name: 'daily' }]),
    '*': json({}, 404),
  });
}

/** Completes a command line as zsh does at a Tab. */
function tab(env: Record<string, string>, ...args: string[]) {
  const all = ['zsh', args.at(-1) ?? '', String(args.length - 1), ...args.slice(0, -1)];
  const deps = { env, platform: process.platform, home: env.HOME ?? '', now: Date.now(), readTree: () => TREE };
  const { text, refresh } = respond(all, deps);
  return { values: text.split('\n').slice(1, -1), refresh };
}

function cacheFiles(config: string): string[] {
  const [name = ''] = readdirSync(join(config, 'completion'));
  return readdirSync(join(config, 'completion', name)).map((file) => join(config, 'completion', name, file));
}

describe('completion refresh', () => {
  it('reads ids and names, which Tab then offers, and stores no token and no other text', async () => {
    const { baseUrl: base, requests } = await service();
    const { env: own, config } = createProfileHome();
    const env = { ...own, PARTNER_BASE_URL: base, PARTNER_TOKEN: TOKEN };
    const refreshed = await run(['completion', 'refresh', '-o', 'json'], { env });
    expect(refreshed).toMatchObject({ code: 0, stderr: '' });
    expect(refreshed.json()).toMatchObject({ profile: 'default', base_url: base, spaces: 2, agents: 2, jobs: 1 });
    expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(['GET']));
    expect(tab(env, 'agents', 'list', '').values).toEqual([
      's1\tAcme',
      's2\t$(touch pwned)\\x1b[31m',
      'ext:\t',
      'name:\t',
    ]);
    // A name that nobody can type is not offered.
    expect(tab(env, 'agents', 'list', 'name:').values).toEqual(['name:Acme\ts1']);
    expect(tab(env, 'chat', 'setup', 'ext:acme', '').values).toEqual(['agent-of-s1\tSupport', 'name:\t']);
    expect(tab(env, 'cron', 'adopt', '').values).toEqual(['cron_1\tdaily']);
    for (const file of cacheFiles(config)) {
      expect(statSync(file).mode & 0o777, file).toBe(0o600);
      expect(readFileSync(file, 'utf8')).not.toMatch(/secret plans|pat_/);
    }
  });

  it('offers the jobs and sessions of this machine', async () => {
    const { baseUrl: base } = await service();
    const { env: own, config } = createProfileHome();
    const state = join(config, 'state.jsonl');
    const env = { ...own, PARTNER_BASE_URL: base, PARTNER_TOKEN: TOKEN, PARTNER_STATE: state };
    const fake = await startFakeService({
      'POST /integrations/api-chat/message/': json({ message_id: 'm1', session_id: 'ticket-1' }, 201),
      'GET *': json([]),
    });
    const there = { ...env, PARTNER_BASE_URL: fake.baseUrl };
    await run(['chat', 'send', '--source', 'src_1', '--session', 'ticket-1', 'a secret message'], { env: there });
    expect(await run(['completion', 'refresh'], { env: there })).toMatchObject({ code: 0 });
    expect(tab(there, 'chat', 'tail', '--source', '').values).toEqual(['src_1\t']);
    expect(tab(there, 'chat', 'tail', '--source', 'src_1', '--session', '').values).toEqual(['ticket-1\tsrc_1']);
    expect(tab(env, 'chat', 'tail', '--source', '').values).toEqual([]);
    for (const file of cacheFiles(config)) expect(readFileSync(file, 'utf8')).not.toContain('secret message');
  });

  it('keeps the cached values when the service fails, and is due later', async () => {
    const fake = await service();
    const { env: own, config } = createProfileHome();
    const env = { ...own, PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN };
    await run(['completion', 'refresh'], { env });
    fake.respond(json({ detail: 'down' }, 503));
    expect(await run(['completion', 'refresh', '--retries', '0'], { env })).toMatchObject({ code: 8 });
    expect(tab(env, 'agents', 'list', 's1').values).toEqual(['s1\tAcme']);
    const [status = ''] = cacheFiles(config).filter((file) => file.endsWith('status.json'));
    expect(JSON.parse(readFileSync(status, 'utf8'))).toMatchObject({ failures: 1 });
  });

  it('does nothing in the background if a token would have to be fetched', async () => {
    const fake = await service();
    const { env, config } = createProfileHome();
    mkdirSync(config);
    const marker = join(config, 'ran');
    const profile = { base_url: fake.baseUrl, token_command: `touch ${marker}; echo token` };
    writeFileSync(join(config, 'config.json'), JSON.stringify({ current: 'p', profiles: { p: profile } }));
    expect(await run(['completion', 'refresh', '--background'], { env })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(fake.requests).toEqual([]);
    expect(() => statSync(marker)).toThrow();
    expect(tab(env, 'agents', 'list', '').refresh).toBeUndefined();
  });
});

describe('a Tab', () => {
  it('starts a refresh only if the token is available, and not for settings that only the line names', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'default');
    const { env } = home;
    expect(tab(env, 'agents', 'list', '').refresh).toMatchObject({ flags: [] });
    expect(tab(env, '--profile', 'default', 'agents', 'list', '').refresh).toMatchObject({
      flags: ['--profile', 'default'],
    });
    expect(tab({ ...env, PARTNER_TOKEN: 'x' }, '--profile', 'default', 'agents', 'list', '').refresh).toBeUndefined();
    expect(tab(env, '--base-url', 'https://evil.example.com/v1', 'agents', 'list', '').refresh).toBeUndefined();
    expect(tab(env, 'agents', 'list', '--token-file', 't', '').refresh).toBeUndefined();
    expect(tab({ ...env, PARTNER_COMPLETION: 'offline' }, 'agents', 'list', '').refresh).toBeUndefined();
    expect(tab(env, 'spaces', 'list', '').refresh).toBeUndefined();
    expect(tab({ HOME: tempDirectory() }, 'agents', 'list', '')).toEqual({ values: [], refresh: undefined });
  });

  it('offers the names of the profiles, and survives a damaged profiles file', async () => {
    const home = createProfileHome();
    await storeProfile(home, 'acme');
    expect(tab(home.env, 'profile', 'use', '').values).toEqual(['acme\thttps://api.example.com/v1']);
    expect(tab(home.env, '--profile=a').values).toEqual(['--profile=acme\thttps://api.example.com/v1']);
    writeFileSync(home.path, '{"profiles":{"a":1,"b":');
    expect(tab(home.env, 'profile', 'use', '').values).toEqual([]);
    expect(tab(home.env, 'spa').values).toHaveLength(1);
  });
});

describe('completion install', () => {
  const zsh = ['completion', 'install', '--shell', 'zsh'];

  it('writes nothing without confirmation', async () => {
    const HOME = tempDirectory();
    const refused = await run([...zsh, '-o', 'json'], { env: { HOME } });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.error().message).toMatch(/needs a confirmation, and there is no terminal to ask for it\.$/);
    const why = expect.stringMatching(/^It creates .*_partnerctl, and creates .*\.zshrc\. Nothing was changed\.$/);
    expect(refused.error().details).toMatchObject({ why });
    const planned = (await run([...zsh, '--dry-run', '-o', 'json'], { env: { HOME } })).json<{ status: string }>();
    expect(planned.status).toBe('planned');
    expect(readdirSync(HOME)).toEqual([]);
  });

  it('adds one line, preserves every other byte, the mode, and a symbolic link, and changes nothing the second time', async () => {
    const HOME = tempDirectory();
    const file = join(HOME, 'dotfiles-zshrc');
    const before = Buffer.from('# caf\xe9\r\nalias x=y', 'latin1');
    writeFileSync(file, before);
    chmodSync(file, 0o640);
    symlinkSync(file, join(HOME, '.zshrc'));
    const first = await run([...zsh, '--yes', '-o', 'json'], { env: { HOME } });
    expect(first.json()).toMatchObject({
      shell: 'zsh',
      status: 'installed',
      changes: [{ action: 'create' }, { action: 'append' }],
    });
    const after = readFileSync(file);
    expect(after.subarray(0, before.length)).toEqual(before);
    expect(after.subarray(before.length).toString()).toMatch(
      /^\r\n.*source .*_partnerctl {2}# partnerctl completion\r\n$/,
    );
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(lstatSync(join(HOME, '.zshrc')).isSymbolicLink()).toBe(true);
    const second = await run([...zsh, '--yes', '-o', 'json'], { env: { HOME } });
    expect(second.json()).toMatchObject({ status: 'unchanged', changes: [{ action: 'none' }, { action: 'none' }] });
    expect(readFileSync(file)).toEqual(after);
  });

  it('replaces its own script and line after a move', async () => {
    const HOME = tempDirectory();
    await run([...zsh, '--yes'], { env: { HOME } });
    const rc = join(HOME, '.zshrc');
    writeFileSync(rc, `first\n${readFileSync(rc, 'utf8')}last\n`);
    const XDG_DATA_HOME = join(HOME, 'data');
    expect((await run([...zsh, '--yes', '-o', 'json'], { env: { HOME, XDG_DATA_HOME } })).json()).toMatchObject({
      changes: [{ action: 'create' }, { action: 'replace' }],
    });
    expect(readFileSync(rc, 'utf8')).toMatch(/^first\n.*\/data\/zsh\/.*\nlast\n$/);
  });

  it.each([
    ['bash', ['.bashrc', '.local/share/bash-completion/completions/partnerctl']],
    ['fish', ['.config/fish/completions/partnerctl.fish']],
    ['powershell', ['.config/powershell/Microsoft.PowerShell_profile.ps1', '.local/share/partnerctl/partnerctl.ps1']],
  ])('finds the files of %s', async (shell, files) => {
    const HOME = tempDirectory();
    const installed = await run(['completion', 'install', '--yes', '-o', 'json'], {
      env: { HOME, SHELL: `/bin/${shell}` },
    });
    const { changes } = installed.json<{ changes: { file: string }[] }>();
    expect(changes.map(({ file }) => file).sort()).toEqual(files.map((file) => join(HOME, file)));
    for (const file of files) expect(readFileSync(join(HOME, file), 'utf8')).toContain('partnerctl');
  });

  it('prints one change per line as ndjson', async () => {
    const env = { HOME: tempDirectory(), SHELL: '/bin/bash' };
    const ran = await run(['completion', 'install', '--dry-run', '-o', 'ndjson'], { env });
    const actions = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).action);
    expect(actions).toEqual(['create', 'create']);
  });

  it('adds the line to the file in --rc-file', async () => {
    const HOME = tempDirectory();
    const rc = join(HOME, 'my profile.ps1');
    const args = ['completion', 'install', '--shell', 'powershell', '--rc-file', rc, '--yes'];
    expect(await run(args, { env: { HOME } })).toMatchObject({ code: 0 });
    expect(readFileSync(rc, 'utf8')).toBe(
      `. '${join(HOME, '.local/share/partnerctl/partnerctl.ps1')}'  # partnerctl completion\n`,
    );
  });

  it('does not replace a device', async () => {
    // Without --dry-run, a mistake would replace the device of the whole machine.
    const args = ['completion', 'install', '--shell', 'bash', '--rc-file', '/dev/null', '--dry-run', '-o', 'json'];
    const ran = await run(args, { env: { HOME: tempDirectory() } });
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({
      message: '/dev/null cannot be read.',
      details: { why: 'it is not a regular file' },
    });
  });

  it('asks for the shell if it cannot be detected', async () => {
    expect(await run(['completion', 'install', '--yes'], { env: { SHELL: '/bin/tcsh' } })).toMatchObject({ code: 2 });
  });
});
