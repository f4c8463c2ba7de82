import { describe, expect, it } from 'vitest';
import { readAgent } from '../../../src/contract/agents.ts';
import { Contract } from '../../../src/contract/contract.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { readProvisionResponse } from '../../../src/contract/provisioning.ts';
import { ErrorInBody, UnknownShape } from '../../../src/contract/unknown-shape.ts';

const readAgentOf = (agent: JsonObject) => readAgent(agent, new Contract());
const readResponse = (body: unknown) => readProvisionResponse(body, new Contract());

describe('a listed agent', () => {
  it.each([
    ['flat', { agent_id: 'a', name: 'n', template_id: 't' }],
    ['nested', { agent: { id: 'a', name: 'n', template_id: 't' } }],
    ['with a template object', { id: 'a', name: 'n', template: { id: 't', name: 'Support' } }],
    ['with a template object that has a template_id', { id: 'a', name: 'n', template: { template_id: 't' } }],
    ['with the title of the template next to its id', { id: 'a', name: 'n', template: 'Support', template_id: 't' }],
  ])('is decoded: %s', (_, agent) => {
    expect(readAgentOf(agent)).toEqual({ agent_id: 'a', name: 'n', template_id: 't', source_id: undefined });
  });

  it.each([
    ['at the top', { source_id: 's' }],
    ['in the metadata', { integrations: { api_chat: { source_id: 's' } } }],
    ['in a list', { integrations: [{ source_id: 's' }] }],
    ['in a list of the metadata', { integrations: { api_chat: [{ source_id: 's' }] } }],
    ['as a number', { api_chat: { source_id: 17 } }],
    ['beside data of its own', { source: { id: 's', data: { id: 'other' } } }],
  ])('may have its source id %s', (_, metadata) => {
    expect(readAgentOf({ agent_id: 'a', ...metadata }).source_id).toMatch(/^(s|17)$/);
  });

  it.each<[JsonObject, string, string]>([
    [
      { source_id: 's', integrations: { api_chat: { source_id: 't' } } },
      'source_id',
      'integrations.api_chat.source_id',
    ],
    [{ api_chat: { id: 's' }, source: { id: 't' } }, 'api_chat.id', 'source.id'],
    [{ integrations: [{ source_id: 's' }, { source_id: 't' }] }, 'integrations.source_id', 'integrations.source_id'],
  ])('is refused if it shows two sources: %j', (metadata, value, other) => {
    const fix = { leaf: 'agent.source_id', value, other };
    expect(() => readAgentOf({ agent_id: 'a', ...metadata })).toThrow(expect.objectContaining({ fix }));
  });

  it('has no source if the metadata says so', () => {
    expect(readAgentOf({ id: 'a', integrations: { api_chat: null } }).source_id).toBeNull();
  });

  it.each<[string, JsonObject, string | null | undefined]>([
    ['in an object', { chat: { id: 's' } }, 's'],
    ['in a list', { chat: [{ id: 's' }] }, 's'],
    ['in null', { chat: null }, undefined],
    ['in an empty list', { chat: [] }, undefined],
    ['in an object with null', { chat: { id: null } }, null],
    ['in nothing', {}, undefined],
    ['in nothing, beside another source', { source: { id: 'other' } }, undefined],
  ])('has its source id only at the path that is set for it: %s', (_, metadata, source_id) => {
    const contract = new Contract({ override: { 'agent.source_id': 'chat.id' } });
    expect(readAgent({ id: 'a', ...metadata }, contract).source_id).toBe(source_id);
  });

  it('never has its own id as that of its source', () => {
    const contract = new Contract({ override: { 'agent.source_id': 'chat_id, chat.id' } });
    expect(readAgent({ id: 'a', chat: null }, contract).source_id).toBeUndefined();
    expect(readAgent({ id: 'a', chat_id: 's' }, contract).source_id).toBe('s');
    expect(readAgent({ id: 'a' }, contract).source_id).toBeUndefined();
  });

  it('has the settings of its source beside the id at the path that is set', () => {
    const contract = new Contract({ imported: { 'agent.source_id': 'api_chat.id' } });
    const agent = { id: 3, name: 'Support', api_chat: { id: 3, name: 'Helpdesk', routing_mode: 'agent_inbox' } };
    expect(readAgent(agent, contract).source).toMatchObject({ name: 'Helpdesk', routing_mode: 'agent_inbox' });
  });

  it('is rejected without an id', () => {
    expect(() => readAgentOf({ name: 'n' })).toThrow(UnknownShape);
  });
});

describe('the response to provisioning', () => {
  const agents = [{ agent_id: 'a', name: 'n', template_id: 't' }];
  it.each([
    ['flat', { space_id: 's', agents }],
    ['a space object', { space: { space_id: 's' }, agents }],
    ['a space object with a plain id', { space: { id: 's' }, agents }],
    ['agents in the space', { space: { id: 's', agents } }],
    ['installed_agents', { space_id: 's', installed_agents: agents }],
    ['under data', { data: { space_id: 's', agents } }],
    ['under data, with the agents next to it', { data: { space_id: 's' }, agents }],
    ['under result', { result: { space: { id: 's' }, agents } }],
    ['the space under data, nothing else', { data: { id: 's', agents } }],
  ])('is decoded: %s', (_, body) => {
    const response = readResponse(body);
    expect(response.space_id).toBe('s');
    expect(response.agents.map(({ agent_id }) => agent_id)).toEqual(['a']);
  });

  it('omits agents without an id', () => {
    expect(readResponse({ space_id: 's', agents: [{ name: 'n' }, null, 'x', ...agents] }).agents).toHaveLength(1);
  });

  it('says whether the space is new', () => {
    expect(readResponse({ space_id: 's', created: false }).created).toBe(false);
    expect(readResponse({ space_id: 's' }).created).toBeUndefined();
  });

  it.each([[{ success: false, space_id: 's', agents }], [{ error: 'no such template', space: { id: 's' } }]])(
    'is rejected if it reports a failure: %j',
    (body) => {
      expect(() => readResponse(body)).toThrow(ErrorInBody);
    },
  );

  it.each<[string, JsonObject]>([
    ['by its kind', { id: 'op1', kind: 'operation', done: false }],
    ['by its plural type', { data: { id: 'op1', type: 'operations', attributes: { state: 'running' } } }],
    ['by its name', { job: { id: 'op1', status: 'queued' } }],
    ['with the external id', { id: 'op1', object: 'async_task', external_space_id: 'acme' }],
  ])('does not have the id of the operation that provisions the space, known %s', (_, body) => {
    expect(() => readResponse(body)).toThrow(
      expect.objectContaining({ fix: expect.objectContaining({ leaf: 'space.id' }) }),
    );
    expect(readResponse({ ...body, space_id: 's1' }).space_id).toBe('s1');
  });

  it.each([{ 'space.id': 'space_ref, space_id, id' }, { 'space.id': 'id' }])(
    'does not have the id of an operation after an import, either: %j',
    (imported) => {
      const body = { id: 'op1', kind: 'operation', done: false };
      expect(() => readProvisionResponse(body, new Contract({ imported }))).toThrow('the id of an operation');
      // Only the user knows that this is the space.
      const override = { 'space.id': 'id' };
      expect(readProvisionResponse(body, new Contract({ imported, override })).space_id).toBe('op1');
    },
  );

  it.each([[null], ['ok'], [[]], [{}], [{ status: 'ok' }], [{ agents }]])('is rejected without a space: %j', (body) => {
    expect(() => readResponse(body)).toThrow(UnknownShape);
  });
});
