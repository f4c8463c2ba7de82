import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { buildRequest } from '../../../src/contract/request.ts';
import { anyCharacter } from '../../support/properties.ts';

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

it('a request built from the contract has the values that are given, in the query or where the contract puts them in the body', () => {
  const request = { source_id: 'x&y=z é', session_id: '', after_message_id: undefined };
  expect(buildRequest(new Contract(), 'messages.history', request)).toEqual({
    method: 'GET',
    path: '/integrations/api-chat/history/?source_id=x%26y%3Dz+%C3%A9&session_id=',
    json: undefined,
  });
  const override = {
    'messages.history': 'POST /history',
    'messages.history.source_id': 'body:filter.source',
    'messages.history.session_id': 'body:filter.session',
  };
  const { json } = buildRequest(new Contract({ override }), 'messages.history', { source_id: 'a', session_id: 'b' });
  expect(json).toEqual({ filter: { source: 'a', session: 'b' } });
});
