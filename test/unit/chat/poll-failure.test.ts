import { describe, expect, it } from 'vitest';
import {
  classifyFailure,
  createOutageError,
  type FailedSession,
  type FailureKind,
} from '../../../src/chat/poll-failure.ts';
import {
  CredentialsError,
  NotFoundError,
  type PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError,
  ShapeError,
} from '../../../src/errors.ts';

const NEW: FailedSession = {
  wasRead: false,
  hasMessages: false,
  hasCursor: false,
  isBetweenPages: false,
  unreadable: 0,
};
const READ: FailedSession = { ...NEW, wasRead: true, hasMessages: true, hasCursor: true };
const EMPTY: FailedSession = { ...READ, hasMessages: false };

const noMessageId = new ShapeError('x', { details: { leaf: 'message.id' } });
const noList = new ShapeError('x', { details: { leaf: 'messages.history.items' } });

describe('the classification of a failed poll', () => {
  it.each<[string, PartnerctlError, FailedSession, FailureKind]>([
    ['a 404 for a new session', new NotFoundError('x'), NEW, 'unknown-session'],
    ['a 404 that names the source', new NotFoundError('x', { code: 'source_not_found' }), NEW, 'refused'],
    [
      'a 404 that names source and session',
      new NotFoundError('x', { why: 'no session in source' }),
      NEW,
      'unknown-session',
    ],
    ['a 404 that names a resource', new NotFoundError('x', { code: 'resource_not_found' }), NEW, 'unknown-session'],
    ['a 404 for a cursor', new NotFoundError('x'), { ...NEW, hasCursor: true }, 'refused'],
    ['a 404 for a session that was read', new NotFoundError('x'), READ, 'refused'],
    ['a 400', new RefusedError('x'), NEW, 'refused'],
    ['a 400 for a further page', new RefusedError('x'), { ...READ, isBetweenPages: true }, 'transient'],
    ['a second unreadable response', new ShapeError('x'), { ...NEW, unreadable: 2 }, 'transient'],
    ['a third unreadable response', new ShapeError('x'), { ...NEW, unreadable: 3 }, 'permanent'],
    [
      'an unreadable response for a session that was read',
      new ShapeError('x'),
      { ...READ, unreadable: 99 },
      'transient',
    ],
    ['a third unreadable message for a session that was empty', noMessageId, { ...EMPTY, unreadable: 3 }, 'permanent'],
    ['a second one', noMessageId, { ...EMPTY, unreadable: 2 }, 'transient'],
    ['an unreadable message for a session with others', noMessageId, { ...READ, unreadable: 99 }, 'transient'],
    ['a response without a list for a session that was empty', noList, { ...EMPTY, unreadable: 99 }, 'transient'],
    ['a 404 from a gateway', new NotFoundError('x', { fromGateway: true }), NEW, 'transient'],
    ['a 400 from a gateway', new RefusedError('x', { fromGateway: true }), READ, 'transient'],
    ['a 503', new ServiceError('x'), NEW, 'transient'],
    ['a redirect', new ServiceError('x', { permanent: true }), NEW, 'permanent'],
    ['a redirect for a session that was read', new ServiceError('x', { permanent: true }), READ, 'transient'],
    ['a 429', new RateLimitError('x'), NEW, 'transient'],
    ['a 401', new CredentialsError('x'), READ, 'permanent'],
  ])('%s', (_, error, session, meaning) => {
    expect(classifyFailure(error, session)).toBe(meaning);
  });
});

describe('an outage that lasts too long', () => {
  it('does not suggest --timeout if the last poll hit its own time limit', () => {
    const hint = 'Allow more time with --timeout, or run it again later.';
    expect(createOutageError(new ServiceError('x', { hint }), 2_000).info.hint).not.toContain('--timeout');
  });

  it.each([
    ['a 503', new ServiceError('x', { status: 503, hint: 'Quote the request id.' })],
    ['a proxy that refuses', new ServiceError('x', { permanent: true, hint: 'HTTPS_PROXY names it.' })],
    ['a 429', new RateLimitError('x', { status: 429, hint: 'Run it again later.' })],
  ])('keeps the hint of %s', (_, last) => {
    expect(createOutageError(last, 2_000).info.hint).toBe(last.info.hint);
  });
});
