import { describe, expect, it } from 'vitest';
import { findAgentMention, namesAgent } from '../../../src/contract/agent-ids.ts';

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

describe('findAgentMention', () => {
  it.each([
    [{ assigned_agent_id: 'agent_6' }, 'agent_5', 'no'],
    [{ agent: `/agents/${UUID}` }, UUID.replaceAll('4', '5'), 'no'],
    [{ agent: 'agent_6' }, 'agent_5', 'no'],
    [{ agent: 'Billing-2' }, 'agent_5', 'maybe'],
    [{ assigned_agent_id: 41 }, 'agent_5', 'maybe'],
    [{ assigned_agent_id: 41 }, '40', 'no'],
    [{ assigned_agent_id: 41 }, '41', 'yes'],
    [{ retries: 41 }, '41', 'maybe'],
    [{ name: 'agent_5', instructions: 'agent_5' }, 'agent_5', 'maybe'],
    [{ run: [{ with: ['x', 'agent_5'] }] }, 'agent_5', 'yes'],
  ])('in %j, of the agent %j: %s', (job, agentId, expected) => {
    expect(findAgentMention(job, agentId)).toBe(expected);
  });
});
