import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatSource } from '../../../src/contract/chat-source.ts';
import { Contract } from '../../../src/contract/contract.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import * as messages from '../../../src/contract/messages.ts';
import { ErrorInBody, UnknownShape } from '../../../src/contract/unknown-shape.ts';
import { anyCharacter } from '../../support/properties.ts';

const contract = new Contract();
const readMessage = (entry: JsonObject) => messages.readMessage(entry, contract);
const readAcknowledgement = (body: unknown) => messages.readAcknowledgement(body, contract);
const readSource = (body: unknown) => readChatSource(body, contract);

describe('a message of the history', () => {
  it('is decoded with its exact text', () => {
    const raw = {
      message_id: 'm1',
      role: 'assistant',
      text: 'Hello\n\u001b[31m 👋',
      created_at: '2026-01-02T03:04:05.678Z',
      external_message_id: null,
    };
    expect(readMessage(raw)).toEqual({
      message_id: 'm1',
      role: 'assistant',
      isReply: true,
      text: 'Hello\n\u001b[31m 👋',
      created_at: '2026-01-02T03:04:05.678Z',
      external_message_id: null,
      raw,
    });
  });

  it('is not a reply if its text is null', () => {
    expect(readMessage({ message_id: 't1', role: 'assistant', text: null, content: null }).isReply).toBe(false);
    expect(readMessage({ message_id: 't2', role: 'assistant', text: '' }).isReply).toBe(true);
  });

  it('is rejected if its text is under an unknown name, which the error suggests', () => {
    const entry = { message_id: 't3', role: 'assistant', utterance: 'Hi', channel: 'web', created_at: '2026-01-01' };
    expect(() => readMessage(entry)).toThrow(
      expect.objectContaining({ fix: { leaf: 'message.text', value: 'utterance' } }),
    );
  });

  it('may have no text', () => {
    expect(readMessage({ message_id: 't4', type: 'typing', channel: 'web' }).text).toBeNull();
  });

  it('may be nested and have a number as id', () => {
    const raw = { message: { id: 7, sender: 'customer', body: 'x', external_message_id: 'e1' } };
    expect(readMessage(raw)).toMatchObject({
      message_id: '7',
      role: 'user',
      text: 'x',
      external_message_id: 'e1',
      created_at: null,
    });
  });

  it.each([
    ['assistant', { role: 'assistant' }],
    ['assistant', { author: 'Agent' }],
    ['assistant', { sender: { type: 'bot', name: 'Support' } }],
    ['assistant', { sender_type: 'AI' }],
    ['assistant', { direction: 'outbound' }],
    ['assistant', { author: 'Anna', direction: 'outbound' }],
    ['user', { role: 'user' }],
    ['user', { direction: 'inbound' }],
    ['user', { author: { role: 'customer' } }],
    ['assistant', { senderType: 'AI_AGENT' }],
    ['assistant', { Author: { Kind: 'bot' } }],
    ['assistant', { author: { is_bot: true, name: 'Anna' } }],
    ['user', { author: { isBot: false } }],
    ['assistant', { from_agent: true }],
    ['user', { 'is-agent': false }],
    ['user', { incoming: true }],
    ['unknown', { user: 1 }],
    ['unknown', { incoming: 1 }],
    ['bot Anna', { author: 'bot Anna' }],
    ['unknown', { from_agent: 1 }],
    ['user', { author: { type: 'requester' } }],
    ['assistant', { type: 'assistant_message' }],
    ['unknown', { type: 'message' }],
    ['Agent Smith', { author: 'Agent Smith' }],
    ['user', { author: 'Agent Smith', type: 'customer' }],
    ['assistant', { attributes: { role: 'bot' } }],
    ['assistant', { user: { login: 'partner[bot]', type: 'Bot' } }],
    ['user', { user: { login: 'anna', type: 'User' } }],
    ['user', { direction: 'in' }],
    ['assistant', { direction: 'out' }],
    ['opt_in', { role: 'opt_in' }],
    ['user', { direction: 'to_agent' }],
    ['assistant', { direction: 'from_agent' }],
    ['assistant', { direction: 'to_user' }],
    ['user', { direction: 'user_to_agent' }],
    ['assistant', { direction: 'agent-to-user' }],
    ['transfer_to_agent', { role: 'transfer_to_agent' }],
    ['unknown', { recipient: { type: 'user' }, channel: 'bot' }],
    ['system', { role: 'system' }],
    ['Anna', { author: 'Anna' }],
    ['unknown', {}],
    ['unknown', { role: null, author: {}, sender: '' }],
  ])('has the role %s: %j', (role, fields) => {
    const message = readMessage({ message_id: 'm', ...fields });
    expect(message.role).toBe(role);
    expect(message.isReply).toBe(role === 'assistant');
  });

  it.each([
    ['t', { text: 't', content: 'c' }],
    ['c', { text: null, content: 'c' }],
    ['b', { body: 'b' }],
    ['m', { message: 'm' }],
    ['', { text: '', content: 'c' }],
    ['ab', { content: [{ type: 'text', text: 'a' }, { type: 'image', url: 'u' }, 'b'] }],
    ['v', { content: [{ type: 'text', text: { value: 'v' } }] }],
    ['n', { message: { text: 'n' } }],
    [null, { attachment: 'x' }],
    [null, { content: [{ url: 'u' }] }],
    [null, { text: 5 }],
    ['p', { parts: [{ type: 'text', text: 'p' }] }],
    ['x', { payload: { Text: 'x' } }],
    ['y', { attributes: { Body: 'y' } }],
  ])('has the text %j: %j', (text, fields) => {
    expect(readMessage({ message_id: 'm', ...fields }).text).toBe(text);
  });

  it.each([
    ['2026-01-02T03:04:05Z', { created_at: '2026-01-02T03:04:05Z' }],
    ['2026-01-02T03:04:05.000Z', { timestamp: 1767323045 }],
    ['2026-01-02T03:04:05.500Z', { sent_at: 1767323045500 }],
    ['2026-01-02T03:04:05.000Z', { ts: '1767323045' }],
    ['2026-01-02T03:04:05', { date_gmt: '2026-01-02T03:04:05', updated_at: '2026-02-02T03:04:05' }],
    ['2026-01-02T03:04:05Z', { dateCreated: '2026-01-02T03:04:05Z' }],
    ['2026-01-02T03:04:05.500Z', { createTime: 1767323045500123 }],
    ['2026-01-02T03:04:05.500Z', { createTime: '1767323045500123456' }],
    ['20260102030405', { created_at: '20260102030405' }],
    [null, { created_at: '' }],
    [null, { created_at: 0 }],
  ])('has the creation time %j: %j', (created_at, fields) => {
    expect(readMessage({ message_id: 'm', ...fields }).created_at).toBe(created_at);
  });

  it('may have its time in nanoseconds', () => {
    const message = readMessage({ message_id: 'm', createTime: 1767323045500123456n });
    expect(message.created_at).toBe('2026-01-02T03:04:05.500Z');
  });

  it.each([1e30, 20_260_102_030_405, -1])('is refused for a time in an unknown unit: %j', (created_at) => {
    const fix = { leaf: 'message.created_at', value: '<path>' };
    expect(() => readMessage({ message_id: 'm', created_at })).toThrow(expect.objectContaining({ fix }));
  });

  it.each([{}, { message_id: '' }, { text: 'x' }, { source_id: 's', external_message_id: 'e' }])(
    'is rejected without an id: %j',
    (entry) => {
      expect(() => readMessage(entry)).toThrow(UnknownShape);
    },
  );

  it('property: any text is decoded unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(readMessage(JSON.parse(JSON.stringify({ id: 1, text }))).text).toBe(text);
      }),
    );
  });

  it('property: any entry is decoded or rejected as an unknown shape', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom('id', 'role', 'author', 'text', 'content', 'message', 'created_at'),
          fc.jsonValue(),
        ),
        (entry) => {
          try {
            expect(readMessage(entry).message_id).not.toBe('');
          } catch (error) {
            expect(error).toBeInstanceOf(UnknownShape);
          }
        },
      ),
    );
  });
});

