import { writeFile } from 'node:fs/promises';
import XMLBuilder from 'fast-xml-builder';
import { secondsOf, type TestResult } from '../../../chat/run-tests.ts';
import { describeFileError, LocalError } from '../../../errors.ts';
import { describeError } from '../../../output/error-text.ts';
import { sanitizeText } from '../../../output/sanitize.ts';
import { groupBy } from '../../../platform/group-by.ts';

/** `failure`: the agent is to blame; `error`: the conversation could not be held. */
function problemOf({ status, error }: TestResult, transcript: string) {
  if (!error) return {};
  const problem = { '@message': sanitizeText(describeError(error)), '@type': error.type, '#text': transcript };
  return status === 'error' ? { error: problem } : { failure: problem };
}

const count = (results: readonly TestResult[], ...statuses: readonly string[]): number =>
  results.filter(({ status }) => statuses.includes(status)).length;

function totalsOf(results: readonly TestResult[]) {
  return {
    '@tests': results.length,
    '@failures': count(results, 'failed', 'no_reply'),
    '@errors': count(results, 'error'),
    '@time': secondsOf(results),
  };
}

/**
 * Formats results as JUnit XML, in the form that Jenkins, GitLab, and readers for GitHub take: a suite for each file, a
 * case for each conversation of a space.
 * @param transcriptOf what was said, a line each
 */
function formatJunit(results: readonly TestResult[], transcriptOf: (result: TestResult) => readonly string[]): string {
  const builder = new XMLBuilder({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    format: true,
    suppressEmptyNode: true,
  });
  const suites = [...groupBy(results, ({ source }) => source.replace(/:\d+$/, ''))].map(([file, cases]) => ({
    '@name': sanitizeText(file),
    ...totalsOf(cases),
    testcase: cases.map((result) => {
      const transcript = sanitizeText(transcriptOf(result).join('\n'));
      return {
        '@name': sanitizeText(result.test),
        '@classname': sanitizeText(result.external_space_id ?? result.space_id ?? file),
        '@time': secondsOf([result]),
        ...problemOf(result, transcript),
        'system-out': transcript,
      };
    }),
  }));
  const totals = { '@name': 'partnerctl chat test', ...totalsOf(results), testsuite: suites };
  return String(builder.build({ '?xml': { '@version': '1.0', '@encoding': 'UTF-8' }, testsuites: totals }));
}

/**
 * Keeps results, to write them to a file once all are there or the run was interrupted.
 * @throws LocalError before the first conversation if the file cannot be written
 */
export async function* recordJunit(
  results: AsyncIterable<TestResult>,
  { path, warn }: { readonly path: string; readonly warn: (text: string) => Promise<void> },
  transcriptOf: (result: TestResult) => readonly string[],
): AsyncGenerator<TestResult> {
  const failed = (error: unknown) => `The JUnit file ${path} cannot be written: ${describeFileError(error)}.`;
  await writeFile(path, '').catch((error: unknown) => {
    throw new LocalError(failed(error), { hint: 'Nothing was sent.' });
  });
  const all: TestResult[] = [];
  for await (const result of results) {
    all.push(result);
    yield result;
  }
  const text = formatJunit(
    all.toSorted((one, other) => one.index - other.index),
    transcriptOf,
  );
  // The results are worth more than the file.
  await writeFile(path, text).catch((error: unknown) => warn(failed(error)));
}
