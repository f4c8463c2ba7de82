import { describe, expect, test } from 'vitest';
import { manifest, service, write } from '../support/service.ts';
import { type Answer, provision, SUMMARY } from './provisioning.ts';

describe('a failure', () => {
  const many = (count: number): string =>
    write('many.yaml', Array.from({ length: count }, (_, index) => manifest(`s${index}`)).join('---\n'));
  const POST = 'POST /automation/agent-templates/provision-space/';

  test('of some documents does not affect the others, and each result has its error: exit 10', async () => {
    const it = await service();
    const bad = manifest('bad').replace('tmpl_support', 'tmpl_nowhere');
    const path = write('three.yaml', `${manifest('one')}---\n${bad}---\n${manifest('two')}`);
    const ran = await provision([path], it);
    expect(ran.code).toBe(10);
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 2, failed: 1 });
    expect(results.map(({ status }) => status)).toEqual(['created', 'failed', 'created']);
    expect(results[1]).toMatchObject({
      external_space_id: 'bad',
      space_id: null,
      agents: [{ agent_id: null, name: 'Support', template_id: 'tmpl_nowhere', status: 'failed', source_id: null }],
      error: { type: 'refused', status: 422, code: 'invalid_input' },
    });
    expect(JSON.stringify(results[1]?.error)).toMatch(/agents\[0\]\.template_id.*tmpl_nowhere/);
    expect(ran.error()).toMatchObject({ type: 'partial_failure', message: '1 of 3 documents failed.' });
  });

  test.each([
    ['of all documents ends with the error of the first one', { status: 422 }, 1, [], { failed: 5 }, 5],
    ['with 401 stops the run', { status: 401 }, 3, [], { failed: 1, skipped: 4 }, 1],
    ['starts no others with --fail-fast', { status: 422, times: 1 }, 1, ['--fail-fast'], { failed: 1, skipped: 4 }, 1],
    ['with 402 stops the run', { status: 402, skip: 2 }, 6, [], { created: 2, failed: 1, skipped: 2 }, 3],
  ])('%s, and is not retried', async (_, fault, code, flags, summary, posts) => {
    const it = await service();
    await it.faults({ kind: 'status', on: POST, ...fault });
    const ran = await provision([many(5), '--concurrency', '1', ...flags], it);
    expect(ran.code).toBe(code);
    expect(ran.error()).toMatchObject({ status: fault.status });
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, ...summary });
    expect(await it.posts()).toHaveLength(posts);
  });
});
