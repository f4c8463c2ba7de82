import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { HISTORY, MESSAGE } from '../support/chat.ts';
import { CRON_JOBS, jobBody } from '../support/cron.ts';
import { type ApiResponse, call, PROVISION, provisionBody, SPACES, service } from '../support/service.ts';
import { ATTACHMENTS, DOCUMENTS, fileForm, postForm } from '../support/uploads.ts';

test('The document is there in JSON and YAML, and a guide, without a token, also as the latest', async () => {
  const { sandbox } = await service();
  const { json } = await call('GET', `${sandbox.baseUrl}/openapi.json`);
  expect(await new Validator().validate(json)).toEqual({ valid: true });
  expect(json.servers[0].url).toBe(sandbox.baseUrl);
  const latest = sandbox.baseUrl.replace('/v1', '/latest');
  const yaml = await call('GET', `${latest}/openapi.yaml`);
  expect([yaml.headers['content-type'], parse(yaml.text)]).toEqual(['application/yaml', json]);
  expect((await call('GET', `${latest}/guide.txt`)).text).toContain(`POST ${CRON_JOBS}\n`);
});

test('Every operation accepts what the document describes, and returns what it describes', async () => {
  const on = await service();
  const { json: document } = await call('GET', `${on.sandbox.baseUrl}/openapi.json`);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addFormat('binary', true).addSchema(document, 'document');
  const seen = new Set<string>();
  const check = (value: unknown, ...place: string[]): void => {
    const pointer = place.map((name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate = ajv.getSchema(`document#/${pointer}`);
    expect(validate, pointer).toBeDefined();
    expect([validate?.(value), validate?.errors], JSON.stringify(value)).toEqual([true, null]);
  };
  const expectDocumented = (method: string, path: string, { status, json }: ApiResponse, body?: unknown): void => {
    seen.add(`${method} ${path}`);
    const place = ['paths', path, method.toLowerCase()];
    check(json, ...place, 'responses', String(status), 'content', 'application/json', 'schema');
    if (body !== undefined) check(body, ...place, 'requestBody', 'content', 'application/json', 'schema');
  };
  const use = async (method: string, path: string, sent: { path?: string; query?: object; body?: unknown } = {}) => {
    const query = sent.query ? `?${new URLSearchParams({ ...sent.query })}` : '';
    const more = sent.body === undefined ? {} : { body: sent.body };
    const response = await on.partner(method, `${sent.path ?? path}${query}`, more);
    expectDocumented(method, path, response, sent.body);
    return response.json;
  };

  const { space, agents } = await use('POST', PROVISION, { body: provisionBody('acme') });
  await use('POST', PROVISION, { body: provisionBody('acme') });
  await use('GET', SPACES, { query: { page_size: '1' } });
  const { space_id } = space;
  const { agent_id, integrations } = agents[0];
  const { source_id } = integrations.api_chat;
  await use('GET', `${SPACES}{space_id}/agents/`, { path: `${SPACES}${space_id}/agents/` });
  const setup = `${SPACES}${space_id}/agents/${agent_id}/api-chat/`;
  await use('POST', `${SPACES}{space_id}/agents/{agent_id}/api-chat/`, { path: setup, body: { name: 'Chat' } });
  const message = { source_id, session_id: 's1', text: 'Hi', external_message_id: 'e1', response_mode: 'accepted' };
  await use('POST', MESSAGE, { body: message });
  await on.admin('PATCH', '/clock', { advance: '1s' });
  await use('GET', HISTORY, { query: { source_id, session_id: 's1', page_size: '1' } });
  await use('POST', CRON_JOBS, { body: jobBody(agent_id) });
  await use('GET', CRON_JOBS, { query: { agent_id } });
  for (const path of [DOCUMENTS, ATTACHMENTS]) {
    const uploaded = await postForm(on, path, fileForm('x'));
    expectDocumented('POST', path, uploaded);
    await use('GET', path);
  }
  const documented = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...seen].toSorted()).toEqual(documented.toSorted());
  const refused = await on.partner('POST', PROVISION, { body: {} });
  check(refused.json, 'components', 'responses', 'Error', 'content', 'application/json', 'schema');
});