describe('the acknowledgement of a message', () => {
  it('has the id under the name of the spec, too, where another name is set, which histories need', () => {
    const chosen = new Contract({ override: { 'message.id': 'ts' } });
    const read = (body: object) => messages.readAcknowledgement(body, chosen).message_id;
    expect(read({ ok: true, message_id: 'm1', created: true })).toBe('m1');
    expect(read({ ts: '1.2', message_id: 'm1' })).toBe('1.2');
  });

  it.each([
    [
      { message_id: 'm1', created: true },
      { message_id: 'm1', created: true },
    ],
    [
      { message_id: 5, created: false },
      { message_id: '5', created: false },
    ],
    [
      { message: { id: 'm1' }, created: false },
      { message_id: 'm1', created: false },
    ],
    [{ payload: { id: 'm1', created: true } }, { message_id: 'm1', created: true }],
    [{ response: { data: { id: 'm1' } } }, { message_id: 'm1', created: undefined }],
    [
      { success: true, result: [{ id: 'm1' }] },
      { message_id: 'm1', created: undefined },
    ],
    [[{ id: 'm1' }], { message_id: 'm1', created: undefined }],
    [{ d: { Id: 5 } }, { message_id: '5', created: undefined }],
    [{ data: { id: 'm1', attributes: { created: false } } }, { message_id: 'm1', created: false }],
    [{ data: { message_id: 'm1', created: true } }, { message_id: 'm1', created: true }],
    [
      { data: [{ code: 'SUCCESS', details: { id: 'm1', created: true }, message: 'added', status: 'success' }] },
      { message_id: 'm1', created: true },
    ],
    [
      { items: [{ message_id: 5, created: false }], has_more: false, quota_max: 300 },
      { message_id: '5', created: false },
    ],
    [
      { created: false, result: { id: 'm1' } },
      { message_id: 'm1', created: false },
    ],
    [
      { id: 'm1', created: 'yes' },
      { message_id: 'm1', created: undefined },
    ],
  ])('is decoded: %j', (body, expected) => {
    expect(readAcknowledgement(body)).toEqual(expected);
  });

  it.each([[{ created: true }], [null], ['ok'], [[]]])('is rejected if its shape is unknown: %j', (body) => {
    expect(() => readAcknowledgement(body)).toThrow(UnknownShape);
  });

  it.each([
    [{ success: false, message_id: 'm1' }],
    [{ error: 'queue full', id: 'req_1' }],
    [{ data: { ok: false, id: 1 } }],
  ])('is rejected if it reports a failure: %j', (body) => {
    expect(() => readAcknowledgement(body)).toThrow(ErrorInBody);
  });
});

