import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tinyRandom } from '../support/run.ts';
import { provisionBody, service } from '../support/service.ts';

interface Space {
  space_id: string;
  external_space_id: string;
}

const PROVISION = '/automation/agent-templates/provision-space/';

describe('spaces list', () => {
  test.each([0, 1, 10_000])('prints one JSON document with %i spaces from all pages', async (count) => {
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

  test('keeps every field of the service under its own name', async () => {
    const { env, admin, spaces } = await service();
    await admin('POST', '/spaces', { count: 3 });
    const ran = await run(['spaces', 'list', '-o', 'json'], { env });
    expect(ran.json()).toEqual(await spaces());
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

  test('the flag --output overrides PARTNER_OUTPUT', async () => {
    const { env } = await service();
    expect((await run(['spaces', 'list'], { env: { ...env, PARTNER_OUTPUT: 'json' } })).stdout).toBe('[]\n');
    const flag = await run(['spaces', 'list', '-o', 'ndjson'], { env: { ...env, PARTNER_OUTPUT: 'json' } });
    expect(flag).toMatchObject({ code: 0, stdout: '' });
  });

  test('prints a table in a terminal, or a notice on stderr if the list is empty', async () => {
    const { env } = await service();
    const ran = await run(['spaces', 'list'], { env, columns: 120 });
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: 'There are no spaces that the token can access.\n' });
    expect(await run(['spaces', 'list', '-q'], { env, columns: 120 })).toMatchObject({ stdout: '', stderr: '' });
  });

  test('names the call, and not its name in the code, if the response cannot be read', async () => {
    const { baseUrl } = await startFakeService({ 'GET /automation/spaces/': json({ status: 'ok' }) });
    const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
    const { stderr } = await run(['spaces', 'list'], { env });
    expect(stderr).toContain('The service responded to GET /automation/spaces/ with 200 and ');
    expect(stderr).not.toContain('listSpaces');
  });

  test('says only once that a call was not processed for the balance', async () => {
    const { env, admin } = await service();
    await admin('PATCH', '/settings', { balance_usd: 0.5 });
    const ran = await run(['spaces', 'list'], { env });
    expect(ran.code).toBe(6);
    expect(ran.stderr.match(/not processed/g)).toHaveLength(1);
  });

  test('prints cards in a narrow terminal', async () => {
    const { env, admin } = await service();
    await admin('POST', '/spaces', { count: 2, prefix: 'acme' });
    const ran = await run(['spaces', 'list', '--color', 'never'], { env, columns: 40 });
    expect(ran.stdout).toMatch(/^SPACE: +spc_/);
    expect(ran.stdout).toMatch(/\n\nSPACE: +spc_/);
    for (const line of ran.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(40);
  });

  test('selects from the JSON form with --query in every format', async () => {
    const { env, admin } = await service();
    await admin('POST', '/spaces', { count: 2, prefix: 'acme' });
    const query = ['spaces', 'list', '--query', '[].external_space_id'];
    expect((await run([...query, '-o', 'json'], { env })).json()).toEqual(['acme-1', 'acme-2']);
    expect((await run(query, { env })).stdout).toBe('acme-1\nacme-2\n');
  });

  test('rejects an invalid query before any request', async () => {
    const { env, received } = await service();
    const ran = await run(['spaces', 'list', '--query', '[}', '-o', 'json'], { env });
    expect(ran.code).toBe(2);
    expect(ran.error().message).toContain('[}');
    expect(await received()).toEqual([]);
  });

  test('writes a line per request with -v, and leaves stdout unchanged', async () => {
    const { env, admin } = await service();
    await admin('POST', '/spaces', { count: 101 });
    const quiet = await run(['spaces', 'list', '-o', 'json'], { env });
    const ran = await run(['spaces', 'list', '-o', 'json', '-v'], { env });
    expect(ran.stdout).toBe(quiet.stdout);
    expect(ran.stderr.match(/^\* GET .* → 200 in \d+ ms \(req-[\w-]+\)$/gm)).toHaveLength(2);
    expect(ran.stderr).toContain('from PARTNER_BASE_URL, token from PARTNER_TOKEN');
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

  test('lists all spaces with the same name and suggests the id', async () => {
    const { env, partner } = await service();
    const ids = await Promise.all(
      ['a', 'b'].map(async (id) => (await partner('POST', PROVISION, { body: provisionBody(id) })).json.space.space_id),
    );
    const ran = await run(['agents', 'list', 'name:Acme', '-o', 'json'], { env });
    expect(ran.code).toBe(2);
    expect(ran.error()).toMatchObject({ type: 'usage', hint: expect.stringContaining('space_id') });
    const { candidates } = ran.error().details as { candidates: string[] };
    expect(candidates.toSorted()).toEqual(ids.toSorted());
  });

  test("an unknown id exits with 4 and shows the service's error", async () => {
    const { env } = await service();
    const ran = await run(['agents', 'list', 'spc_nowhere', '-o', 'json'], { env });
    expect(ran.code).toBe(4);
    expect(ran.error()).toMatchObject({ type: 'not_found', status: 404, code: 'space_not_found' });
    expect(ran.error().request_id).toMatch(/^req-/);
  });

  test.each(['', '..', '.'])('rejects %j as an id, and sends nothing', async (id) => {
    const { env, received } = await service();
    expect((await run(['agents', 'list', id], { env })).code).toBe(2);
    expect(await received()).toEqual([]);
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
    [{ kind: 'status', status: 404 }, 4, 'not_found'],
    [{ kind: 'status', status: 402 }, 6, 'balance_too_low'],
    [{ kind: 'status', status: 429, retry_after: 3600 }, 7, 'rate_limited'],
    [{ kind: 'status', status: 503 }, 8, 'service'],
    [{ kind: 'status', status: 422 }, 1, 'refused'],
    [{ kind: 'reset' }, 8, 'service'],
    [{ kind: 'html' }, 8, 'service'],
    [{ kind: 'garbage' }, 8, 'unexpected_shape'],
    [{ kind: 'cut' }, 8, 'service'],
  ])('%j exits with %i', async (fault, code, type) => {
    const { env, faults, admin } = await service();
    await admin('POST', '/spaces', { count: 3 });
    await faults(fault);
    const ran = await run(['spaces', 'list', '-o', 'json', '--retries', '1'], { env, random: tinyRandom });
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(Object.keys(ran.error())).toEqual([
      'type',
      'message',
      'status',
      'code',
      'request_id',
      'hint',
      'retry_at',
      'details',
    ]);
    expect(ran.error().type).toBe(type);
  });

  test('ends at --timeout if the service never responds', async () => {
    const { env, faults } = await service();
    await faults({ kind: 'stall' });
    const ran = await run(['spaces', 'list', '--timeout', '200ms', '-o', 'json'], { env });
    expect(ran.code).toBe(8);
    expect(ran.error().hint).toContain('--timeout');
  });

  test('fails immediately if Retry-After is past the deadline, and says when to retry', async () => {
    const { env, faults, received } = await service();
    await faults({ kind: 'status', status: 429, retry_after: 600 });
    const ran = await run(['spaces', 'list', '--timeout', '10s', '-o', 'json'], { env });
    expect(ran.code).toBe(7);
    expect(Date.parse(String(ran.error().retry_at))).toBeGreaterThan(Date.now() + 500_000);
    expect(await received()).toHaveLength(1);
  });
});
