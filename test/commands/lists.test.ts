import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { run, tinyRandom } from '../support/run.ts';
import { provisionBody, service } from '../support/service.ts';

interface Space {
  space_id: string;
  external_space_id: string;
}

const PROVISION = '/automation/agent-templates/provision-space/';

describe('spaces list', () => {
  test.each([0, 1, 1_000])('prints one JSON document with %i spaces from all pages', async (count) => {
    const { env, admin, received } = await service();
    if (count > 0) await admin('POST', '/spaces', { count, prefix: 'acme' });
    const ran = await run(['spaces', 'list', '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const spaces = ran.json<Space[]>();
    expect(spaces).toHaveLength(count);
    expect(new Set(spaces.map(({ space_id }) => space_id)).size).toBe(count);
    expect(spaces.map(({ external_space_id }) => external_space_id)).toEqual(
      Array.from({ length: count }, (_, index) => `acme-${index + 1}`),
    );
    expect(await received()).toHaveLength(Math.max(1, Math.ceil(count / 100)));
  });

  test('prints the same data in every format', async () => {
    const { env, admin, spaces } = await service();
    await admin('POST', '/spaces', { count: 250, prefix: 'acme' });
    const expected = await spaces();
    const [ndjson, yaml, tsv, plain, table] = await Promise.all([
      run(['spaces', 'list', '-o', 'ndjson'], { env }),
      run(['spaces', 'list', '--output', 'yaml'], { env }),
      run(['spaces', 'list', '-otsv'], { env }),
      run(['spaces', 'list'], { env }),
      run(['spaces', 'list', '-o', 'table'], { env }),
    ]);
    const lines = ndjson.stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(expected);
    expect(parseYaml(yaml.stdout)).toEqual(expected);
    expect(tsv.stdout).toBe(plain.stdout);
    expect(tsv.stdout).toBe(
      expected
        .map(({ space_id, external_space_id, name }) => `${space_id}\t${external_space_id}\t${name}\t\tno\n`)
        .join(''),
    );
    const rows = table.stdout.trimEnd().split('\n');
    expect(rows).toHaveLength(251);
    expect(rows[0]).toMatch(/^SPACE +EXTERNAL ID +NAME +DESCRIPTION +ORG-WIDE$/);
  });

  test('rejects an invalid query before any request', async () => {
    const { env, received } = await service();
    const ran = await run(['spaces', 'list', '--query', '[}', '-o', 'json'], { env });
    expect(ran.code).toBe(2);
    expect(ran.error().message).toContain('[}');
    expect(await received()).toEqual([]);
  });
});

describe('agents list', () => {
  test('finds the space by id, external id, and name', async () => {
    const { env, partner } = await service();
    const made = await partner('POST', PROVISION, { body: provisionBody('acme-001') });
    await partner('POST', PROVISION, { body: provisionBody('other', { space: { name: 'Other' } }) });
    const { space, agents } = made.json;
    for (const reference of [space.space_id, 'ext:acme-001', 'name:Acme']) {
      const ran = await run(['agents', 'list', reference, '-o', 'json'], { env });
      expect(ran.json<unknown[]>()).toMatchObject([{ agent_id: agents[0].agent_id, template_id: 'tmpl_support' }]);
    }
    const rows = await run(['agents', 'list', 'name:Acme'], { env });
    expect(rows.stdout).toBe(`${agents[0].agent_id}\tSupport\ttmpl_support\n`);
  });

  test('lists similar spaces if none matches', async () => {
    const { env, admin } = await service();
    await admin('POST', '/spaces', { count: 30, prefix: 'acme' });
    const ran = await run(['agents', 'list', 'ext:ACME-7', '-o', 'json'], { env });
    expect(ran.code).toBe(4);
    expect(ran.stdout).toBe('');
    expect(ran.error()).toMatchObject({ type: 'not_found' });
    const text = (await run(['agents', 'list', 'ext:ACME-7'], { env })).stderr;
    expect(text).toContain('ext:acme-7\n');
    expect(text).toContain('spaces list');
  });

  test("an unknown id exits with 4 and shows the service's error", async () => {
    const { env } = await service();
    const ran = await run(['agents', 'list', 'spc_nowhere', '-o', 'json'], { env });
    expect(ran.code).toBe(4);
    expect(ran.error()).toMatchObject({ type: 'not_found', status: 404, code: 'space_not_found' });
    expect(ran.error().request_id).toMatch(/^req-/);
  });

  test('keeps an id with a slash in one path segment', async () => {
    const { env, received } = await service();
    expect((await run(['agents', 'list', '../spaces'], { env })).code).toBe(4);
    expect((await received()).map(({ path }) => path)).toEqual(['/v1/automation/spaces/..%2Fspaces/agents/']);
  });
});

describe('a failed list', () => {
  test.each([
    [{ kind: 'status', status: 401 }, 3, 'credentials'],
    [{ kind: 'status', status: 403 }, 3, 'credentials'],
    [{ kind: 'status', status: 402 }, 6, 'balance_too_low'],
    [{ kind: 'status', status: 429, retry_after: 3600 }, 7, 'rate_limited'],
    [{ kind: 'status', status: 503 }, 8, 'service'],
    [{ kind: 'status', status: 422 }, 1, 'refused'],
    [{ kind: 'reset' }, 8, 'service'],
    [{ kind: 'garbage' }, 8, 'unexpected_shape'],
  ])('%j exits with %i', async (fault, code, type) => {
    const { env, faults, admin } = await service();
    await admin('POST', '/spaces', { count: 3 });
    await faults(fault);
    const ran = await run(['spaces', 'list', '-o', 'json', '--retries', '1'], { env, random: tinyRandom });
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(Object.keys(ran.error()).join()).toBe('type,message,status,code,request_id,hint,retry_at,details');
    expect(ran.error().type).toBe(type);
  });
});
