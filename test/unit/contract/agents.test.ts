import { expect, test } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { readAgent } from '../../../src/contract/resources.ts';

const read = (agent: object) => readAgent({ agent_id: 'a', ...agent }, new Contract());

test('The source of a listed agent is in its integration metadata, and refused if that shows two.', () => {
  expect(read({ integrations: { api_chat: { source_id: 's' } } }).source_id).toBe('s');
  expect(read({ integrations: { api_chat: null } }).source_id).toBeNull();
  expect(read({}).source_id).toBeUndefined();
  const two = { source_id: 's', integrations: { api_chat: { source_id: 't' } } };
  const fix = { leaf: 'agent.source_id', value: 'source_id', other: 'integrations.api_chat.source_id' };
  expect(() => read(two)).toThrow(expect.objectContaining({ fix }));
});
