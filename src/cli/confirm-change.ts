import { UsageError } from '../errors.ts';
import type { Context } from './context.ts';

/** Asks before a record is changed. @throws UsageError if the user declines or cannot be asked */
export async function confirmChange(
  context: Pick<Context, 'confirm' | 'isInteractive'>,
  question: string,
): Promise<void> {
  if (!context.isInteractive) {
    throw new UsageError('Changing the record of a job needs a confirmation.', {
      hint: 'Without a terminal, confirm with --yes.',
    });
  }
  if (await context.confirm(question)) return;
  throw new UsageError('Nothing was changed.', { hint: 'Run it again and answer y, or pass --yes.' });
}
