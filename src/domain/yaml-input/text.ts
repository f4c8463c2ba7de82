import * as v from 'valibot';

const CONTROL = /\p{Cc}/u;

/** Text that identifies something: on one line, without control characters, or white space around it. */
export function identifier(title: string, description: string) {
  return v.pipe(
    v.string(),
    v.nonEmpty('must not be empty'),
    v.regex(/^\S(.*\S)?$/, 'must not begin or end with white space, or hold a line break'),
    v.check((text) => !CONTROL.test(text), 'must not hold control characters'),
    v.title(title),
    v.description(description),
  );
}

/** Any text that is not blank. */
export function filledText(title: string, description: string) {
  return v.pipe(v.string(), v.regex(/\S/, 'must not be empty'), v.title(title), v.description(description));
}
