import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';

/** Runs a command in a sandbox that reports its environment. */
async function environmentInSandbox(args: readonly string[], given: Record<string, string>, columns?: number) {
  const out = join(tempDirectory(), 'environment.json');
  const script = `require('node:fs').writeFileSync(${JSON.stringify(out)}, JSON.stringify(process.env))`;
  const ran = await run(['sandbox', 'run', ...args, '--', process.execPath, '-e', script], { env: given, columns });
  expect(ran.code).toBe(0);
  const env: Record<string, string | undefined> = JSON.parse(readFileSync(out, 'utf8'));
  return { env, stderr: ran.stderr };
}

const REAL = {
  PARTNER_BASE_URL: 'https://api.example.com/v1',
  PARTNER_TOKEN: 'pat_of-the-real-service',
  PARTNER_PROFILE: 'production',
};

describe('sandbox run', () => {
  test('hides the real state, the selected profile, and the real service from its command', async () => {
    const PARTNER_STATE = join(tempDirectory(), 'real.jsonl');
    const { env } = await environmentInSandbox([], { ...REAL, PARTNER_STATE });
    expect(env.PARTNER_PROFILE).toBeUndefined();
    expect(env.PARTNER_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(env.PARTNER_TOKEN).not.toBe(REAL.PARTNER_TOKEN);
    expect(env.PARTNER_STATE).toMatch(/partnerctl-sandbox-/);
    expect(env.PARTNER_STATE).not.toBe(PARTNER_STATE);
    expect(existsSync(env.PARTNER_STATE ?? '')).toBe(false);
  });

  test('gives its command a configuration directory of its own, which is gone afterwards', async () => {
    const real = tempDirectory();
    const { env } = await environmentInSandbox([], { ...REAL, PARTNER_CONFIG_DIR: real });
    expect(env.PARTNER_CONFIG_DIR).toMatch(/partnerctl-sandbox-/);
    expect(existsSync(env.PARTNER_CONFIG_DIR ?? '')).toBe(false);
    expect(readdirSync(real)).toEqual([]);
  });

  test('passes the state in --state to its command, from any directory', async () => {
    const state = join(tempDirectory(), 'rehearsal.jsonl');
    const given = { ...REAL, PARTNER_STATE: '/real.jsonl' };
    expect((await environmentInSandbox(['--state', state], given)).env.PARTNER_STATE).toBe(state);
    const relative = await environmentInSandbox(['--state', 'rehearsal.jsonl'], given);
    expect(relative.env.PARTNER_STATE).toBe(join(process.cwd(), 'rehearsal.jsonl'));
  });

  test('shows in a terminal which command uses the sandbox, and what is kept', async () => {
    const { env, stderr } = await environmentInSandbox([], {}, 300);
    const start = `Sandbox: the service is ${env.PARTNER_BASE_URL}, not the real one. When ${process.execPath} ends`;
    expect(stderr).toBe(`${start}, everything in the sandbox is gone.\n`);

    const [data, state] = [tempDirectory(), join(tempDirectory(), 's.jsonl')];
    const kept = await environmentInSandbox(['--data', data, '--state', state], {}, 600);
    expect(kept.stderr).toContain(` ends, its data (${data}) and the state (${state}) stay, and nothing else.\n`);
    expect((await environmentInSandbox(['--data', data], {}, 600)).stderr).toContain(
      `its data (${data}) stays, and nothing`,
    );
  });

  test('says nothing without a terminal, or with --quiet', async () => {
    expect((await environmentInSandbox([], {})).stderr).toBe('');
    expect((await environmentInSandbox(['--quiet'], {}, 80)).stderr).toBe('');
  });

  test('names the directory for temporary files if it cannot be used', async () => {
    const HOME = tempDirectory();
    const gone = join(HOME, 'gone');
    vi.stubEnv('TMPDIR', gone);
    onTestFinished(() => void vi.unstubAllEnvs());
    const ran = await run(['sandbox', 'run', '-o', 'json', '--', process.execPath, '--version'], { env: { HOME } });
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.error()).toMatchObject({
      type: 'local',
      message: `A temporary directory cannot be made in ${gone}.`,
      hint: expect.stringContaining('TMPDIR'),
      details: { why: 'there is no such file or directory' },
    });
  });

  test('takes an empty command for a missing one: exit 2', async () => {
    const ran = await run(['sandbox', 'run', '-o', 'json', '--', '']);
    expect(ran.code).toBe(2);
    expect(ran.error()).toMatchObject({ type: 'usage', message: 'The command is missing.' });
  });
});
