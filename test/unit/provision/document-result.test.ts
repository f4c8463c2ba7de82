import { describe, expect, it } from 'vitest';
import { BalanceError, CredentialsError, InterruptedError, ServiceError } from '../../../src/errors.ts';
import {
  type DocumentResult,
  type DocumentStatus,
  documentResultJson,
  unfinishedResult,
} from '../../../src/provision/document-result.ts';
import { planProvision } from '../../../src/provision/provision-plan.ts';
import { provisionReport } from '../../../src/provision/provision-report.ts';
import { runFailure } from '../../../src/provision/run-failure.ts';

let index = 0;
function result(status: DocumentStatus, error?: unknown): DocumentResult {
  index += 1;
  return {
    index,
    source: 'acme.yaml:1',
    external_space_id: 'acme',
    space_id: null,
    status,
    agents: [],
    cron: [],
    actions: [],
    differences: [],
    unmanaged: [],
    ...(error !== undefined && { error }),
  };
}
const failed = (error: unknown): DocumentResult => result('failed', error);
const down = new ServiceError('down', { why: 'one\ntwo', status: 503 });

describe('a document that failed after it was carried out in part', () => {
  it('reports what this run created, and nothing of that as unchanged', () => {
    const agents = ['Sales', 'Support'].map((name) => ({ name, template_id: 'tmpl_a' }));
    const manifest = { external_space_id: 'acme', space: { name: 'Acme' }, agents };
    const document = { index: 0, source: 'acme.yaml:1', manifest };
    const sales = { agent_id: 'agt_1', name: 'Sales', template_id: 'tmpl_a', source_id: undefined };
    const firstPlan = planProvision(manifest, undefined);
    const plan = planProvision(manifest, { space_id: 'spc_1', agents: [sales] });
    const unfinished = unfinishedResult(document, { spaceId: 'spc_1', firstPlan, plan }, 'failed');
    expect(unfinished.actions.map(({ op, name }) => [op, name])).toEqual([
      ['create_space', 'Acme'],
      ['install_agent', 'Sales'],
    ]);
    expect(JSON.stringify(provisionReport([unfinished]))).not.toContain('unchanged:');
    expect(unfinishedResult(document, { spaceId: undefined, firstPlan, plan: firstPlan }, 'failed').actions).toEqual(
      [],
    );
  });
});

describe('the exit code of a run', () => {
  it.each<[string, DocumentResult[], unknown, number | undefined]>([
    ['all done', [result('created'), result('unchanged')], undefined, undefined],
    ['nothing to do', [], undefined, undefined],
    ['some failed', [result('created'), failed(down)], undefined, 10],
    ['all failed alike', [failed(down), failed(down)], undefined, 8],
    ['the only one failed', [failed(new CredentialsError('no'))], undefined, 3],
    ['one failed and the rest was skipped', [failed(down), result('skipped')], undefined, 8],
    [
      '402, even if some were done before',
      [result('created'), failed(new BalanceError('low')), result('skipped')],
      undefined,
      6,
    ],
    ['interrupted', [result('created'), result('skipped')], new InterruptedError('Interrupted.'), 130],
    ['terminated', [failed(down), result('skipped')], new InterruptedError('Interrupted.', 143), 143],
    ['interrupted after the last was done', [result('created')], new InterruptedError('Interrupted.'), undefined],
    ['all failed because of a bug', [failed(new TypeError('x')), failed(new TypeError('x'))], undefined, 1],
    ['the only one failed because of a bug', [failed(new TypeError('x'))], undefined, 1],
  ])('%s', (_, results, interruption, exit) => {
    expect(runFailure(results, interruption)?.exitCode).toBe(exit);
  });

  it('names the first ten failures with their sources', () => {
    const why = runFailure([result('created'), ...Array.from({ length: 30 }, () => failed(down))], undefined)?.info.why;
    expect(why).toContain('acme.yaml:1 (acme): down. one; two');
    expect(why?.split('\n')).toHaveLength(11);
    expect(why).toContain('and 20 more');
  });
});

describe('results', () => {
  it('have a fixed JSON form', () => {
    expect(documentResultJson(result('created'))).toEqual({
      source: 'acme.yaml:1',
      external_space_id: 'acme',
      space_id: null,
      status: 'created',
      agents: [],
      cron: [],
    });
    expect(documentResultJson(failed(down))).toMatchObject({
      error: { type: 'service', message: 'down', status: 503 },
    });
  });
});
