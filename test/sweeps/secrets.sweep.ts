import { test } from 'vitest';
import { start } from '../e2e/program.ts';
import { ECHOES, echoing, expectKeptSecret } from '../helpers/echoing.ts';

test.each(Object.entries(ECHOES))(
  'a service that repeats the token %s finds it nowhere in what the program writes',
  async (_, echo) => {
    const baseUrl = await echoing(echo);
    await expectKeptSecret(
      (words, env) => start(words, { env }),
      () => baseUrl,
    );
  },
);
