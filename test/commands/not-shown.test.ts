import { describe, expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { plan, provision, provisioned } from './provisioning.ts';

/* `(not shown)` in a manifest: a text that the service did not show when the file was exported. */

const FULL = `external_space_id: acme
space: { name: Acme }
agents:
  - template_id: tmpl_support
    name: Support
    cron:
      - { name: nightly, instructions: Look., schedule: '0 3 * * *' }
  - { template_id: tmpl_sales, name: Sales }
`;
const NOT_SHOWN = FULL.replace(/tmpl_\w+/g, '(not shown)').replace('Look.', '(not shown)');

describe('a text that the service does not show', () => {
  test.each(['with', 'without'])('stands for what exists, %s the state of the run that created it', async (state) => {
    const { it, path } = await provisioned(FULL, () => NOT_SHOWN);
    const env = state === 'with' ? it.env : { ...it.env, HOME: tempDirectory() };
    expect(await run(['provision', path, '--check'])).toMatchObject({ code: 0 });
    const planned = await run(['plan', path, '-o', 'json', '--quiet'], { env });
    expect(planned).toMatchObject({ code: 0, stderr: '' });
    expect(planned.json()).toMatchObject({ summary: { none: 1, differences: 0, unmanaged: 0 } });
    expect(await provision([path], { ...it, env })).toMatchObject({ code: 0 });
    expect(await it.posts()).toEqual([]);
    // What it recorded is the content at the service.
    expect(await plan({ env }, write('full.yaml', FULL))).toMatchObject({ code: 0 });
    const changed = await plan({ env }, write('changed.yaml', FULL.replace('Look.', 'Look twice.')));
    expect(changed.code).toBe(13);
    expect((await plan({ env }, write('later.yaml', NOT_SHOWN.replace('0 3', '0 4')))).code).toBe(13);
  });

  test('stands for recorded agents where the token may not list them', async () => {
    const { it, path } = await provisioned(FULL, () => NOT_SHOWN);
    const { PARTNER_TOKEN } = await it.envFor(['spaces.provision', 'cron_jobs.write', 'cron_jobs.read']);
    const planned = await plan({ env: { ...it.env, PARTNER_TOKEN } }, path);
    expect(planned.json()).toMatchObject({ spaces: [{ action: 'none' }] });
    expect(planned.code).toBe(0);
  });

  test('of a missing agent is refused by line, and nothing is sent for its space', async () => {
    const { it, path } = await provisioned(FULL.replace(/ {2}- { template_id: tmpl_sales.*\n/, ''), () => NOT_SHOWN);
    const message = `The agent "Sales" does not exist: its template_id at ${path}:8 must be filled in.`;
    const planned = await plan(it, path);
    expect(planned.code).toBe(2);
    expect(planned.json()).toMatchObject({
      spaces: [{ action: 'blocked', actions: [], error: { type: 'invalid_input', message } }],
    });
    expect((await provision([path], it)).error()).toMatchObject({
      message,
      hint: `Replace "(not shown)" at ${path}:8.`,
    });
    const others = await provision([path, write('other.yaml', manifest('other'))], it);
    expect(others.code).toBe(10);
    expect(await it.posts()).toMatchObject([{ body: { external_space_id: 'other' } }]);
  });

  test('of a missing job is refused by line', async () => {
    const text = FULL.replace('Look.', '(not shown)');
    const { it, path } = await provisioned(FULL.replace(/ {4}cron:\n.*\n/, ''), () => text);
    const message = `The job "nightly" of the agent "Support" does not exist: its instructions at ${path}:7 must be filled in.`;
    const planned = await plan(it, path);
    expect(planned.code).toBe(2);
    expect(planned.json()).toMatchObject({ spaces: [{ action: 'blocked', actions: [], error: { message } }] });
    expect((await provision([path], it)).error()).toMatchObject({ type: 'invalid_input', message });
    // As that of an agent which is missing too.
    const elsewhere = await provision([write('new.yaml', FULL.replace('Look.', '" (not shown)\\n"'))], await service());
    expect(elsewhere.error().message).toMatch(/ its instructions at .*new.yaml:7 must be filled in/);
    expect(await it.posts()).toEqual([]);
  });

  test('of a chat is its routing mode: it stands for that of an existing source, and of a missing one it is refused', async () => {
    const text = FULL.replace('name: Support', 'name: Support\n    chat: { routing_mode: session_workflow }');
    const { it, path } = await provisioned(text, () => text.replace('session_workflow', '(not shown)'));
    expect(await plan(it, path)).toMatchObject({ code: 0 });
    const elsewhere = await provision([path], await service());
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.error().message).toBe(
      `The chat of the agent "Support" does not exist: its routing_mode at ${path}:6 must be filled in.`,
    );
  });

  test('is no content for cron create, neither in a flag nor in a file', async () => {
    const { it } = await provisioned(FULL);
    const [agent] = await it.agents((await it.spaces())[0]?.space_id ?? '');
    const id = agent?.agent_id ?? '';
    const job = ['--agent', id, '--name', 'other', '--schedule', '0 3 * * *', '--instructions', '(not shown)'];
    const byFlags = await run(['cron', 'create', ...job], { env: it.env });
    expect(byFlags.code).toBe(2);
    expect(byFlags.stderr).toContain('must be filled in');
    const file = write('jobs.yaml', `- { agent: ${id}, name: a, instructions: (not shown), schedule: '@daily' }\n`);
    const byFile = await run(['cron', 'create', '-f', file], { env: it.env });
    expect(byFile.code).toBe(2);
    expect(byFile.stderr).toContain(`${file}:1:`);
    expect(await it.posts()).toEqual([]);
  });
});
