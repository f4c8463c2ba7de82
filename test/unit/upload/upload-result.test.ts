import { describe, expect, it } from 'vitest';
import {
  BalanceError,
  CredentialsError,
  EXIT,
  InterruptedError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError,
} from '../../../src/errors.ts';
import { type UploadResult, uploadFailure, uploadOutcomeError } from '../../../src/upload/upload-result.ts';

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

describe('uploadOutcomeError', () => {
  it.each([
    { status: 'uploaded', sha256: HASH, id: 'att_1' },
    { status: 'skipped', sha256: HASH, id: 'att_1' },
  ] as const)('returns nothing for a file that is $status', (outcome) => {
    expect(uploadOutcomeError('a.txt', outcome, false)).toBeUndefined();
  });

  it('returns the error with the name of the file', () => {
    const refused = new RefusedError('Too large.', { status: 413 });
    const error = found(uploadOutcomeError('a.txt', { status: 'failed', sha256: null, error: refused }, false));
    expect(error).toMatchObject({ type: 'refused', exitCode: EXIT.failure, message: 'Too large.' });
    expect(error.info).toMatchObject({ status: 413, details: { file: 'a.txt' } });
  });

  it('returns a bug unchanged', () => {
    const bug = new TypeError('undefined is not a function');
    expect(uploadOutcomeError('a.txt', { status: 'failed', sha256: null, error: bug }, false)).toBe(bug);
  });

  it.each([
    ['lost now', { error: new OutcomeUnknownError('It is not known.', { why: 'Reset.', status: 502 }) }],
    ['left open before', {}],
  ])('explains an unknown outcome (%s) and how to repeat the command', (_, more) => {
    const outcome = { status: 'unknown', sha256: HASH, since: '2026-01-01T00:00:00.000Z', ...more } as const;
    const error = found(uploadOutcomeError("it's here.txt", outcome, false));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.message).toContain("it's here.txt");
    expect(error.info.hint).toContain('run the command again with --retry-unknown');
    // A line made only of the file's name would omit what it is uploaded as, its fields, and its type.
    expect(error.info.hint).not.toContain('partnerctl');
  });

  it('reports the id that could not be recorded', () => {
    const unrecorded = new LocalError('The disk is full.', { why: 'ENOSPC' });
    const error = found(
      uploadOutcomeError('a.txt', { status: 'uploaded', sha256: HASH, id: 'att_1', unrecorded }, false),
    );
    expect(error).toMatchObject({ type: 'local', info: { details: { id: 'att_1' } } });
    expect(error.message).toContain('att_1');
    expect(error.info.why).toContain('The disk is full.');
  });
});

