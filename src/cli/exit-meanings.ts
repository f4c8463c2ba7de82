import { EXIT } from '../errors.ts';

export type ExitName = keyof typeof EXIT;

/** The meaning of each exit code. Details: `partnerctl help output`. */
export const EXIT_MEANINGS: Readonly<Record<ExitName, string>> = {
  ok: 'done',
  failure: 'a failure not listed here',
  usage: 'invalid input; nothing was sent',
  credentials: 'no token, or the service rejects it (401, 403)',
  notFound: 'not found',
  duplicate: 'duplicate blocked: it exists or may exist',
  balance: 'the balance is too low (402)',
  rateLimited: 'rate limited (429)',
  service: 'the service or the network failed',
  unknown: 'unknown outcome: something may have been created',
  partial: 'some of several items failed, the others are done',
  noReply: 'no reply came in time',
  changesPending: 'changes are pending',
  differences: 'nothing is pending, but there are differences',
  hungUp: 'the terminal was closed',
  interrupted: 'interrupted by Ctrl-C',
  terminated: 'ended by SIGTERM',
};

export const EXIT_NAMES = Object.keys(EXIT_MEANINGS).filter((name): name is ExitName => name in EXIT);

/** The exit codes of any command. */
export const COMMON_EXITS = ['ok', 'failure', 'usage', 'hungUp', 'interrupted', 'terminated'] as const;
