import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { ErrorInBody, UnknownShape } from '../../../src/contract/unknown-shape.ts';
import { readUploadId, type UploadKind } from '../../../src/contract/uploads.ts';

const readId = (body: unknown, kind: UploadKind) => readUploadId(body, kind, new Contract());

describe('the id of an upload', () => {
  it.each<[unknown, string]>([
    [{ file_attachment_id: 'att_1' }, 'att_1'],
    [{ id: 'att_1' }, 'att_1'],
    [{ id: 17 }, '17'],
    [{ id: 9_007_199_254_740_993n }, '9007199254740993'],
    [{ id: 'own', file_attachment_id: 'att_1' }, 'att_1'],
    [{ attachment: { id: 'att_1' } }, 'att_1'],
    [{ file: { id: 'att_1' } }, 'att_1'],
    [{ data: { id: 'att_1' } }, 'att_1'],
    [{ file_attachment_id: 'att_1', data: { id: 'inner' } }, 'att_1'],
    [{ id: 'envelope', data: { file_attachment_id: 'att_1', files: [{ id: 'inner' }] } }, 'att_1'],
    [{ id: 'att_1', success: true, error: null, errors: [] }, 'att_1'],
    [{ data: { file_attachment: { file_attachment_id: 'att_1' } } }, 'att_1'],
    [[{ id: 'att_1' }], 'att_1'],
    [{ results: [{ id: 'att_1' }] }, 'att_1'],
    [{ files: [{ file_attachment_id: 'att_1' }] }, 'att_1'],
  ])('is found for an attachment in %o', (body, id) => {
    expect(readId(body, 'attachment')).toBe(id);
  });

  it.each<[unknown, string]>([
    [{ document_id: 'doc_1' }, 'doc_1'],
    [{ document: { id: 'doc_1' } }, 'doc_1'],
    [{ documents: [{ document_id: 3 }] }, '3'],
    [{ result: { id: 'doc_1' } }, 'doc_1'],
    [{ id: 'doc_1', file: { id: 'of the file' } }, 'doc_1'],
    [{ id: 'doc_1', file_id: 'of the file' }, 'doc_1'],
    [{ document: { id: 'doc_1', file: { id: 'of the file' } } }, 'doc_1'],
  ])('is found for a document in %o', (body, id) => {
    expect(readId(body, 'document')).toBe(id);
  });

  it.each<[unknown]>([
    [{}],
    [{ ok: true }],
    [{ id: '' }],
    [{ id: null }],
    [{ id: 1.5 }],
    [{ id: { id: 'x' } }],
    [{ document_id: 'doc_1' }],
    [[]],
    [[{ id: 'a' }, { id: 'b' }]],
    [{ files: [{ id: 'a' }, { id: 'b' }] }],
    ['att_1'],
    [{ id: 'envelope', data: { id: 'att_1' } }],
    [{ id: 'envelope', file_attachment: { id: 'att_1' } }],
    [{ id: 'op_77', type: 'operation', status: 'pending' }],
    [{ operation: { id: 'op_77' } }],
    [null],
    [42],
  ])('is not guessed in %o', (body) => {
    expect(() => readId(body, 'attachment')).toThrow(UnknownShape);
  });

  it.each<[unknown]>([
    [{ files: [{ document_id: 'a' }, { document_id: 'b' }] }],
    [{ files: [{ document_id: 'a' }] }],
    [{ file: { id: 'a' } }],
    [{ file_id: 'a' }],
    [{ files: [] }],
    [{ attachment_count: 1 }],
  ])('is not guessed for a document in %o', (body) => {
    expect(() => readId(body, 'document')).toThrow(UnknownShape);
  });

  it.each<[unknown]>([
    [{ id: 'req_1', success: false }],
    [{ id: 'req_1', error: 'virus found' }],
    [{ id: 'req_1', data: { ok: false } }],
    [{ errors: [{ id: 'err_1' }], data: { file_attachment_id: 'att_1' } }],
  ])('is not taken from %o, which reports a failure', (body) => {
    expect(() => readId(body, 'attachment')).toThrow(ErrorInBody);
  });
});

it('the id of an upload is not searched so deep that the stack overflows', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}{"id":"att_1"}${']'.repeat(100_000)}`);
  expect(() => readId(deep, 'attachment')).toThrow(UnknownShape);
});