describe('the failure of a run', () => {
  const REFUSED = new RefusedError('No.', { status: 422 });
  const UNKNOWN = new OutcomeUnknownError('It may be there.');
  const EMPTY = new BalanceError('Empty.', { status: 402, hint: 'Top up.' });
  const LEFT: UploadResult = { ...failed(new RefusedError('It was not started.')), wasNotStarted: true };
  const SKIPPED: UploadResult = { ...UPLOADED, status: 'skipped' };

  it.each<[string, UploadResult[], number | undefined]>([
    ['nothing failed', [UPLOADED, SKIPPED, failed(undefined, 'planned')], undefined],
    ['the only one failed', [failed(REFUSED)], EXIT.failure],
    ['the only one is unknown', [failed(UNKNOWN, 'unknown')], EXIT.unknown],
    ['some failed', [UPLOADED, failed(REFUSED)], EXIT.partial],
    ['some are unknown', [SKIPPED, failed(UNKNOWN, 'unknown')], EXIT.partial],
    ['all failed', [failed(new ServiceError('Down.')), failed(REFUSED)], EXIT.service],
    ['all are unknown', [failed(UNKNOWN, 'unknown'), failed(UNKNOWN, 'unknown')], EXIT.unknown],
    ['one failed, and one is unknown', [failed(REFUSED), failed(UNKNOWN, 'unknown')], EXIT.unknown],
    ['the balance is too low', [failed(EMPTY), LEFT], EXIT.balance],
    ['the balance became too low', [UPLOADED, failed(EMPTY), LEFT], EXIT.balance],
    ['the balance is too low, and one is unknown', [failed(UNKNOWN, 'unknown'), failed(EMPTY)], EXIT.unknown],
    ['the token is refused', [failed(new CredentialsError('No.', { status: 401 })), LEFT], EXIT.credentials],
  ])('has the right exit code if %s', (_, results, exit) => {
    expect(uploadFailure(results, false, undefined)?.exitCode).toBe(exit);
  });

  it('counts the results after Ctrl-C', () => {
    const interruption = new InterruptedError('Interrupted.');
    const end = uploadFailure([UPLOADED, failed(interruption)], false, interruption);
    expect(end).toMatchObject({ exitCode: 130, message: 'Interrupted: 1 uploaded, 1 not uploaded.' });
    expect(uploadFailure([UPLOADED], false, interruption)).toBeUndefined();
  });

  it('does not suggest to repeat the entire run with --force', () => {
    expect(uploadFailure([UPLOADED, failed(REFUSED)], true, undefined)?.info.hint).toMatch(
      /again with only these files: --force/,
    );
    expect(uploadFailure([UPLOADED, failed(REFUSED)], false, undefined)?.info.hint).not.toMatch(/--force/);
  });

  it('keeps a hint that all failures share', () => {
    const refused = (hint: string) => failed(new RefusedError('No.', { hint }));
    const advice = (...results: UploadResult[]) => uploadFailure(results, false, undefined)?.info.hint?.split('\n')[0];
    expect(advice(refused('Smaller!'), refused('Smaller!'), UPLOADED)).toBe('Smaller!');
    expect(advice(refused('Smaller!'), refused('Larger!'), UPLOADED)).toMatch(/^Fix the cause and run it again/);
  });

  it.each<[string, UploadResult[]]>([
    ['1 uploaded, 2 unknown.', [UPLOADED, failed(UNKNOWN, 'unknown'), failed(UNKNOWN, 'unknown')]],
    ['1 uploaded, 1 unknown, 1 failed.', [UPLOADED, failed(UNKNOWN, 'unknown'), failed(REFUSED)]],
    ['1 uploaded, 1 uploaded but not recorded.', [UPLOADED, { ...UPLOADED, error: new LocalError('Full.') }]],
  ])('says what happened to each file: %s', (counts, results) => {
    expect(uploadFailure(results, false, undefined)?.message).toBe(`The upload is not complete: ${counts}`);
  });

  it('counts what was uploaded and not started when the balance became too low', () => {
    const end = uploadFailure([UPLOADED, failed(EMPTY), LEFT, LEFT], false, undefined);
    expect(end?.message).toBe('Empty. The upload is not complete: 1 uploaded, 1 failed, 2 not uploaded.');
    expect(end?.info).toMatchObject({ status: 402, details: { uploaded: 1, failed: 3 } });
    expect(end?.info.hint).toMatch(/^Top up\.\nFix the cause and run it again/);
    expect(uploadFailure([failed(EMPTY), LEFT], false, undefined)).toBe(EMPTY);
  });

  it('reports unknown outcomes in addition to the low balance', () => {
    const lost = new OutcomeUnknownError('a.txt may have been uploaded.', { hint: 'Look.' });
    const end = uploadFailure([failed(lost, 'unknown'), failed(EMPTY)], false, undefined);
    expect(end?.info.why).toContain('a.txt may have been uploaded.');
    expect(end?.info.hint).toContain('Look.');
  });

  it('does not suggest another run if all the rest is unknown', () => {
    const lost = new OutcomeUnknownError('a.txt may have been uploaded.', { hint: 'Look.' });
    expect(uploadFailure([UPLOADED, failed(lost, 'unknown')], false, undefined)?.info.hint).toBe('Look.');
  });

  it('has the latest retry time of the rate-limited files', () => {
    const limited = (retryAt: string) => failed(new RateLimitError('Wait.', { status: 429, retryAt }));
    const results = [UPLOADED, limited('2026-01-01T00:00:02.000Z'), limited('2026-01-01T00:00:01.000Z')];
    expect(uploadFailure(results, false, undefined)?.info.retryAt).toBe('2026-01-01T00:00:02.000Z');
  });

  it('contains the request id', () => {
    const refused = failed(new RefusedError('No.', { status: 422, requestId: 'req_1' }));
    expect(uploadFailure([UPLOADED, refused], false, undefined)?.info.why).toBe('a.txt: No. (request id req_1)');
  });

  it('names each file once with all its reasons', () => {
    const told = new OutcomeUnknownError('a.txt may have been uploaded.', { why: 'No answer came.\nIt was late.' });
    const why = uploadFailure([UPLOADED, { ...failed(told, 'unknown'), file: 'a.txt' }], false, undefined)?.info.why;
    expect(why).toBe('a.txt may have been uploaded. No answer came. It was late.');
  });
});
