import { describe, expect, test } from 'vitest';
import { fleetYaml } from '../support/fleet.ts';
import { run } from '../support/run.ts';
import { type Service, write } from '../support/service.ts';
import { plan, provisioned } from './provisioning.ts';

/* `ignore:` in a manifest. */

const JOB = { name: 'nightly', instructions: 'Look.', schedule: '0 3 * * *' };
const ACTUAL = {
  external_space_id: 'acme',
  space: { name: 'Acme', description: 'Old text' },
  agents: [
    { template_id: 'tmpl_support', name: 'Support', chat: { name: 'Web' }, cron: [JOB, { ...JOB, name: 'weekly' }] },
    { template_id: 'tmpl_sales', name: 'Old bot', cron: [JOB] },
  ],
};
/** The drift of all kinds. */
const WANTED = {
  ...ACTUAL,
  space: { name: 'Acme', description: 'New text' },
  agents: [
    {
      template_id: 'tmpl_support',
      name: 'Support',
      chat: { name: 'Phone' },
      cron: [{ ...JOB, instructions: 'Look twice.', schedule: '0 4 * * *' }],
    },
  ],
};
const IGNORED = `ignore:
  - { resource: agent, name: Old bot }
  - { resource: job, name: weekly }
  - { resource: job, name: nightly, field: hour }
  - { resource: job, name: nightly, field: instructions }
  - { resource: chat, field: name }
  - { resource: space, field: description }
`;

const planOf = (it: Service, text: string) => plan(it, write('acme.yaml', text));

describe('what a manifest ignores', () => {
  test('is neither in the plan nor in its exit code, and provision sends nothing for it', async () => {
    // The sandbox refuses a request with fields that it does not know, such as `ignore`.
    const { it } = await provisioned(`${fleetYaml([ACTUAL])}${IGNORED}`);
    const drifted = await planOf(it, fleetYaml([WANTED]));
    expect(drifted.code).toBe(13);
    expect(drifted.json()).toMatchObject({ summary: { none: 1, differences: 4, unmanaged: 3 } });
    const planned = await planOf(it, `${fleetYaml([WANTED])}${IGNORED}`);
    expect(planned).toMatchObject({ code: 0, stderr: '' });
    expect(planned.json()).toMatchObject({
      spaces: [{ action: 'none', differences: [], unmanaged: [] }],
      summary: { none: 1, differences: 0, unmanaged: 0 },
    });
    const path = write('acme.yaml', `${fleetYaml([WANTED])}${IGNORED}`);
    const again = await run(['provision', path, '-o', 'json'], { env: it.env });
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.json()).toMatchObject({ results: [{ status: 'unchanged', differences: [] }] });
    expect(await it.posts()).toEqual([]);
  });

  test('stays beside a job of another name with the same text, which would be taken for it, renamed', async () => {
    const { it } = await provisioned(fleetYaml([ACTUAL]));
    const text = fleetYaml([ACTUAL]).replace('weekly', 'monthly');
    expect((await planOf(it, text)).code).toBe(5);
    expect((await planOf(it, `${text}${IGNORED}`)).code).toBe(12);
  });

  test('is checked as the rest of the manifest, and is part of the JSON Schema', async () => {
    const wrong = write('acme.yaml', `${fleetYaml([WANTED])}ignore: [{ resource: bot, nam: x }]\n`);
    const checked = await run(['provision', wrong, '--check']);
    expect(checked.code).toBe(2);
    expect(checked.stderr).toContain('must be space or agent or chat or job, not "bot"');
    expect(checked.stderr).toContain('did you mean "name"?');
    const schema = (await run(['plan', '--schema'])).json();
    expect(schema).toHaveProperty('properties.ignore.items.properties.resource');
  });
});
