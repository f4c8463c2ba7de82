import { describe, expect, it } from 'vitest';
import {
  BalanceError,
  EXIT,
  InputError,
  InterruptedError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  RefusedError,
  ServiceError,
} from '../../../src/errors.ts';
import { failureOf, resultJson, summaryText, type UploadResult, uploadFailure } from '../../../src/upload/result.ts';

const HASH = 'ab'.repeat(32);
const UPLOADED: UploadResult = {
  index: 0,
  file: 'a.txt',
  as: 'attachment',
  id: 'att_1',
  bytes: 3,
  sha256: HASH,
  status: 'uploaded',
  error: undefined,
};

function failed(error: unknown, status: UploadResult['status'] = 'failed'): UploadResult {
  return { ...UPLOADED, id: null, status, error };
}

function found(error: unknown): PartnerctlError {
  if (error instanceof PartnerctlError) return error;
  throw new Error('It is no failure that the program foresees.');
}

describe('a result in JSON', () => {
  it('has exactly these fields', () => {
    expect(resultJson(UPLOADED)).toEqual({
      file: 'a.txt',
      as: 'attachment',
      id: 'att_1',
      bytes: 3,
      sha256: HASH,
      status: 'uploaded',
      error: null,
    });
  });

  it('says what went wrong', () => {
    expect(resultJson(failed(new InputError('It changed.')))).toMatchObject({
      id: null,
      status: 'failed',
      error: { type: 'invalid_input', message: 'It changed.' },
    });
  });
});

describe('what there is to report of a file', () => {
  it.each([
    { status: 'uploaded', sha256: HASH, id: 'att_1' },
    { status: 'skipped', sha256: HASH, id: 'att_1' },
  ] as const)('is nothing where it is $status', (outcome) => {
    expect(failureOf('a.txt', outcome)).toBeUndefined();
  });

  it('is what it failed with, and which one it is', () => {
    const refused = new RefusedError('Too large.', { status: 413 });
    const error = found(failureOf('a.txt', { status: 'failed', sha256: null, error: refused }));
    expect(error).toMatchObject({ type: 'refused', exitCode: EXIT.failure, message: 'Too large.' });
    expect(error.facts).toMatchObject({ status: 413, details: { file: 'a.txt' } });
    expect(error.facts.hint).toContain('a.txt was not uploaded');
  });

  it('is a bug as it is', () => {
    const bug = new TypeError('undefined is not a function');
    expect(failureOf('a.txt', { status: 'failed', sha256: null, error: bug })).toBe(bug);
  });

  it.each([
    ['lost now', { error: new OutcomeUnknownError('It is not known.', { why: 'Reset.', status: 502 }) }],
    ['left open before', {}],
  ])('is, %s, that nobody knows, and how to repeat it as it was typed', (_, more) => {
    const outcome = { status: 'unknown', sha256: HASH, since: '2026-01-01T00:00:00.000Z', ...more } as const;
    const error = found(failureOf("it's here.txt", outcome));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.message).toContain("it's here.txt");
    expect(error.facts.hint).toContain('the same command with --retry-unknown');
    // A line made of the file's name alone would leave out what it is uploaded as, its fields and its type.
    expect(error.facts.hint).not.toContain('partnerctl');
  });

  it('is its id, where that could not be recorded', () => {
    const unrecorded = new LocalError('The disk is full.', { why: 'ENOSPC' });
    const error = found(failureOf('a.txt', { status: 'uploaded', sha256: HASH, id: 'att_1', unrecorded }));
    expect(error).toMatchObject({ type: 'local', facts: { details: { id: 'att_1' } } });
    expect(error.message).toContain('att_1');
    expect(error.facts.why).toContain('The disk is full.');
  });
});

describe('all files', () => {
  it('are summed up in words', () => {
    const results = [UPLOADED, UPLOADED, failed(undefined, 'planned'), failed(new LocalError('x'), 'unknown')];
    expect(summaryText(results)).toBe('2 uploaded, 1 planned, 1 unknown.');
  });

  const REFUSED = new RefusedError('No.', { status: 422 });
  const UNKNOWN = new OutcomeUnknownError('It may be there.');
  const SKIPPED: UploadResult = { ...UPLOADED, status: 'skipped' };

  it.each<[string, UploadResult[], number | undefined]>([
    ['nothing failed', [UPLOADED, SKIPPED, failed(undefined, 'planned')], undefined],
    ['the only one failed', [failed(REFUSED)], EXIT.failure],
    ['the only one is unknown', [failed(UNKNOWN, 'unknown')], EXIT.unknown],
    ['some failed', [UPLOADED, failed(REFUSED)], EXIT.partial],
    ['some are unknown', [SKIPPED, failed(UNKNOWN, 'unknown')], EXIT.partial],
    ['all failed', [failed(new ServiceError('Down.')), failed(REFUSED)], EXIT.service],
    ['all are unknown', [failed(UNKNOWN, 'unknown'), failed(UNKNOWN, 'unknown')], EXIT.unknown],
    ['the balance is too low', [UPLOADED, failed(new BalanceError('Empty.', { status: 402 }))], EXIT.balance],
  ])('where %s', (_, results, exit) => {
    expect(uploadFailure(results, undefined)?.exitCode).toBe(exit);
  });

  it('say how many of each when they end with Ctrl-C', () => {
    const interruption = new InterruptedError('Interrupted.');
    const end = uploadFailure([UPLOADED, failed(interruption)], interruption);
    expect(end).toMatchObject({ exitCode: 130, message: 'Interrupted: 1 uploaded, 1 not uploaded.' });
    expect(uploadFailure([UPLOADED], interruption)).toBeUndefined();
  });

  it('keep the numbers for scripts', () => {
    expect(uploadFailure([UPLOADED, failed(REFUSED), failed(UNKNOWN, 'unknown')], undefined)?.facts.details).toEqual({
      uploaded: 1,
      skipped: 0,
      planned: 0,
      unknown: 1,
      failed: 1,
    });
  });
});
