import * as v from 'valibot';

const CONTROL = /\p{Cc}/u;

const ON_ONE_LINE = /^\S(.*\S)?$/;
const AROUND = 'must not begin or end with white space, or hold a line break';
const CONTROLS = 'must not hold control characters';

/** What keeps a text from identifying something; undefined where nothing does. */
export function identifierFault(text: string): string | undefined {
  if (!ON_ONE_LINE.test(text)) return AROUND;
  return CONTROL.test(text) ? CONTROLS : undefined;
}

/** Text that identifies something: on one line, without control characters, or white space around it. */
export function identifier(title: string, description: string) {
  return v.pipe(
    v.string(),
    v.nonEmpty('must not be empty'),
    v.regex(ON_ONE_LINE, AROUND),
    v.check((text) => !CONTROL.test(text), CONTROLS),
    v.title(title),
    v.description(description),
  );
}

/** Any text that is not blank. */
export function filledText(title: string, description: string) {
  return v.pipe(v.string(), v.regex(/\S/, 'must not be empty'), v.title(title), v.description(description));
}
