import type { MatrixCommand } from './command.ts';
import type { Fault, Meaning } from './fault.ts';

/** What the specification says about a repeated request (§4.6): harmless, harmless with the same id, or never allowed. */
type RequestKind = 'read' | 'repeatable' | 'once';

/** A request of a command, as it is without faults. */
export interface RequestLine {
  readonly method: string;
  readonly path: string;
}

const ONCE = /\/(partner-cron-jobs|documents|file-attachments)\//;

function kindOf({ method, path }: RequestLine): RequestKind {
  if (method === 'GET') return 'read';
  return ONCE.test(path) ? 'once' : 'repeatable';
}

interface CodesByKind {
  /** For calls that may be repeated. */
  readonly again: readonly number[];
  /** For calls that must not be repeated once they may have been sent. */
  readonly once: readonly number[];
}

/** The exit codes by the meaning of the fault. */
const CODES: Readonly<Record<Meaning, CodesByKind>> = {
  harmless: { again: [0], once: [0] },
  unsent: { again: [8], once: [8] },
  unseen: { again: [0], once: [0, 9] },
  lost: { again: [0], once: [9] },
  outage: { again: [8], once: [9] },
  late: { again: [8], once: [9] },
  unreadable: { again: [0, 8], once: [9] },
  stale: { again: [0], once: [9] },
  redirect: { again: [8], once: [9] },
  denied: { again: [3], once: [3] },
  forbidden: { again: [3], once: [3] },
  balance: { again: [6], once: [6] },
  'not-found': { again: [4], once: [4] },
  'gateway-404': { again: [4, 8], once: [4, 8, 9] },
  limited: { again: [0], once: [7] },
  closed: { again: [7], once: [7] },
};

/** The exit codes that design §3 allows for a command whose request has the fault. */
export function allowedCodes(command: MatrixCommand, fault: Fault, request: RequestLine): readonly number[] {
  const kind = kindOf(request);
  const { again, once } = CODES[fault.meaning];
  const own = (kind === 'read' ? command.reads : command.writes)?.[fault.meaning];
  const codes = own ?? (kind === 'once' ? once : again);
  const partial = command.hasItems && codes.some((code) => code !== 0) ? [10] : [];
  return [...new Set([...codes, ...partial])];
}
