import { describe, expect, it } from 'vitest';
import { Contract, type LeafValues } from '../../../src/contract/contract.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { readMessage } from '../../../src/contract/messages.ts';
import { UnknownShape } from '../../../src/contract/unknown-shape.ts';

const read = (entry: JsonObject, override: LeafValues = {}) =>
  readMessage({ message_id: 'm', ...entry }, new Contract({ override }));

describe('a message of the history', () => {
  it('is no reply if all its texts are null: that marks a step of the agent', () => {
    expect(read({ role: 'assistant', text: null, content: null }).isReply).toBe(false);
    expect(read({ role: 'assistant', text: '' }).isReply).toBe(true);
  });

  it.each([
    ['assistant', { author: 'Anna', direction: 'outbound' }],
    ['user', { 'is-agent': false }],
    ['user', { author: 'Agent Smith', type: 'customer' }],
    ['unknown', { user: 1, type: 'message' }],
  ])('is by %s: %j', (role, fields) => {
    expect(read(fields)).toMatchObject({ role, isReply: role === 'assistant' });
  });

  it.each([
    ['t', { text: 't', content: 'c' }],
    ['ab', { content: [{ type: 'text', text: 'a' }, { type: 'image', url: 'u' }, 'b'] }],
    [null, { attachment: 'x', content: [{ url: 'u' }] }],
  ])('has the text %j: %j', (text, fields) => {
    expect(read(fields).text).toBe(text);
  });

  it.each([
    ['2026-01-02T03:04:05Z', { created_at: '2026-01-02T03:04:05Z', updated_at: '2026-02-02T03:04:05Z' }],
    ['2026-01-02T03:04:05.000Z', { timestamp: 1767323045 }],
    [null, { created_at: 0 }],
  ])('has the creation time %j: %o', (created_at, fields) => {
    expect(read(fields).created_at).toBe(created_at);
  });

  it.each<[JsonObject, string, string]>([
    [{ role: 'user', event: { message: 'Hi' } }, 'message.at', 'event'],
    [{ role: 'user', text: 'Hi', time_written: '2026-03-02' }, 'message.created_at', 'time_written'],
    [{ created_at: 20_260_102_030_405 }, 'message.created_at', '<path>'],
    ...['actor', 'speaker', 'written_by', 'is_human', 'fromAssistant', 'isOutgoing'].map(
      (name): [JsonObject, string, string] => [{ [name]: 'x' }, 'message.author', name],
    ),
    ...['create_at', 'created_utc', 'dateGmt'].map((name): [JsonObject, string, string] => [
      { role: 'user', text: 'Hi', [name]: 1 },
      'message.created_at',
      name,
    ]),
    ...['msg', 'bodyPlain', 'plain_body', 'markdown', 'payload', 'data'].map((name): [JsonObject, string, string] => [
      { role: 'user', [name]: 'Hi' },
      'message.text',
      name,
    ]),
  ])('is refused where a field would be blank, or two disagree: %j', (fields, leaf, value) => {
    expect(() => read(fields)).toThrow(expect.objectContaining({ fix: expect.objectContaining({ leaf, value }) }));
  });

  it('is rejected without an id of its own', () => {
    expect(() => read({ message_id: '', source_id: 's', external_message_id: 'e' })).toThrow(UnknownShape);
  });
});
