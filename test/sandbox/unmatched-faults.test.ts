import { expect, test } from 'vitest';
import type { FaultPlan } from '../../src/sandbox/faults.ts';
import { run } from '../support/run.ts';
import { startTestSandbox } from '../support/sandbox-client.ts';
import { write } from '../support/service.ts';

const MATCHING = [
  undefined,
  'POST',
  'GET /automation/spaces/',
  'GET /v1/automation/spaces/$',
  '/automation/spaces/spc_1/agents/',
  'GET /automation/spaces/*/agents/$',
  'GET /automation/spaces/:space_id/agents/',
  'POST /automation/partner-cron-jobs/',
  'POST /automation/agent-templates/',
  'GET /automation/documents/doc_1/',
  'POST /integrations/api-chat/message/',
];

const UNMATCHED = [
  'DELETE',
  'PATCH /automation/spaces/',
  'GET /automation/space/',
  'GET /automation/spaces$',
  'POST /automation/cron-jobs/',
  '/automation/spaces/*/bots/',
  'GET /openapi.json',
];

function plan(patterns: readonly (string | undefined)[]): FaultPlan {
  return { rules: patterns.map((on) => ({ kind: 'status', status: 503, ...(on !== undefined && { on }) })) };
}

test('rules that match a request of the service are not reported', async () => {
  const { sandbox } = await startTestSandbox({ faults: plan(MATCHING) });
  expect(sandbox.unmatchedFaults).toEqual([]);
});

test('each rule that matches no request is reported by its number', async () => {
  const { sandbox, admin } = await startTestSandbox({ faults: plan(UNMATCHED) });
  const sentences = UNMATCHED.map(
    (on, index) =>
      `Fault rule ${index + 1} (status), on "${on}", matches no request of the service, so it never happens.`,
  );
  expect(sandbox.unmatchedFaults).toEqual(sentences);
  expect((await admin('PUT', '/faults', plan(UNMATCHED))).json.warnings).toEqual(sentences);
  expect((await admin('PUT', '/faults', plan(MATCHING))).json.warnings).toBeUndefined();
});

test('a quirk of the history matches no other request', async () => {
  const rules = [{ kind: 'reorder' as const }, { kind: 'reorder' as const, on: 'GET /automation/spaces/' }];
  const { sandbox } = await startTestSandbox({ faults: { rules } });
  expect(sandbox.unmatchedFaults).toEqual([expect.stringContaining('Fault rule 2 (reorder)')]);
});

test('sandbox run warns about such a rule before its command runs', async () => {
  const faults = write('faults.json', JSON.stringify(plan(['POST /automation/cron-jobs/'])));
  const ran = await run(['sandbox', 'run', '--faults', faults, '--', 'true'], { env: { PATH: process.env.PATH } });
  expect(ran).toMatchObject({
    code: 0,
    stderr:
      'warning: Fault rule 1 (status), on "POST /automation/cron-jobs/", matches no request of the service, so it never happens.\n',
  });
});
