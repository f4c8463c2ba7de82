import type { MatrixCommand } from './commands.ts';
import type { Fault, Meaning } from './fault.ts';

/** What the specification says of a repeated request (§4.6): harmless, harmless with the same id, or never to be done. */
export type RequestKind = 'read' | 'repeatable' | 'once';

const ONCE = /\/(partner-cron-jobs|documents|file-attachments)\//;

export function kindOf({ method, path }: { readonly method: string; readonly path: string }): RequestKind {
  if (method === 'GET') return 'read';
  return ONCE.test(path) ? 'once' : 'repeatable';
}

interface CodesByKind {
  readonly again: readonly number[];
  readonly once: readonly number[];
}

/** The exit codes by the meaning of the fault: of calls that may be repeated, and of those that must not. */
const CODES: Readonly<Record<Meaning, CodesByKind>> = {
  harmless: { again: [0], once: [0] },
  unsent: { again: [8], once: [8] },
  unseen: { again: [0], once: [0, 9] },
  lost: { again: [0], once: [9] },
  late: { again: [8], once: [9] },
  unreadable: { again: [0, 8], once: [9] },
  redirect: { again: [8], once: [9] },
  denied: { again: [3], once: [3] },
  forbidden: { again: [3], once: [3] },
  balance: { again: [6], once: [6] },
  'not-found': { again: [4], once: [4] },
  limited: { again: [0], once: [7] },
};

/** What a fault that lasts comes to where another attempt would have helped. */
const LASTING: Partial<Record<Meaning, readonly number[]>> = { unseen: [8], lost: [8], unreadable: [8], limited: [7] };

/** The exit codes that design allows for a command whose request of this kind has the fault. */
export function allowedCodes(command: MatrixCommand, fault: Fault, kind: RequestKind): readonly number[] {
  const { again, once } = CODES[fault.meaning];
  const repeated = (fault.lasting ? LASTING[fault.meaning] : undefined) ?? again;
  const codes = kind === 'once' ? once : repeated;
  const partial = command.hasItems && codes.some((code) => code !== 0) ? [10] : [];
  return [...new Set([...codes, ...partial, ...(command.alsoAllowed?.[fault.meaning] ?? [])])];
}
