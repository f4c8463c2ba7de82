import { UsageError } from '../../../errors.ts';

interface Terminal {
  /** Whether the command may ask questions. */
  readonly isInteractive: boolean;
  confirm(question: string): Promise<boolean>;
}

/** Asks before a record is changed. @throws UsageError if the user declines or cannot be asked */
export async function confirmChange(terminal: Terminal, question: string): Promise<void> {
  if (!terminal.isInteractive) {
    throw new UsageError('Changing the record of a job needs a confirmation.', {
      hint: 'Without a terminal, confirm with --yes.',
    });
  }
  if (await terminal.confirm(question)) return;
  throw new UsageError('Nothing was changed.', { hint: 'Run it again and answer y, or pass --yes.' });
}