describe('an API chat source', () => {
  const source = { source_id: 's1', name: 'Chat', reply_capable: true, routing_mode: 'agent_inbox' };
  it.each([
    ['at the top', source, source],
    ['under source', { id: 'envelope', source }, source],
    ['under api_chat', { api_chat: source, created: false }, source],
    ['under data', { data: source }, source],
    [
      'with a plain id',
      { source: { id: 's1', name: 'Chat', reply_capable: true, routing_mode: 'agent_inbox' } },
      undefined,
    ],
  ])('is decoded %s', (_, body, raw) => {
    const found = readSource(body);
    expect(found).toMatchObject({ source_id: 's1', name: 'Chat', reply_capable: true, routing_mode: 'agent_inbox' });
    if (raw) expect(found.raw).toEqual(raw);
  });

  it('is rejected if the response reports a failure', () => {
    expect(() => readSource({ success: false, source })).toThrow(ErrorInBody);
    expect(() => readSource({ data: { ...source, error: 'no agent' } })).toThrow(ErrorInBody);
    expect(readSource({ success: true, errors: [], source }).source_id).toBe('s1');
  });

  it('does not have the id of the operation that creates it', () => {
    expect(() => readSource({ id: 'op1', object: 'operation', status: 'running' })).toThrow(UnknownShape);
    expect(() => readSource({ operation: { id: 'op1', done: false } })).toThrow(UnknownShape);
  });

  it('shows whether it was created if the service does', () => {
    expect(readSource({ ...source, created: true }).created).toBe(true);
    expect(readSource({ source, created: false }).created).toBe(false);
    expect(readSource({ ...source, created: 'true' }).created).toBe(true);
    expect(readSource({ ...source, created: '2026-03-02' }).created).toBeUndefined();
    expect(readSource(source).created).toBeUndefined();
  });

  it.each([[{}], [null], [{ source: {} }], [{ agent_id: 'a' }]])('is rejected if its shape is unknown: %j', (body) => {
    expect(() => readSource(body)).toThrow(UnknownShape);
  });
});

