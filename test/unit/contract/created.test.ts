import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { readAcknowledgement } from '../../../src/contract/messages.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { readProvisionResponse } from '../../../src/contract/resources.ts';
import { UnknownShape } from '../../../src/contract/unknown-shape.ts';

/* What a write has created, in the envelopes of its responses. */

const CONTRACT = new Contract();
const attachmentIn = (body: unknown) => OPERATIONS.createFileAttachment.read(body, CONTRACT);
const provisionedIn = (body: unknown) => readProvisionResponse(body, CONTRACT);

describe('the id of what was created', () => {
  it.each<[unknown]>([[{ id: 'own', file_attachment_id: 'a1' }], [[{ id: 'a1' }]]])('is found in %j', (body) => {
    expect(attachmentIn(body)).toBe('a1');
  });

  it('is that of the only file of the form that LoopBack sends back, also of a document', () => {
    const body = { files: [{ fieldname: 'file', originalname: 'hours.md', id: 'd1' }], fields: {} };
    expect(OPERATIONS.createDocument.read(body, CONTRACT)).toBe('d1');
    const two = { ...body, files: [...body.files, { id: 'd2' }] };
    expect(() => OPERATIONS.createDocument.read(two, CONTRACT)).toThrow(UnknownShape);
  });

  it.each<[unknown]>([
    [[{ id: 'a' }, { id: 'b' }]],
    [{ id: 'envelope', data: { id: 'a1' } }],
    [{ id: 'op_77', type: 'operation', status: 'pending' }],
  ])('is not guessed in %j', (body) => {
    expect(() => attachmentIn(body)).toThrow(UnknownShape);
  });

  it('that has a suspicious name in an envelope is named', () => {
    const fix = { leaf: 'file_attachment.id', value: 'fileRef' };
    expect(() => attachmentIn({ ok: true, data: { fileRef: 'x' } })).toThrow(expect.objectContaining({ fix }));
  });

  it('is never that of the operation that creates it, unless the user says so', () => {
    const body = { id: 'op1', kind: 'operation', done: false };
    expect(provisionedIn({ ...body, space_id: 's1' }).space_id).toBe('s1');
    const imported = { 'space.id': 'space_ref, space_id, id' };
    const other = new Contract({ imported: { 'space.id': 'id, space_id' } });
    expect(readProvisionResponse({ ...body, space_id: 's1' }, other).space_id).toBe('s1');
    for (const contract of [CONTRACT, new Contract({ imported })])
      expect(() => readProvisionResponse(body, contract)).toThrow('the id of an operation');
    const override = { 'space.id': 'id' };
    expect(readProvisionResponse(body, new Contract({ imported, override })).space_id).toBe('op1');
  });
});

it.each([
  [{ message_id: 5, created: false }, '5', false],
  [{ id: '5', is_new: true }, '5', true],
])('an acknowledgement says whether the message is new: %j', (body, message_id, created) => {
  expect(readAcknowledgement(body, CONTRACT)).toEqual({ message_id, created });
});

describe('the response to provisioning', () => {
  const agents = [{ agent_id: 'a', name: 'n', template_id: 't' }];

  it.each([[{ space_id: 's', installed_agents: agents }], [{ data: { space_id: 's' }, agents }]])(
    'has a space and agents: %j',
    (body) => {
      const { space_id, agents: found } = provisionedIn(body);
      expect([space_id, ...found.map(({ agent_id }) => agent_id)]).toEqual(['s', 'a']);
    },
  );

  it('may list agents without an id, which are left out, and not be without a space', () => {
    const { agents: found, unreadable } = provisionedIn({ space_id: 's', agents: [{ name: 'n' }, null, ...agents] });
    expect(found).toHaveLength(1);
    expect(unreadable).toBeInstanceOf(UnknownShape);
    expect(() => provisionedIn({ agents })).toThrow(UnknownShape);
  });
});
