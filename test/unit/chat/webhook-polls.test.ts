import { describe, expect, it } from 'vitest';
import { sessionsToPoll } from '../../../src/chat/webhook-polls.ts';

const sessions = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ source_id: 'src', session_id: `s${index}` }));

describe('a webhook delivery', () => {
  it('triggers a poll of every session, if there are few', () => {
    expect(sessionsToPoll(sessions(6), '{"session_id":"s1"}')).toHaveLength(6);
  });

  it('triggers a poll of the sessions that it names, if there are many', () => {
    expect(sessionsToPoll(sessions(100), '{"data":{"session_id":"s7"}}')).toEqual([
      { source_id: 'src', session_id: 's7' },
    ]);
  });

  it('triggers a poll of every session, if it names none', () => {
    for (const body of ['', '{}', '\u0000', '{"session_id":7}'])
      expect(sessionsToPoll(sessions(100), body)).toHaveLength(100);
  });
});