describe('a message of a service with other conventions', () => {
  it('has its author in a number, if the contract names both sides', () => {
    const overrides = { 'message.author': 'from_id', 'message.author.agent': '6', 'message.author.user': '5' };
    const chosen = new Contract({ override: overrides });
    const roleOf = (from_id: number) => messages.readMessage({ id: 1, text: 'Hi', from_id }, chosen).role;
    expect([roleOf(6), roleOf(5)]).toEqual(['assistant', 'user']);
  });

  it.each([[{ SenderType: 'Robot' }, 'assistant']])('has its author in a flag or a type: %j', (author, role) => {
    expect(readMessage({ id: 1, text: 'Hi', ...author }).role).toBe(role);
  });

  it.each<[JsonObject, string, string]>([
    [{ message_source: 'bot' }, 'message.author', 'message_source'],
    [{ author: 'agent', direction: 'inbound' }, 'message.author', 'author'],
    [{ role: 'user', text: undefined, body_html: '<p>Hi</p>' }, 'message.text', 'body_html'],
    [{ role: 'user', text: undefined, event: { message: 'Hi' } }, 'message.at', 'event'],
    [{ role: 'user', time_written: '2026-03-02' }, 'message.created_at', 'time_written'],
  ])('is rejected where a name is suspicious, or two disagree: %j', (fields, leaf, value) => {
    const entry = JSON.parse(JSON.stringify({ id: 1, text: 'Hi', ...fields }));
    expect(() => readMessage(entry)).toThrow(
      expect.objectContaining({ fix: expect.objectContaining({ leaf, value }) }),
    );
  });

  const paragraph = (text: string) => ({ type: 'paragraph', content: [{ type: 'text', text }] });
  it.each<[string, JsonObject]>([
    ['a text of paragraphs', { body: { type: 'doc', content: [paragraph('Hi'), paragraph('you')] } }],
    ['a text of blocks', { blocks: [paragraph('Hi')] }],
    ['a time in an object', { text: 'Hi', created: { actor: 'urn:1', time: 1772444580000 } }],
    ['a time in a list', { text: 'Hi', created_at: [2026, 3, 2, 9, 43] }],
  ])('is refused with %s, which would be shown as if nothing was sent', (_, fields) => {
    expect(() => readMessage({ id: 1, role: 'user', ...fields })).toThrow(UnknownShape);
  });

  it.each([
    ['the plain one of two', { body: '<p>Hi</p>', body_text: 'Hi' }, 'Hi'],
    ['in an object', { body: { content: 'Hi' } }, 'Hi'],
  ])('has its text %s', (_, text, expected) => {
    expect(readMessage({ id: 1, role: 'user', ...text }).text).toBe(expected);
  });

  it('has the time when it was created, not when it was updated or deleted', () => {
    const entry = { id: 1, role: 'user', text: 'Hi', create_at: 1772444580000, update_at: 1772444590000, delete_at: 0 };
    expect(readMessage(entry).created_at).toBe('2026-03-02T09:43:00.000Z');
  });

  it.each([
    [{ created_utc: 1772444580 }, '2026-03-02T09:43:00.000Z'],
    [{ createdon: '2026-03-02T09:43:00Z' }, '2026-03-02T09:43:00Z'],
    [{ created_at: { $date: '2026-03-02T09:43:00Z' } }, '2026-03-02T09:43:00Z'],
  ])('has its creation time in another format: %j', (time, expected) => {
    expect(readMessage({ id: 1, text: 'Hi', role: 'user', ...time }).created_at).toBe(expected);
  });
});
