import { describe, expect, it } from 'vitest';
import { namesAgent } from '../../../src/contract/agent-ids.ts';

const UUID = '4954764b-2e2b-4297-abec-4d8fbc9a46a7';

describe('namesAgent', () => {
  it.each([
    ['agent_5', 'agent_5', true],
    ['agent_5', 'agent_6', false],
    ['/v1/agents/agent_5/', 'agent_5', true],
    ['https://api.test/agents/agent_5?view=full', 'agent_5', true],
    [`https://api.test/agents/${UUID.toUpperCase()}`, UUID, true],
    ['/v1/agents/agent_15', 'agent_5', false],
    ['projects/a/agents/5', 'projects/a/agents/5', true],
    ['https://api.test/v1/projects/a/agents/5', 'projects/a/agents/5', true],
    ['projects/b/agents/5', 'projects/a/agents/5', false],
    ['agent_5', 'projects/a/agents/agent_5', false],
  ])('%j, for the agent %j: %s', (shown, agentId, expected) => {
    expect(namesAgent(shown, agentId)).toBe(expected);
  });
});
