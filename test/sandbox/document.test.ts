import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { call, startTestSandbox } from '../support/sandbox-client.ts';

const BASES = ['/v1', '/latest'];

test('the document is valid OpenAPI and covers every operation of the partner API', async () => {
  const { sandbox } = await startTestSandbox();
  const { json } = await call('GET', `${sandbox.baseUrl}/openapi.json`);
  expect(await new Validator().validate(json)).toEqual({ valid: true });
  const calls = Object.entries(json.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  );
  expect(calls).toEqual([
    'get /automation/spaces/',
    'post /automation/agent-templates/provision-space/',
    'get /automation/spaces/{space_id}/agents/',
    'post /automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
    'post /integrations/api-chat/message/',
    'get /integrations/api-chat/history/',
    'get /automation/documents/',
    'post /automation/documents/',
    'get /automation/documents/{id}/',
    'get /automation/file-attachments/',
    'post /automation/file-attachments/',
    'get /automation/file-attachments/{id}/',
    'post /automation/partner-cron-jobs/',
    'get /automation/partner-cron-jobs/',
  ]);
});

test.each(BASES)('%s serves the document in JSON and YAML, and a guide, without a token', async (base) => {
  const { sandbox } = await startTestSandbox();
  const url = sandbox.baseUrl.replace('/v1', base);
  const json = await call('GET', `${url}/openapi.json`);
  expect([json.status, json.json.servers[0].url]).toEqual([200, sandbox.baseUrl]);
  const yaml = await call('GET', `${url}/openapi.yaml`);
  expect([yaml.headers.get('content-type'), parse(yaml.text)]).toEqual(['application/yaml', json.json]);
  const guide = await call('GET', `${url}/guide.txt`);
  expect(guide.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(guide.text).toContain('POST /automation/partner-cron-jobs/');
  expect(guide.text).toContain(sandbox.baseUrl);
});
