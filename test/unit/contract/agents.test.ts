import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { readAgent } from '../../../src/contract/resources.ts';

const read = (agent: object) => readAgent({ agent_id: 'a', ...agent }, new Contract());

describe('the source of a listed agent', () => {
  it.each([[{ source_id: 's' }], [{ integrations: { api_chat: { source_id: 's' } } }]])(
    'is in its integration metadata: %j',
    (metadata) => {
      expect(read(metadata).source_id).toBe('s');
    },
  );

  it('is refused if the metadata shows two, and null if it says that there is none', () => {
    const two = { source_id: 's', integrations: { api_chat: { source_id: 't' } } };
    const fix = { leaf: 'agent.source_id', value: 'source_id', other: 'integrations.api_chat.source_id' };
    expect(() => read(two)).toThrow(expect.objectContaining({ fix }));
    expect(read({ integrations: { api_chat: null } }).source_id).toBeNull();
    expect(read({}).source_id).toBeUndefined();
  });
});
