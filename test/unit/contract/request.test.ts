import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Contract, type LeafValues } from '../../../src/contract/contract.ts';
import { buildRequest } from '../../../src/contract/request.ts';
import { anyCharacter } from '../../support/properties.ts';

const withOverride = (override: LeafValues) => new Contract({ override });

it('property: nothing in a parameter of a path leaves its segment', () => {
  const text = fc.oneof(fc.constantFrom('', '.', '..', '\ud800', 'a/b?c#d'), fc.string({ unit: anyCharacter }));
  const property = fc.property(text, (space_id) => {
    try {
      const { path } = buildRequest(new Contract(), 'agents.list', { space_id });
      const url = new URL(path, 'https://api.test');
      expect(url.pathname).toBe(path);
      expect(decodeURIComponent(url.pathname.split('/')[3] ?? '')).toBe(space_id);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
  });
  fc.assert(property);
});

describe('a request built from the contract', () => {
  const values = {
    external_space_id: 'acme-001',
    name: 'Acme',
    description: 'A customer',
    is_org_wide: undefined,
    agents: [{ template_id: 't1', name: 'First' }, { template_id: 't2' }],
  };

  it('has each value where the contract puts its parameter', () => {
    const contract = withOverride({
      'spaces.provision.external_space_id': 'body:externalSpaceId',
      'spaces.provision.name': 'body:workspace.title',
      'spaces.provision.description': 'none',
      'spaces.provision.agents.template_id': 'body:templates[].templateId',
      'spaces.provision.agents.name': 'body:templates[].label',
    });
    expect(buildRequest(contract, 'spaces.provision', values).json).toEqual({
      externalSpaceId: 'acme-001',
      workspace: { title: 'Acme' },
      templates: [{ templateId: 't1', label: 'First' }, { templateId: 't2' }],
    });
  });

  it('has a query without the values that are undefined, and a body only where the contract puts something into it', () => {
    const request = { source_id: 'x&y=z é', session_id: '', after_message_id: undefined };
    expect(buildRequest(new Contract(), 'messages.history', request)).toEqual({
      method: 'GET',
      path: '/integrations/api-chat/history/?source_id=x%26y%3Dz+%C3%A9&session_id=',
      json: undefined,
    });
    expect(buildRequest(new Contract(), 'sources.setup', { space_id: 's1', agent_id: 'a1' }).json).toEqual({});
  });
});
